// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// Pinned reads one version of a value, range by range. The version is given to [Pin],
// or is the one that the first read finds. In contrast to [Open], this takes no
// additional request. Its methods are safe for concurrent use, but Close must be the
// last call.
type Pinned struct {
	s   Store
	key Key

	mu     sync.Mutex
	info   Info
	known  bool   // every read must find info
	read   bool   // a read has found it
	object Object // from an Opener; nil for other stores
	closed bool
}

// Pin returns the value at key, pinned to the version that expected describes.
// [Info.Same] compares versions; a store without versions is compared by size alone. If
// expected is zero, the first successful read pins the version it finds.
//
// Pin itself makes no request. The first read opens the value if s is an [Opener];
// otherwise each read is one Get. So a store should not be an Opener if opening costs a
// request.
func Pin(s Store, key Key, expected Info) *Pinned {
	return &Pinned{s: s, key: key, info: expected, known: expected != Info{}}
}

// Read appends the bytes that q selects to dst, as Store.Get does, and returns their
// version.
//
// If the value has another version than the pinned one, or was deleted, the error is
// [ErrConflict]. If no version is pinned yet and there is no value, the error is
// [fs.ErrNotExist].
func (p *Pinned) Read(ctx context.Context, q Request, dst []byte) ([]byte, Info, error) {
	o, err := p.open(ctx)
	if err != nil {
		// If a version is pinned, a missing value is a conflict.
		return nil, Info{}, p.settle(ctx, q, Info{}, err)
	}
	var out []byte
	var info Info
	if o != nil {
		// An opened object has one version, so there is nothing to check.
		out, err = o.Read(ctx, q, dst)
		info = o.Info()
	} else {
		out, info, err = p.get(ctx, q, dst)
		err = p.settle(ctx, q, info, err)
	}
	if err != nil {
		return nil, Info{}, err
	}
	return out, info, nil
}

// get reads from the store. Only the first read asks for the present version: that given
// to [Pin] may be old.
func (p *Pinned) get(ctx context.Context, q Request, dst []byte) ([]byte, Info, error) {
	p.mu.Lock()
	info, read := p.info, p.read
	p.mu.Unlock()
	if read {
		q.Expect = info
	}
	return p.s.Get(ctx, p.key, q, dst)
}

// Close releases the value. Later reads return [fs.ErrClosed].
func (p *Pinned) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.object
	// A later Read must not open the value again.
	p.object, p.closed = nil, true
	if o == nil {
		return nil
	}
	return o.Close()
}

// open returns the open value, or nil if the store is not an [Opener]. Concurrent calls
// wait until the first one has opened it.
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
	// The mutex is held during Open, so concurrent reads share one object.
	o, err := s.Open(ctx, p.key)
	if err != nil {
		return nil, err
	}
	info := o.Info()
	// A concurrent writer replaced the expected version before this open.
	if p.known && !info.Same(p.info) {
		return nil, errors.Join(replaced(p.key), o.Close())
	}
	p.object, p.info, p.known = o, info, true
	return o, nil
}

// settle checks the result of a read. The first result pins its version; later results
// must have that version.
func (p *Pinned) settle(ctx context.Context, q Request, info Info, err error) error {
	p.mu.Lock()
	if !p.known && err == nil {
		p.info, p.known = info, true
	}
	pinned, known := p.info, p.known
	p.mu.Unlock()
	switch {
	case err == nil && info.Same(pinned):
		p.confirm()
		return nil
	case err == nil:
		return replaced(p.key)
	case !known:
		return err
	// The pinned version existed, so a concurrent writer has deleted it.
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was deleted while it was read", ErrConflict, p.key)
	}
	return p.doubt(ctx, q, pinned, err)
}

// confirm notes that the store has had the pinned version since it was pinned.
func (p *Pinned) confirm() {
	p.mu.Lock()
	p.read = true
	p.mu.Unlock()
}

// doubt returns [ErrConflict] if err means that the value has another size than the
// pinned version, and Stat confirms that it was replaced. Otherwise it returns err.
func (p *Pinned) doubt(ctx context.Context, q Request, pinned Info, err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrTooLarge) {
		return err
	}
	if _, _, own := q.Resolve(pinned.Size); own != nil {
		return err // the pinned version causes the same error
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
