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

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Assemble implements [store.Assembler]. It takes the steps of [Store.Put] and fills the
// temporary file from the sources, of which one is open at a time. On Linux the kernel
// copies their bytes, and file systems such as Btrfs and XFS share them.
func (s *Store) Assemble(
	ctx context.Context, key store.Key, parts []store.Part, d store.Durability,
) (store.Version, error) {
	name, st, err := s.assemble(ctx, key, s, parts, d)
	if err == nil && d != store.Flush {
		err = s.syncDir(path.Dir(name))
	}
	if err != nil {
		return store.Version{}, fail("assembling", key.String(), err)
	}
	return s.versionOf(name, st), nil
}

// Assemble implements [store.AssemblingBatch].
func (b *batch) Assemble(ctx context.Context, key store.Key, parts []store.Part) error {
	name, _, err := b.s.assemble(ctx, key, b.s, parts, b.d)
	if err != nil {
		return fail("assembling", key.String(), err)
	}
	b.touch(path.Dir(name))
	return nil
}

// assemble is Assemble without the sync of the directory. The sources are values of from,
// which may be s. It returns the name of the file and its status before the rename.
func (s *Store) assemble(
	ctx context.Context, key store.Key, from *Store, parts []store.Part, d store.Durability,
) (string, vfs.Stat, error) {
	name, err := nameOf(key)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	size, err := store.AssembledSize(parts)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	a := assembly{ctx: ctx, s: from}
	defer a.end()
	return s.publish(ctx, name, a.content(parts, size), d)
}

// assembly writes a file from ranges of others.
type assembly struct {
	ctx context.Context
	s   *Store // of the sources

	old vfs.File // the open source, or nil
	key store.Key
	was vfs.Stat               // of old, when it was opened
	all map[store.Key]vfs.Stat // of the sources so far

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
		for n < len(parts) && parts[n].Continues(p) {
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
	if err := p.Within(a.was.Size); err != nil {
		return err
	}
	if p.N <= shortPart {
		return a.short(f, p.Off, int(p.N))
	}
	if err := a.flush(f); err != nil {
		return err
	}
	return copyRange(a.ctx, f, a.old, a.was, p.Off, p.N)
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
	return cmp.Or(unchanged(a.old, a.was), err)
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
		if !from.IsZero() && describe(a.was).Version != from {
			return conflict(key)
		}
		return nil
	}
	if err := a.leave(); err != nil {
		return err
	}
	if a.old, a.was, err = a.s.openFrom(a.ctx, key, from); err != nil {
		a.old = nil
		return err
	}
	a.key = key
	// A source may be used again after others. Then a concurrent writer may have replaced
	// it.
	if first, again := a.all[key]; again && !first.SameData(a.was) {
		return conflict(key)
	}
	if a.all == nil {
		a.all = map[store.Key]vfs.Stat{}
	}
	a.all[key] = a.was
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
	return unchanged(a.old, a.was)
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
		err = fmt.Errorf("%d bytes were written, and the file has %d: %w", size, st.Size, io.ErrShortWrite)
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

// Gather implements [store.Gatherer] for any source. If that is a file store too, it is
// [Store.Assemble] of the files of that one: on Linux the kernel copies their bytes, and
// file systems such as Btrfs and XFS share them. From other stores, it reads and writes
// piece by piece.
func (s *Store) Gather(
	ctx context.Context, key store.Key, from store.Store, parts []store.Part, d store.Durability,
) (store.Version, error) {
	name, st, err := s.gather(ctx, key, from, parts, d)
	if err == nil && d != store.Flush {
		err = s.syncDir(path.Dir(name))
	}
	if err != nil {
		return store.Version{}, fail("gathering", key.String(), err)
	}
	return s.versionOf(name, st), nil
}

// Gather implements [store.GatheringBatch].
func (b *batch) Gather(ctx context.Context, key store.Key, from store.Store, parts []store.Part) error {
	name, _, err := b.s.gather(ctx, key, from, parts, b.d)
	if err != nil {
		return fail("gathering", key.String(), err)
	}
	b.touch(path.Dir(name))
	return nil
}

// gather is Gather without the sync of the directory. It returns the name of the file and
// its status before the rename.
func (s *Store) gather(
	ctx context.Context, key store.Key, from store.Store, parts []store.Part, d store.Durability,
) (string, vfs.Stat, error) {
	if other, ok := store.Driver(from).(*Store); ok {
		return s.assemble(ctx, key, other, parts, d)
	}
	name, err := nameOf(key)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	size, err := store.AssembledSize(parts)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	return s.publish(ctx, name, func(f vfs.File) error {
		return cmp.Or(store.WriteParts(ctx, f, from, parts), hasSize(f, size))
	}, d)
}

// Splice implements [store.Splicer]. It takes the steps of [Store.PutIf] and fills the
// temporary file from the old file. On Linux the kernel copies the old bytes, and file
// systems such as Btrfs and XFS share them.
func (s *Store) Splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (store.Version, error) {
	v, dir, err := s.splice(ctx, key, from, fragments, d)
	if err == nil && d != store.Flush {
		err = s.syncDir(dir)
	}
	if err != nil {
		return store.Version{}, fail("splicing", key.String(), err)
	}
	return v, nil
}

// splice is Splice without the sync. It returns the directory to sync.
func (s *Store) splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (v store.Version, dir string, err error) {
	if err := s.writable(ctx); err != nil {
		return store.Version{}, "", err
	}
	tmp, st, err := s.prepareSplice(ctx, key, from, fragments, d)
	if err != nil {
		return store.Version{}, "", err
	}
	name := beside(tmp, key.String())
	v, err = s.moveIf(ctx, tmp, name, st, store.IfVersion(from))
	return v, path.Dir(name), err
}

// prepareSplice takes steps 1 to 5 with the fragments, which are parts of one source.
func (s *Store) prepareSplice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (tmp string, st vfs.Stat, err error) {
	if from.IsZero() { // a part would permit any version
		return "", vfs.Stat{}, conflict(key)
	}
	a := assembly{ctx: ctx, s: s}
	defer a.close()
	if err := a.enter(key, from); err != nil {
		return "", vfs.Stat{}, err
	}
	size, err := store.SplicedSize(a.was.Size, fragments)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	return s.prepare(key.String(), a.content(store.PartsOf(key, from, fragments), size), d)
}
