package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// Pinned is one version of a value, read piece by piece: the version that its first read
// finds, or one that is known beforehand. [Open] looks at a value before anything is
// read, which costs a far store a request; a Pinned learns the version from the first
// bytes. Its methods may be called from several goroutines at once, Close last.
type Pinned struct {
	s   Store
	key Key

	mu     sync.Mutex
	info   Info
	known  bool   // info is what every read has to find
	object Object // what an Opener opened
	closed bool
}

// Pin returns the value at key, pinned to the version that expected describes, as far as
// [Info.Same] tells: by the size alone where the store knows no versions. The zero Info
// expects nothing; the first read that succeeds pins.
//
// Nothing is asked of s before the first read. An [Opener] is asked to open the value
// then, once; every read of another store is one Get and nothing more, so a store for
// which to open is a request of its own had better not be an Opener.
func Pin(s Store, key Key, expected Info) *Pinned {
	return &Pinned{s: s, key: key, info: expected, known: expected != Info{}}
}

// Read appends the bytes that q selects to dst, as Store.Get does, and tells which
// version they are of.
//
// A value of another version than the pinned one is [ErrConflict], and so is none: what
// was read before does not belong to what is there now. Where no version is pinned yet, a
// key without a value is [fs.ErrNotExist].
func (p *Pinned) Read(ctx context.Context, q Request, dst []byte) ([]byte, Info, error) {
	o, err := p.open(ctx)
	if err != nil {
		return nil, Info{}, p.settle(ctx, q, Info{}, err)
	}
	var out []byte
	var info Info
	if o != nil {
		out, err = o.Read(ctx, q, dst)
		info = o.Info()
	} else {
		out, info, err = p.s.Get(ctx, p.key, q, dst)
		err = p.settle(ctx, q, info, err)
	}
	if err != nil {
		return nil, Info{}, err
	}
	return out, info, nil
}

// Close lets go of the value. A later Read is [fs.ErrClosed].
func (p *Pinned) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.object
	p.object, p.closed = nil, true
	if o == nil {
		return nil
	}
	return o.Close()
}

// open returns the open value, nil where the store is no [Opener]. Who comes while it is
// being opened waits for it.
func (p *Pinned) open(ctx context.Context) (Object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("store: %s: %w", p.key, fs.ErrClosed)
	}
	if p.object != nil {
		return p.object, nil
	}
	s, ok := As[Opener](p.s)
	if !ok {
		return nil, nil
	}
	o, err := s.Open(ctx, p.key)
	if err != nil {
		return nil, err
	}
	info := o.Info()
	if p.known && !info.Same(p.info) {
		return nil, errors.Join(replaced(p.key), o.Close())
	}
	p.object, p.info, p.known = o, info, true
	return o, nil
}

// settle takes what a read said: it pins the version, or compares it with the one that is
// pinned.
func (p *Pinned) settle(ctx context.Context, q Request, info Info, err error) error {
	p.mu.Lock()
	if !p.known && err == nil {
		p.info, p.known = info, true
	}
	pinned, known := p.info, p.known
	p.mu.Unlock()
	switch {
	case err == nil && info.Same(pinned):
		return nil
	case err == nil:
		return replaced(p.key)
	case !known:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was deleted while it was read", ErrConflict, p.key)
	}
	return p.doubt(ctx, q, pinned, err)
}

// doubt takes an error that the pinned version cannot have caused, a range beyond the end
// or too long a value, for [ErrConflict] where another version is there by now. It asks
// only then.
func (p *Pinned) doubt(ctx context.Context, q Request, pinned Info, err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrTooLarge) {
		return err
	}
	if _, _, own := q.Resolve(pinned.Size); own != nil {
		return err
	}
	now, failed := Stat(ctx, p.s, p.key)
	if errors.Is(failed, fs.ErrNotExist) || failed == nil && !now.Same(pinned) {
		return replaced(p.key)
	}
	return err
}

// replaced is the error of a read that finds another version.
func replaced(key Key) error {
	return fmt.Errorf("%w: %s was replaced while it was read", ErrConflict, key)
}
