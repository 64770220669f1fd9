// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/store"
)

// Can implements [store.Writer]. A value is not gathered, because its sources may change.
func (s *Store) Can(op store.Op) bool { return op != store.OpGather && store.Can(s.below, op) }

// Write implements [store.Writer].
func (s *Store) Write(ctx context.Context, c store.Change, _ store.Durability) (made store.Written, err error) {
	if !s.Can(c.Op) {
		return made, fmt.Errorf("rehearsal: %s: %w", c.Key, store.ErrUnsupported)
	}
	switch c.Op {
	case store.OpPut:
		made.Version, err = s.set(ctx, c.Key, c.Value, nil)
	case store.OpPutIf:
		made.Version, err = s.set(ctx, c.Key, c.Value, &c.If)
	case store.OpDelete:
		err = s.remove(ctx, c.Key, nil)
	case store.OpDeleteIf:
		err = s.remove(ctx, c.Key, &c.If)
	case store.OpSplice:
		made.Version, err = s.splice(ctx, c)
	case store.OpPatch:
		made.Version, err = s.patch(ctx, c)
	case store.OpAssemble:
		made.Version, err = s.assemble(ctx, c)
	case store.OpCopy:
		return s.copy(ctx, c)
	case store.OpClone:
		return s.clone(ctx, c)
	}
	return made, err
}

