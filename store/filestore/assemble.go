// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// assemble makes a file of parts. The sources are values of from, which may be s.
func (s *files) assemble(ctx context.Context, name string, from *files, c store.Change, d store.Durability) (o outcome, err error) {
	size, err := c.Size(0)
	if err != nil {
		return o, err
	}
	a := assembly{ctx: ctx, s: from}
	defer a.end()
	return s.publish(ctx, name, a.content(c.Parts, size), d)
}

// assembly writes a file from ranges of others.
type assembly struct {
	ctx context.Context
	s   *files // of the sources

	old    vfs.File // the open source, or nil
	key    store.Key
	opened vfs.Stat               // of old, when it was opened
	all    map[store.Key]vfs.Stat // of the sources so far

	room *[gathered]byte // of small parts that are not written yet, or nil
	held int             // bytes in room
}

// Short parts are read into memory and written together. That takes one system call
// a part instead of two, and file systems do not share such short ranges anyway.
const gathered = 256 << 10

// shortPart is the number of bytes of the longest short part. Tests change it.
var shortPart int64 = 64 << 10

var rooms = sync.Pool{New: func() any { return new([gathered]byte) }}

// content is the content of parts, which have size bytes. It closes the last source,
// because Windows cannot replace an open file in step 6.
func (a *assembly) content(parts []store.Part, size int64) content {
	return func(f vfs.File) error {
		if err := a.write(f, parts); err != nil {
			return err
		}
		if err := a.flush(f); err != nil {
			return err
		}
		return cmp.Or(a.leave(), hasSize(f, size))
	}
}

// write writes parts to f. It copies parts that continue each other at once.
func (a *assembly) write(f vfs.File, parts []store.Part) error {
	for len(parts) > 0 {
		p, n := parts[0], 1
		for n < len(parts) && driver.Continues(parts[n], p) {
			p.N += parts[n].N
			n++
		}
		if err := a.part(f, p); err != nil {
			return err
		}
		parts = parts[n:]
	}
	return nil
}

// part writes one part to f.
func (a *assembly) part(f vfs.File, p store.Part) error {
	if p.Data != nil {
		return a.data(f, p.Data)
	}
	if err := a.enter(p.Key, p.Version); err != nil {
		return err
	}
	if err := p.Within(a.opened.Size); err != nil {
		return err
	}
	if p.N <= shortPart {
		return a.short(f, p.Off, int(p.N))
	}
	if err := a.flush(f); err != nil {
		return err
	}
	return copyRange(a.ctx, f, a.old, a.opened, p.Off, p.N)
}

// data writes bytes that the caller gave.
func (a *assembly) data(f vfs.File, data []byte) error {
	if int64(len(data)) <= shortPart {
		room, err := a.gather(f, len(data))
		copy(room, data)
		return err
	}
	if err := a.flush(f); err != nil {
		return err
	}
	_, err := f.Write(data)
	return err
}

// short reads a short part of the open source.
func (a *assembly) short(f vfs.File, off int64, n int) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	room, err := a.gather(f, n)
	if err != nil || n == 0 {
		return err
	}
	m, err := a.old.ReadAt(room, off)
	switch {
	case m == n:
		return nil
	case err == nil || err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	// If another program has cut the file, report that rather than the early end.
	return cmp.Or(unchanged(a.old, a.opened), err)
}

// gather returns room for the next n bytes of the new file.
func (a *assembly) gather(f vfs.File, n int) ([]byte, error) {
	if a.room == nil {
		a.room = rooms.Get().(*[gathered]byte)
	}
	if a.held+n > gathered {
		if err := a.flush(f); err != nil {
			return nil, err
		}
	}
	a.held += n
	return a.room[a.held-n : a.held], nil
}

// flush writes what was gathered.
func (a *assembly) flush(f vfs.File) error {
	if a.held == 0 {
		return nil
	}
	_, err := f.Write(a.room[:a.held])
	a.held = 0
	return err
}

