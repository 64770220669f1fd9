// SPDX-License-Identifier: Apache-2.0

// Package console is the terminal of the command: its streams, the line of progress, the
// styles of text, and signals.
package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Wiped clears the line of progress.
const Wiped = "\r\x1b[K"

// console is a terminal whose last line may show progress. Other output clears that line
// first. The line is not drawn behind an unfinished line, such as a question.
type console struct {
	mu            sync.Mutex
	w             io.Writer // standard error
	OutIsTerminal bool      // standard output is the terminal, too
	isDrawn       bool      // the line of progress is shown
	inLine        bool      // the output does not end with a newline
	bars          int       // active bars; only the newest is drawn
}

// consoleStream is a stream of a console.
type consoleStream struct {
	*console
	w io.Writer
}

// Shared returns streams that share a console if standard error is a terminal.
func Shared(s Streams) Streams {
	if !IsTerminal(s.Err) {
		return s
	}
	c := &console{w: s.Err, OutIsTerminal: IsTerminal(s.Out)}
	s.Err = consoleStream{c, s.Err}
	if c.OutIsTerminal {
		s.Out = consoleStream{c, s.Out}
	}
	return s
}

// Of returns the console of a stream, or nil if it has none.
func Of(stream any) *console {
	s, _ := stream.(consoleStream)
	return s.console
}

// IsTerminal implements [screen].
func (consoleStream) IsTerminal() bool { return true }

// Write clears the line of progress and writes text.
func (s consoleStream) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDrawn {
		s.isDrawn = false
		_, _ = io.WriteString(s.console.w, Wiped) // if this fails, only the old line stays
	}
	if len(text) > 0 {
		s.inLine = text[len(text)-1] != '\n'
	}
	return s.w.Write(text)
}

// Answered records that the user has ended the line of a question.
func (c *console) Answered() {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.inLine = false
	}
}

// bar is the line of progress of one task.
type bar struct {
	*console
	level int // position among the active bars, from 1
}

// NewBar begins a line. It is hidden while a newer one exists.
func (c *console) NewBar() *bar {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bars++
	return &bar{c, c.bars}
}

// Write draws the line.
func (b *bar) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.level != b.bars || b.inLine {
		return len(line), nil
	}
	b.isDrawn = !bytes.Equal(line, []byte(Wiped))
	return b.w.Write(line)
}

// End ends the line of progress.
func (b *bar) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bars--
}

// Streams are the standard streams of a process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Columns returns the width of the terminal w, or 80 if w is not a terminal.
func Columns(w io.Writer) int {
	// A console wraps the file that knows its size.
	if s, ok := w.(consoleStream); ok {
		w = s.w
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// HelpWidth returns the width of help: that of the terminal, but at most 100, because
// longer lines are hard to read. It returns 80 if w is not a terminal.
func HelpWidth(w io.Writer) int {
	if !IsTerminal(w) {
		return 80
	}
	return max(40, min(Columns(w), 100))
}

// isColoured reports whether text on a stream may have colours. Terminals have them
// unless the environment forbids it (no-color.org).
func isColoured(w any) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Styles of text: parameters of ANSI escape sequences.
const (
	Bold = "1"
	Red  = "1;31"
)

// Styled returns text in a style if the stream has colours.
func Styled(w any, style, text string) string {
	if !isColoured(w) {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// screen is a stream that knows whether it is a terminal.
type screen interface{ IsTerminal() bool }

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	if s, ok := stream.(screen); ok {
		return s.IsTerminal()
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Interrupt is the signal that ended a command. It is the cause of the command's context.
type Interrupt struct{ Signal os.Signal }

// Error implements error.
func (i *Interrupt) Error() string { return "interrupted: " + i.Signal.String() }

// status returns the exit status that shells expect: 128 and the number of the signal.
func (i *Interrupt) status() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 1
}

// UntilSignal returns a context that ends with the first SIGINT, SIGTERM or SIGHUP. The
// second signal ends the program at once. A signal that the parent process ignores,
// such as SIGHUP under nohup, stays ignored.
func UntilSignal(ctx context.Context) context.Context {
	var ends []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			ends = append(ends, s)
		}
	}
	if len(ends) == 0 {
		return ctx // Notify without a list asks for every signal
	}
	said := &atomic.Value{}
	// The command still completes a published change, and undoes an unpublished one.
	said.Store("finishing or undoing the current change; Ctrl-C again ends it at once")
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, saidKey{}, said))
	// Package signal never blocks. Without a buffer it could drop the signal.
	came := make(chan os.Signal, 1)
	signal.Notify(came, ends...)
	go func() {
		s := <-came
		// From now on a signal has its default effect, which ends the program.
		signal.Stop(came)
		cancel(&Interrupt{s})
		time.Sleep(interruptDelay)
		_, _ = fmt.Fprintln(os.Stderr, "varve: interrupted, "+said.Load().(string))
	}()
	return ctx
}

// saidKey is the context key of what a command that still runs says after a signal.
type saidKey struct{}

// OnInterrupt sets what a command that still runs says after a signal.
func OnInterrupt(ctx context.Context, text string) {
	if said, is := ctx.Value(saidKey{}).(*atomic.Value); is {
		said.Store(text)
	}
}

// interruptDelay is the time after which an interrupted command explains why it still
// runs.
const interruptDelay = time.Second

// IsInterrupted reports whether err comes from an interrupt of the command. A
// cancellation after another failure does not, because the command's own context is not
// cancelled.
func IsInterrupted(ctx context.Context, err error) bool {
	return ctx != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// StatusOf returns the exit status of a command that failed.
func StatusOf(ctx context.Context, err error) int {
	if i := (*Interrupt)(nil); IsInterrupted(ctx, err) && errors.As(context.Cause(ctx), &i) {
		return i.status()
	}
	return 1
}
