// SPDX-License-Identifier: Apache-2.0

package localfile

import (
	"context"
	"io"
	"os"
)

// patientBytes is the number of bytes that are read at a time.
const patientBytes = 256 << 10

// patient reads a stream that may be silent for ever. It gives up when its context ends.
// A read cannot be cancelled, so another goroutine waits for it.
type patient struct {
	ctx context.Context
	r   io.Reader

	buffer []byte
	rest   []byte // read but not returned yet
	err    error  // returned after rest
	waits  chan taken
}

// taken is the result of one read.
type taken struct {
	n   int
	err error
}

// Patient returns a reader of r that stops when the context ends.
func Patient(ctx context.Context, r io.Reader) *patient { return &patient{ctx: ctx, r: r} }

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

// wait reads the next bytes. After a cancelled wait the pending read still owns the
// buffer.
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

// Open opens a file. It stops when the context ends, because opening a named pipe
// blocks until there is a writer.
func Open(ctx context.Context, name string) (*os.File, error) {
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
