package main

import (
	"context"
	"io"
	"os"
)

// patientBytes is how much of a stream is read at a time.
const patientBytes = 256 << 10

// patient reads a stream that may be silent for ever, and stops waiting once its context
// ends. The system cannot be told to give up such a read, so that another goroutine waits
// for it.
type patient struct {
	ctx context.Context
	r   io.Reader

	buffer []byte
	rest   []byte // read and not taken yet
	err    error  // behind the rest
	waits  chan taken
}

// taken is the result of one read.
type taken struct {
	n   int
	err error
}

// patiently returns a stream whose reads end with the context of a command.
func patiently(ctx context.Context, r io.Reader) *patient { return &patient{ctx: ctx, r: r} }

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	if len(p.rest) == 0 && p.err == nil && len(b) > 0 {
		if err := p.wait(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	if len(p.rest) == 0 && n == 0 {
		return 0, p.err
	}
	return n, nil
}

// wait reads the next bytes of the stream. The buffer belongs to the read that is under
// way.
func (p *patient) wait() error {
	if p.buffer == nil {
		p.buffer, p.waits = make([]byte, patientBytes), make(chan taken, 1)
	}
	go func() {
		n, err := p.r.Read(p.buffer)
		p.waits <- taken{n, err}
	}()
	select {
	case t := <-p.waits:
		p.rest, p.err = p.buffer[:t.n], t.err
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// openPatiently opens a file. A pipe with a name lets its reader wait until somebody
// writes to it.
func openPatiently(ctx context.Context, name string) (*os.File, error) {
	if info, err := os.Stat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return os.Open(name)
	}
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.Open(name)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.f, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
