package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	progressDelay  = time.Second            // before work is worth a bar
	progressPeriod = 100 * time.Millisecond // between two looks
	progressWidth  = 30                     // characters
)

// progress is a bar on the terminal of standard error for work that takes longer than a second.
// Elsewhere it does nothing.
type progress struct {
	w           io.Writer // nil where nobody looks
	what        string
	done, total int64
	text        func(int64) string // of a number that is done
	next        time.Time          // when the bar is drawn again
	drawn       bool
}

// newProgress begins work on a total of bytes, or of what else text counts.
func newProgress(cmd *cobra.Command, what string, total int64) *progress {
	p := &progress{what: what, total: total, text: byteCount, next: time.Now().Add(progressDelay)}
	if isTerminal(cmd.ErrOrStderr()) && !wantsJSON(cmd) {
		p.w = cmd.ErrOrStderr()
	}
	return p
}

// add counts what is done.
func (p *progress) add(n int64) {
	p.done += n
	if now := time.Now(); p.w != nil && now.After(p.next) {
		p.next = now.Add(progressPeriod)
		p.drawn = true
		fmt.Fprint(p.w, "\r"+p.bar()) // a bar that cannot be drawn is no failure
	}
}

// end takes the bar away.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// bar returns the line: what, a bar and figures.
func (p *progress) bar() string {
	full := 0
	if p.total > 0 {
		full = int(float64(progressWidth) * min(1, float64(p.done)/float64(p.total)))
	}
	return fmt.Sprintf("%s %s%s %s of %s\x1b[K", p.what,
		strings.Repeat("█", full), strings.Repeat("░", progressWidth-full), p.text(p.done), p.text(p.total))
}
