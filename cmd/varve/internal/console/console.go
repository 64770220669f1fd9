// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"io"
	"sync"
)

// Wiped clears the line of progress.
const Wiped = "\r\x1b[K"

// console is a terminal whose last line may show progress. Other output clears that line
// first. The line is not drawn behind an unfinished line, such as a question.
type console struct {
	mu     sync.Mutex
	w      io.Writer // standard error
	Both   bool      // standard output is the terminal, too
	drawn  bool      // the line of progress is shown
	within bool      // the output does not end with a newline
	bars   int       // active bars; only the newest is drawn
}

// consoleStream is a stream of a console.
type consoleStream struct {
	*console
	w io.Writer
}

// With returns streams that share a console if standard error is a terminal.
func With(s Streams) Streams {
	if !IsTerminal(s.Err) {
		return s
	}
	c := &console{w: s.Err, Both: IsTerminal(s.Out)}
	s.Err = consoleStream{c, s.Err}
	if c.Both {
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
	if s.drawn {
		s.drawn = false
		_, _ = io.WriteString(s.console.w, Wiped) // if this fails, only the old line stays
	}
	if len(text) > 0 {
		s.within = text[len(text)-1] != '\n'
	}
	return s.w.Write(text)
}

// Answered records that the user has ended the line of a question.
func (c *console) Answered() {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.within = false
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
	if b.level != b.bars || b.within {
		return len(line), nil
	}
	b.drawn = !bytes.Equal(line, []byte(Wiped))
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