// DeleteTree implements [store.TreeDeleter]. It does not record things that are not
// values, such as links.
func (s *Store) DeleteTree(ctx context.Context, dir store.Path, _ store.TreeOrder, _ store.Durability) error {
	for e, err := range s.List(ctx, dir, store.Deep) {
		if err == nil {
			err = s.remove(ctx, dir.MustKey(e.Name), nil)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// set writes value at key, on a condition unless cond is nil.
func (s *Store) set(ctx context.Context, key store.Key, value []byte, cond *store.Condition) (store.Version, error) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	e, err := s.may(ctx, key, cond)
	if err != nil {
		return store.Version{}, err
	}
	return s.ledger.put(key, value, e.was)
}

// remove deletes the value of a key, on a condition unless cond is nil.
func (s *Store) remove(ctx context.Context, key store.Key, cond *store.Condition) error {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	e, err := s.may(ctx, key, cond)
	// If neither the store nor the rehearsal has the value, there is nothing to record.
	if err == nil && (e.exists || e.was >= 0) {
		_, err = s.ledger.change(key, &entry{was: e.was})
	}
	return err
}

// may returns the entry of a key that is about to change. If cond does not hold, it
// returns [store.ErrConflict].
func (s *Store) may(ctx context.Context, key store.Key, cond *store.Condition) (entry, error) {
	if err := ctx.Err(); err != nil {
		return entry{}, err
	}
	e, exists, err := s.present(ctx, key)
	if err == nil && cond != nil && !cond.Holds(e.info.Version, exists) {
		err = fmt.Errorf("rehearsal: %s: %w", key, store.ErrConflict)
	}
	return e, err
}

func (s *Store) splice(ctx context.Context, c store.Change) (store.Version, error) {
	parts, held := kept(c.Parts)
	return s.rewrite(ctx, c, held, func(older reads) reads { return assembled(parts, map[store.Key]reads{c.Key: older}) })
}

// kept returns a copy of parts, and the number of bytes in it. A value is built later,
// when the caller may have changed its bytes.
func kept(parts []store.Part) (copied []store.Part, held int64) {
	copied = slices.Clone(parts)
	for i, p := range copied {
		copied[i].Data = slices.Clone(p.Data)
		held += int64(len(p.Data))
	}
	return copied, held
}

// assemble reads the sources only when the value is read.
func (s *Store) assemble(ctx context.Context, c store.Change) (store.Version, error) {
	n, err := c.Size(0)
	if err != nil {
		return store.Version{}, fmt.Errorf("rehearsal: %s: %w", c.Key, err)
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	parts, held := kept(c.Parts)
	entries, from := map[store.Key]entry{}, map[store.Key]reads{}
	for _, p := range parts {
		if err := s.enter(ctx, p, entries); err != nil {
			return store.Version{}, err
		}
	}
	for source, e := range entries {
		from[source] = s.older(source, e)
		held += e.held
	}
	now, err := s.may(ctx, c.Key, nil)
	if err != nil {
		return store.Version{}, err
	}
	return s.ledger.change(c.Key, &entry{
		info: store.Info{Size: n}, was: now.was, exists: true, held: held, part: assembled(parts, from),
	})
}

// enter adds the source of a part to entries, and checks the part. The caller holds the
// lock of the ledger.
func (s *Store) enter(ctx context.Context, p store.Part, entries map[store.Key]entry) error {
	if p.Data != nil {
		return nil
	}
	e, seen := entries[p.Key]
	if !seen {
		var err error
		if e, err = s.source(ctx, p.Key, p.Version); err != nil {
			return err
		}
		entries[p.Key] = e
	}
	if !p.Version.IsZero() && p.Version != e.info.Version {
		return fmt.Errorf("rehearsal: %s: %w", p.Key, store.ErrConflict)
	}
	return p.Within(e.info.Size)
}

func (s *Store) patch(ctx context.Context, c store.Change) (store.Version, error) {
	// The value is built later, when the caller may have changed its bytes.
	patches := slices.Clone(c.Patches)
	held := int64(0)
	for i, p := range patches {
		patches[i].Data = slices.Clone(p.Data)
		held += int64(len(p.Data))
	}
	return s.rewrite(ctx, c, held, func(older reads) reads { return patched(patches, older) })
}

// reads appends n bytes of a value from offset off on to dst.
type reads func(ctx context.Context, off, n int64, dst []byte) ([]byte, error)

// assembled reads a value that is made of parts, with the readers of their sources.
func assembled(parts []store.Part, from map[store.Key]reads) reads {
	return func(ctx context.Context, off, n int64, dst []byte) (_ []byte, err error) {
		for _, p := range parts {
			size := p.N
			if p.Data != nil {
				size = int64(len(p.Data))
			}
			first, end := max(0, off), min(size, off+n) // within the part
			off -= size
			switch {
			case first >= end:
				continue
			case p.Data != nil:
				dst = append(dst, p.Data[first:end]...)
			default:
				if dst, err = from[p.Key](ctx, p.Off+first, end-first, dst); err != nil {
					return nil, err
				}
			}
		}
		return dst, nil
	}
}

// patched reads a value with patches applied.
func patched(patches []store.Patch, older reads) reads {
	return func(ctx context.Context, off, n int64, dst []byte) ([]byte, error) {
		at := len(dst)
		dst, err := older(ctx, off, n, dst)
		if err != nil {
			return nil, err
		}
		for _, p := range patches {
			from, to := max(off, p.Off), min(off+n, p.Off+int64(len(p.Data)))
			if from < to {
				copy(dst[at+int(from-off):], p.Data[from-p.Off:to-p.Off])
			}
		}
		return dst, nil
	}
}

// rewrite replaces the version of the condition by the result of change, which keeps held
// bytes in memory. The older version is read only when the new one is. So a small change
// of a large value reads nothing.
func (s *Store) rewrite(ctx context.Context, c store.Change, held int64, change func(older reads) reads) (store.Version, error) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	old, err := s.may(ctx, c.Key, &c.If)
	if err != nil {
		return store.Version{}, err
	}
	n, err := c.Size(old.info.Size)
	if err != nil {
		return store.Version{}, fmt.Errorf("rehearsal: %s: %w", c.Key, err)
	}
	return s.ledger.change(c.Key, &entry{
		info: store.Info{Size: n}, was: old.was, exists: true, held: held + old.held, part: change(s.older(c.Key, old)),
	})
}

// older reads the present version of a value, old, also after it was replaced. The caller
// holds the lock of the ledger.
func (s *Store) older(key store.Key, old entry) reads {
	if _, changed := s.ledger.entries[key]; !changed {
		return s.reading(key, old.info)
	}
	return func(ctx context.Context, off, n int64, dst []byte) ([]byte, error) {
		return old.read(ctx, key, store.Request{Range: store.Span(off, n)}, dst)
	}
}

// clone reads the source only when the clone is read.
func (s *Store) clone(ctx context.Context, c store.Change) (store.Written, error) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	old, err := s.source(ctx, c.Source, c.SourceVersion)
	if err != nil {
		return store.Written{}, err
	}
	now, err := s.may(ctx, c.Key, nil)
	if err != nil {
		return store.Written{}, err
	}
	fresh := old
	if fresh.was = now.was; !old.kept {
		fresh.part = s.older(c.Source, old)
	}
	v, err := s.ledger.change(c.Key, &fresh)
	if err != nil {
		return store.Written{}, err
	}
	made := store.Written{Version: v, Source: old.info.Version, Size: old.info.Size}
	if c.Key == c.Source {
		made.Source = v
	}
	return made, nil
}

// source returns the entry of a key that must be of version from. A zero from permits any
// version. The caller holds the lock of the ledger.
func (s *Store) source(ctx context.Context, key store.Key, from store.Version) (entry, error) {
	if !from.IsZero() {
		cond := store.IfVersion(from)
		return s.may(ctx, key, &cond)
	}
	e, exists, err := s.present(ctx, key)
	if err == nil && !exists {
		err = fmt.Errorf("rehearsal: %s: %w", key, fs.ErrNotExist)
	}
	return e, err
}

// reading reads a version of a value from the store below.
func (s *Store) reading(key store.Key, version store.Info) reads {
	return func(ctx context.Context, off, n int64, dst []byte) ([]byte, error) {
		at := len(dst)
		dst, info, err := s.below.Get(ctx, key, store.Request{Range: store.Span(off, n)}, dst)
		switch {
		case err != nil:
			return nil, err
		case info.Version != version.Version || int64(len(dst)-at) != n:
			return nil, fmt.Errorf("%w: another program replaced the value during the dry run", store.ErrConflict)
		}
		return dst, nil
	}
}

// Rework records, without reading the value, that a value is read, changed in part, and
// written again. It assumes that the length does not change. Reading the new value is an
// error. coded is the number of bytes that the change would decode and encode again.
//
// Rework records nothing and returns false if there is no such value, or if the rehearsal
// has it in memory and the caller can change it as usual.
func (s *Store) Rework(ctx context.Context, key store.Key, coded int64) (noted bool, err error) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	e, exists, err := s.present(ctx, key)
	if err != nil || !exists || e.kept {
		return false, err
	}
	if _, err := s.ledger.change(key, &entry{info: store.Info{Size: e.info.Size}, was: e.was, exists: true}); err != nil {
		return false, err
	}
	u := &s.ledger.unread
	u.Values, u.Stored, u.Coded = u.Values+1, u.Stored+e.info.Size, u.Coded+coded
	return true, nil
}

// Batch implements [store.Batcher].
func (s *Store) Batch(ctx context.Context, _ store.Durability) (store.Batch, error) {
	return batch{s}, ctx.Err()
}

// batch writes immediately, and Commit does nothing.
type batch struct{ *Store }

func (b batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return b.Store.Write(ctx, c, store.Flush)
}

func (b batch) Commit(ctx context.Context) error { return ctx.Err() }
func (b batch) Discard()                         {}