// enter opens the source at key, which must be of version from. A zero from permits any
// version, but all parts are from one.
func (a *assembly) enter(key store.Key, from store.Version) (err error) {
	if a.old != nil && a.key == key {
		if !from.IsZero() && describe(a.opened).Version != from {
			return conflict(key)
		}
		return nil
	}
	if err := a.leave(); err != nil {
		return err
	}
	if a.old, a.opened, err = a.s.openFrom(a.ctx, key, from); err != nil {
		a.old = nil
		return err
	}
	a.key = key
	// A source may be used again after others. Then a concurrent writer may have replaced
	// it.
	if first, again := a.all[key]; again && !first.SameData(a.opened) {
		return conflict(key)
	}
	if a.all == nil {
		a.all = map[store.Key]vfs.Stat{}
	}
	a.all[key] = a.opened
	return nil
}

// leave closes the open source, if any. If another program has changed it in place since
// it was opened, the error is [store.ErrConflict]: the copied bytes may be of two
// versions.
func (a *assembly) leave() error {
	if a.old == nil {
		return nil
	}
	defer a.close()
	return unchanged(a.old, a.opened)
}

// end closes the open source, if any, and gives back the room.
func (a *assembly) end() {
	a.close()
	if a.room != nil {
		rooms.Put(a.room)
		a.room = nil
	}
}

// close closes the open source, if any.
func (a *assembly) close() {
	if a.old != nil {
		_ = a.old.Close() // it was only read
		a.old = nil
	}
}

// hasSize returns an error if the new file f does not have size bytes.
func hasSize(f vfs.File, size int64) error {
	st, err := f.Stat()
	if err == nil && st.Size != size {
		err = fmt.Errorf("%s written, and the file has %d: %w", quantity.Count(size, "bytes were"), st.Size, io.ErrShortWrite)
	}
	return err
}

// copyStep is the number of bytes that are copied between two checks of the context.
const copyStep = 64 << 20

// copyRange appends n bytes of old, which had status was, from offset off on, to f.
func copyRange(ctx context.Context, f, old vfs.File, was vfs.Stat, off, n int64) error {
	for end := off + n; off < end; off += copyStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := f.CopyFrom(old, off, min(copyStep, end-off))
		// If another program has cut the file, report that rather than the early end.
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = cmp.Or(unchanged(old, was), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gather makes a file of parts of values of another store.
func (s *files) gather(ctx context.Context, name string, c store.Change, d store.Durability) (o outcome, err error) {
	if other, ok := store.Driver(c.From).(*files); ok {
		return s.assemble(ctx, name, other, c, d)
	}
	size, err := c.Size(0)
	if err != nil {
		return o, err
	}
	return s.publish(ctx, name, func(f vfs.File) error {
		return cmp.Or(store.WriteParts(ctx, f, c.From, c.Parts), hasSize(f, size))
	}, d)
}

// splice makes a file of parts of the present one and new bytes.
func (s *files) splice(ctx context.Context, c store.Change, d store.Durability) (o outcome, err error) {
	if err := s.writable(ctx); err != nil {
		return o, err
	}
	tmp, st, err := s.prepareSplice(ctx, c, d)
	if err != nil {
		return o, err
	}
	name := beside(tmp, c.Key.String())
	o.dir = path.Dir(name)
	o.Version, err = s.moveIf(ctx, tmp, name, st, c.If)
	return o, err
}

// prepareSplice takes steps 1 to 5 with the parts, which are of one source.
func (s *files) prepareSplice(ctx context.Context, c store.Change, d store.Durability) (tmp string, st vfs.Stat, err error) {
	if c.If.Version().IsZero() { // a part would permit any version
		return "", vfs.Stat{}, conflict(c.Key)
	}
	a := assembly{ctx: ctx, s: s}
	defer a.close()
	if err := a.enter(c.Key, c.If.Version()); err != nil {
		return "", vfs.Stat{}, err
	}
	size, err := c.Size(a.opened.Size)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	return s.prepare(c.Key.String(), a.content(c.Parts, size), d)
}
