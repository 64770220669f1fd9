package main

import (
	"bytes"
	"io"
	"sync"
)

// wiped is what takes the line of progress away.
const wiped = "\r\x1b[K"

// console is a terminal whose last line may show how far the work has come. That line
// goes before anything else is written there, and is not drawn into a line that has no
// end yet, as a question.
type console struct {
	mu     sync.Mutex
	w      io.Writer // standard error
	both   bool      // standard output is a terminal, too
	drawn  bool      // the line of progress is there
	within bool      // the text so far does not end with a line
	bars   int       // that were begun and have not ended: the newest is drawn
}

// consoleStream is a stream of a console.
type consoleStream struct {
	*console
	w io.Writer
}

// withConsole returns streams that share a console, where standard error is a terminal.
func withConsole(s streams) streams {
	if !isTerminal(s.err) {
		return s
	}
	c := &console{w: s.err, both: isTerminal(s.out)}
	s.err = consoleStream{c, s.err}
	if c.both {
		s.out = consoleStream{c, s.out}
	}
	return s
}

// consoleOf returns the console of a stream, nil where it is none.
func consoleOf(stream any) *console {
	s, _ := stream.(consoleStream)
	return s.console
}

// IsTerminal implements [screen].
func (consoleStream) IsTerminal() bool { return true }

// Write writes text.
func (s consoleStream) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn {
		s.drawn = false
		_, _ = io.WriteString(s.console.w, wiped) // a line that stays is no failure
	}
	if len(text) > 0 {
		s.within = text[len(text)-1] != '\n'
	}
	return s.w.Write(text)
}

// answered says that a person has ended the line of a question.
func (c *console) answered() {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.within = false
	}
}

// bar is the line of progress of some work.
type bar struct {
	*console
	level int // how many were begun before it, and it
}

// newBar begins a line, which is drawn until a newer one is begun, and again after that
// has ended.
func (c *console) newBar() *bar {
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
	b.drawn = !bytes.Equal(line, []byte(wiped))
	return b.w.Write(line)
}

// end says that the work is over.
func (b *bar) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bars--
}
