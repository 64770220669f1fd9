// SPDX-License-Identifier: Apache-2.0

// Package progress draws the line of progress of a long task on the terminal.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/observe"
)

const width = 30 // characters

// These are variables, so that tests do not wait.
var (
	Delay  = 500 * time.Millisecond // before a line is drawn
	Period = 200 * time.Millisecond // between two drawings
)

// Line is the line of progress of a task: a bar, the speed and the time left. It is drawn
// on a terminal only. A goroutine draws it, so it also moves while the task reports
// nothing.
type Line struct {
	w              io.Writer // nil if the line is not drawn
	task           string
	total          atomic.Int64       // 0 if unknown
	text           func(int64) string // formats a number
	measure        func() int64       // returns how much is done
	done           atomic.Int64       // counted by Add
	start          time.Time
	countsRequests bool // only the number of requests is known
	stop           chan struct{}
	afterEnd       func() // called by End; may be nil
	drawn          sync.WaitGroup
}

// newLine returns a line that is not drawn yet, and that shows what Add counts.
func newLine(task string, total int64, text func(int64) string) *Line {
	p := &Line{task: task, text: text}
	p.measure = p.done.Load
	p.total.Store(total)
	return p
}

// New begins the line of a task of total bytes, which Add counts.
func New(cmd *cobra.Command, task string, total int64) *Line {
	p := newLine(task, total, phrase.Bytes)
	p.begin(cmd)
	return p
}

// On is New on a writer that need not be a terminal.
func On(w io.Writer, task string, total int64) *Line {
	p := newLine(task, total, phrase.Bytes)
	p.drawOn(w, Delay, Period)
	return p
}

// NewCount is New for things other than bytes.
func NewCount(cmd *cobra.Command, task string, total int64) *Line {
	p := newLine(task, total, phrase.Count)
	p.begin(cmd)
	return p
}

// NewEstimate begins the line of a task of about total bytes, or 0 if unknown. done
// estimates the finished bytes from the counts of requests and codecs.
func NewEstimate(cmd *cobra.Command, task string, total int64, done func(observe.Stats) int64) *Line {
	p := newLine(task, total, phrase.Bytes)
	p.estimate(cmd, done)
	return p
}

// NewTally is NewEstimate for things other than bytes.
func NewTally(cmd *cobra.Command, task string, total int64, done func(observe.Stats) int64) *Line {
	p := newLine(task, total, phrase.Count)
	p.estimate(cmd, done)
	return p
}

// estimate begins a line that follows the counter of a command.
func (p *Line) estimate(cmd *cobra.Command, done func(observe.Stats) int64) {
	c, ok := session.ObserverOf(cmd.Context()).(*observe.Counter)
	if !ok {
		return // nothing is counted
	}
	before := done(c.Stats())
	p.measure = func() int64 { return done(c.Stats()) - before }
	p.begin(cmd)
}

// Lasting is the annotation of a command that has no end of its own, and so no progress.
const Lasting = "lasting"

// Begin begins a line that shows that a command is running, until another line shows
// more. There is no line if standard output is not a terminal: a program that reads it
// may show its own progress.
func Begin(cmd *cobra.Command) *Line {
	p := &Line{task: cmd.Name(), text: phrase.Count, countsRequests: true}
	_, lasting := cmd.Annotations[Lasting]
	if c := console.Of(cmd.ErrOrStderr()); c != nil && c.OutIsTerminal && !lasting {
		p.estimate(cmd, func(s observe.Stats) int64 { return s.Requests.Times })
	}
	return p
}

// begin draws the line if standard error is a terminal and the command prints nothing
// else there.
func (p *Line) begin(cmd *cobra.Command) {
	output := cmd.Flags().Lookup("output")
	// export without -o prints values on the terminal, and the line would mix with them.
	shown := output != nil && output.Value.String() == "" && console.IsTerminal(cmd.OutOrStdout())
	if shown || !console.IsTerminal(cmd.ErrOrStderr()) || session.WantsJSON(cmd) {
		return
	}
	if c := console.Of(cmd.ErrOrStderr()); c != nil {
		b := c.NewBar()
		p.afterEnd = b.End
		p.drawOn(b, Delay, Period)
	}
}

