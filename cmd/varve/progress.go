package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/observe"
)

const progressWidth = 30 // characters

// These are variables, so that tests need not wait.
var (
	progressDelay  = 500 * time.Millisecond // before work is worth a bar
	progressPeriod = 200 * time.Millisecond // between two looks
)

// progress is a line on the terminal of standard error for work that lasts: a bar, how
// fast it goes and how long it takes still. Elsewhere it does nothing. A goroutine draws
// it, so that work which says nothing for a while is seen to go on.
type progress struct {
	w     io.Writer // nil where nobody looks
	what  string
	total atomic.Int64       // 0 where it is not known
	text  func(int64) string // of a number that is done
	look  func() int64       // what is done
	done  atomic.Int64       // what add has counted
	begun time.Time
	idle  bool // nothing better is known than that the command goes on
	stop  chan struct{}
	ended func() // nil where there is nothing to tell
	drawn sync.WaitGroup
}

// newProgress begins work on a total of bytes, which add counts.
func newProgress(cmd *cobra.Command, what string, total int64) *progress {
	p := &progress{what: what, text: phrase.Bytes}
	p.look = p.done.Load
	p.total.Store(total)
	p.begin(cmd)
	return p
}

// newCount is newProgress of work that is not counted in bytes.
func newCount(cmd *cobra.Command, what string, total int64) *progress {
	p := &progress{what: what, text: phrase.Count}
	p.look = p.done.Load
	p.total.Store(total)
	p.begin(cmd)
	return p
}

// newEstimate begins work of about a total of bytes, 0 where that is not known, of which
// the requests to stores and the work of codecs tell how much is done.
func newEstimate(cmd *cobra.Command, what string, total int64, done func(observe.Stats) int64) *progress {
	p := &progress{what: what, text: phrase.Bytes}
	p.total.Store(total)
	p.estimate(cmd, done)
	return p
}

// newTally is newEstimate of work that is not counted in bytes.
func newTally(cmd *cobra.Command, what string, total int64, done func(observe.Stats) int64) *progress {
	p := &progress{what: what, text: phrase.Count}
	p.total.Store(total)
	p.estimate(cmd, done)
	return p
}

// estimate begins work that the counter of a command tells of.
func (p *progress) estimate(cmd *cobra.Command, done func(observe.Stats) int64) {
	c, ok := observerOf(cmd.Context()).(*observe.Counter)
	if !ok {
		return // nobody looks
	}
	before := done(c.Stats())
	p.look = func() int64 { return done(c.Stats()) - before }
	p.begin(cmd)
}

// goesOn shows that a command goes on as long as nothing else is shown of its progress.
// Where its output goes to a program, that one may be what it waits for, and may show
// something else.
func goesOn(cmd *cobra.Command) *progress {
	p := &progress{what: cmd.Name(), text: phrase.Count, idle: true}
	if c := consoleOf(cmd.ErrOrStderr()); c != nil && c.both {
		p.estimate(cmd, func(s observe.Stats) int64 { return s.Requests().Times })
	}
	return p
}

// watchedKey is the key, in the context of a command, of the counter for what a person
// sees of it.
type watchedKey struct{}

// watched makes a command count its requests where a person looks at it.
func watched(cmd *cobra.Command) {
	if isTerminal(cmd.ErrOrStderr()) && !wantsJSON(cmd) {
		cmd.SetContext(context.WithValue(cmd.Context(), watchedKey{}, new(observe.Counter)))
	}
}

// watchedBy returns that counter, nil where nobody looks.
func watchedBy(ctx context.Context) *observe.Counter {
	c, _ := ctx.Value(watchedKey{}).(*observe.Counter)
	return c
}

// begin draws the line from time to time, where somebody looks and nothing else is
// written there.
func (p *progress) begin(cmd *cobra.Command) {
	output := cmd.Flags().Lookup("output")
	shown := output != nil && output.Value.String() == "" && isTerminal(cmd.OutOrStdout())
	if shown || !isTerminal(cmd.ErrOrStderr()) || wantsJSON(cmd) {
		return
	}
	if c := consoleOf(cmd.ErrOrStderr()); c != nil {
		b := c.newBar()
		p.ended = b.end
		p.drawOn(b, progressDelay, progressPeriod)
	}
}

// drawOn draws the line on w, first after a delay.
func (p *progress) drawOn(w io.Writer, delay, period time.Duration) {
	p.w, p.begun, p.stop = w, time.Now(), make(chan struct{})
	p.drawn.Go(func() {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		for seen := false; ; seen = true {
			select {
			case <-timer.C:
				fmt.Fprint(w, "\r"+p.line(time.Since(p.begun))) // a line that cannot be drawn is no failure
				timer.Reset(period)
			case <-p.stop:
				if seen {
					fmt.Fprint(w, wiped)
				}
				return
			}
		}
	})
}

// add counts what is done.
func (p *progress) add(n int64) { p.done.Add(n) }

// reach says how much is done of a total. Where several goroutines say so the largest
// counts.
func (p *progress) reach(done, total int64) {
	p.total.Store(total)
	for was := p.done.Load(); done > was && !p.done.CompareAndSwap(was, done); was = p.done.Load() {
	}
}

// Write counts bytes that pass.
func (p *progress) Write(b []byte) (int, error) {
	p.add(int64(len(b)))
	return len(b), nil
}

// end takes the line away.
func (p *progress) end() {
	if p.w != nil {
		close(p.stop)
		p.drawn.Wait()
		p.w = nil
		if p.ended != nil {
			p.ended()
		}
	}
}

// line returns what, a bar and figures, after some time.
func (p *progress) line(passed time.Duration) string {
	done, total := p.look(), p.total.Load()
	speed := float64(done) / max(passed.Seconds(), 1e-3)
	rate := p.text(int64(speed)) + "/s"
	if p.idle {
		return fmt.Sprintf("%s %s  %s\x1b[K", p.what, clock(passed.Seconds()), phrase.Plural(done, "request"))
	}
	if total <= 0 {
		return fmt.Sprintf("%s %s  %s\x1b[K", p.what, p.text(done), rate)
	}
	part := min(1, float64(done)/float64(total))
	full := int(progressWidth * part)
	left := ""
	if speed > 0 {
		left = "  " + clock(float64(max(0, total-done))/speed) + " left"
	}
	return fmt.Sprintf("%s %s%s %s of %s  %s%s\x1b[K", p.what,
		strings.Repeat("█", full), strings.Repeat("░", progressWidth-full), p.text(done), p.text(total), rate, left)
}

// clock returns seconds as a clock shows them, 0:07 or 2:03:00.
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

// What estimates are made of.
var (
	// codedBytes are those of elements that were encoded, or stored where nothing is
	// encoded.
	codedBytes = func(s observe.Stats) int64 { return max(s.Of(observe.Encode).Bytes, s.Written().Bytes) }
	// decodedBytes are those of elements that were decoded, or read where nothing is
	// decoded.
	decodedBytes = func(s observe.Stats) int64 { return max(s.Of(observe.Decode).Bytes, s.Read().Bytes) }
	// touchedChunks are those that were encoded or deleted.
	touchedChunks = func(s observe.Stats) int64 { return s.Of(observe.Encode).Times + deletions(s) }
	// deletions are those of stored values.
	deletions = func(s observe.Stats) int64 { return s.Of(observe.Delete).Times + s.Of(observe.DeleteIf).Times }
	// movedBytes are those of stored values.
	movedBytes = func(s observe.Stats) int64 { return s.Of(observe.Copy).Bytes + s.Read().Bytes }
)