// drawOn draws the line on w after delay, and again after every period.
func (p *Line) drawOn(w io.Writer, delay, period time.Duration) {
	p.w, p.start, p.stop = w, time.Now(), make(chan struct{})
	p.drawn.Go(func() {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		for seen := false; ; seen = true {
			select {
			case <-timer.C:
				fmt.Fprint(w, "\r"+p.line(time.Since(p.start))) // a line that cannot be drawn is no failure
				timer.Reset(period)
			case <-p.stop:
				// Before the delay nothing was drawn.
				if seen {
					fmt.Fprint(w, console.Wiped)
				}
				return
			}
		}
	})
}

// Add counts n as done.
func (p *Line) Add(n int64) { p.done.Add(n) }

// Reach sets the finished part and the total. Goroutines may call it in any order,
// because the largest number counts.
func (p *Line) Reach(done, total int64) {
	p.total.Store(total)
	for was := p.done.Load(); done > was && !p.done.CompareAndSwap(was, done); was = p.done.Load() {
	}
}

// Write counts bytes as done.
func (p *Line) Write(b []byte) (int, error) {
	p.Add(int64(len(b)))
	return len(b), nil
}

// IsShown reports whether the line is drawn.
func (p *Line) IsShown() bool { return p.w != nil }

// SetTotal sets the total once it is known.
func (p *Line) SetTotal(total int64) { p.total.Store(total) }

// End clears the line.
func (p *Line) End() {
	if p.w != nil {
		close(p.stop)
		p.drawn.Wait()
		p.w = nil
		if p.afterEnd != nil {
			p.afterEnd()
		}
	}
}

// line returns the text of the line after a time.
func (p *Line) line(passed time.Duration) string {
	done, total := p.measure(), p.total.Load()
	speed := float64(done) / max(passed.Seconds(), 1e-3)
	rate := p.text(int64(speed)) + "/s"
	if p.countsRequests {
		return fmt.Sprintf("%s %s  %s\x1b[K", p.task, clock(passed.Seconds()), phrase.Plural(done, "request"))
	}
	if total <= 0 {
		return fmt.Sprintf("%s %s  %s\x1b[K", p.task, p.text(done), rate)
	}
	part := min(1, float64(done)/float64(total))
	full := int(width * part)
	left := ""
	if speed > 0 {
		left = "  " + clock(float64(max(0, total-done))/speed) + " left"
	}
	return fmt.Sprintf("%s %s%s %s of %s  %s%s\x1b[K", p.task,
		strings.Repeat("█", full), strings.Repeat("░", width-full), p.text(done), p.text(total), rate, left)
}

// clock formats seconds as 0:07 or 2:03:00.
func clock(seconds float64) string {
	if seconds > 1e7 {
		return "long"
	}
	s := int64(seconds + 0.5)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Functions for estimates.
var (
	// CodedBytes counts the bytes of encoded elements, or those written if nothing is
	// encoded.
	CodedBytes = func(s observe.Stats) int64 { return max(s.Of(observe.Encode).Bytes, s.Written.Bytes) }
	// DecodedBytes counts the bytes of decoded elements, or those read if nothing is
	// decoded.
	DecodedBytes = func(s observe.Stats) int64 { return max(s.Of(observe.Decode).Bytes, s.Read.Bytes) }
	// TouchedChunks counts chunks that were encoded or deleted.
	TouchedChunks = func(s observe.Stats) int64 { return s.Of(observe.Encode).Times + Deletions(s) }
	// Deletions counts deleted values.
	Deletions = func(s observe.Stats) int64 { return s.Of(observe.Delete).Times + s.Of(observe.DeleteIf).Times }
	// MovedBytes counts the bytes of copied values.
	MovedBytes = func(s observe.Stats) int64 { return s.Copied.Bytes + s.Read.Bytes }
)
