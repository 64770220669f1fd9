// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

type referencesKey struct{}

// WithReferences returns a context in which chunks that are copied to a session from a
// store of references, such as a manifest of package virtual, become virtual chunks: the
// repository names the bytes where they are. Chunks without a file are copied. An object
// that is modified after this call, unless its version is known, is not the one that is
// referenced.
func WithReferences(ctx context.Context) context.Context {
	return context.WithValue(ctx, referencesKey{}, time.Now())
}

// referring is a store whose chunks are references of a repository.
type referring interface {
	referenceAt(ctx context.Context, key store.Key) (*Repository, format.ChunkRef, error)
	// origin says what its chunks depend on.
	origin() beginning
}

// origin implements referring.
func (s *Snapshot) origin() beginning { return beginning{sources: []ID{s.ID()}} }

// origin implements referring.
func (s *Session) origin() beginning {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o := s.began
	o.sources = slices.Clone(o.sources)
	return o
}

// referenceAt implements referring.
func (s *Snapshot) referenceAt(ctx context.Context, key store.Key) (*Repository, format.ChunkRef, error) {
	at := s.split(key.String())
	index, ok := s.chunkIndex(at)
	if !ok {
		return nil, format.ChunkRef{}, missing(key)
	}
	ref, err := s.reference(ctx, at.node, index)
	return s.repository, ref, err
}

// referenceAt implements referring.
func (s *Session) referenceAt(ctx context.Context, key store.Key) (*Repository, format.ChunkRef, error) {
	s.mu.RLock()
	at := s.place(key)
	s.reads.note(at)
	if !at.chunk {
		s.mu.RUnlock()
		return nil, format.ChunkRef{}, missing(key)
	}
	find := s.finder(key, at)
	s.mu.RUnlock()
	ref, err := find(ctx)
	return s.repository, ref, err
}

// Stored returns the store and the key of the object that a chunk is, so that a service
// can copy it. If the chunk has no object of its own in the repository, the error wraps
// [store.ErrUnsupported].
func (s *Snapshot) Stored(ctx context.Context, key store.Key) (store.Store, store.Key, error) {
	return stored(ctx, s, key)
}

// Stored is as [Snapshot.Stored].
func (s *Session) Stored(ctx context.Context, key store.Key) (store.Store, store.Key, error) {
	return stored(ctx, s, key)
}

func stored(ctx context.Context, s referring, key store.Key) (store.Store, store.Key, error) {
	r, ref, err := s.referenceAt(ctx, key)
	if err != nil {
		return nil, store.Key{}, fmt.Errorf("%s: %w", key, err)
	}
	if ref.Payload != format.Native || ref.Offset != 0 {
		return nil, store.Key{}, fmt.Errorf("%s: %w: the chunk is no object of the repository", key, store.ErrUnsupported)
	}
	at := r.root.MustKey(chunkObject(ref.ID))
	info, err := store.Stat(ctx, r.store, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// A missing chunk would be read as the fill value.
		return nil, store.Key{}, fmt.Errorf("%s: %w: the chunk object %s does not exist", key, format.ErrDamaged, at)
	case err == nil && info.Size != int64(ref.Length):
		err = fmt.Errorf("%s: %w: the chunk is a part of an object", key, store.ErrUnsupported)
	}
	return r.store, at, err
}

// copied returns the reference of a copy of a chunk. Within a repository it is that of
// the source. In the context of [WithReferences] it may lead to a file. Otherwise the
// store copies the object, or the error wraps [store.ErrUnsupported].
func (s *Session) copied(ctx context.Context, c store.Change, put putFunc) (*format.ChunkRef, error) {
	if from, ok := store.Driver(c.From).(referring); ok {
		r, ref, err := from.referenceAt(ctx, c.Source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Source, err)
		}
		if r.isSame(s.repository) {
			o := from.origin()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.began.add(o)
			return &ref, nil
		}
		if c.From, c.Source, err = stored(ctx, from, c.Source); err != nil {
			return nil, err
		}
	} else if since, ok := ctx.Value(referencesKey{}).(time.Time); ok {
		return s.virtualAt(ctx, c, since)
	}
	if !store.Can(s.repository.store, store.OpCopy) {
		return nil, fmt.Errorf("%s: %w: the store copies nothing", c.Key, store.ErrUnsupported)
	}
	info, err := store.Stat(ctx, c.From, c.Source)
	if err != nil {
		return nil, err
	}
	if info.Size <= int64(s.inline) {
		return nil, fmt.Errorf("%s: %w: the bytes of a short chunk are in its reference", c.Key, store.ErrUnsupported)
	}
	id := newID()
	made, err := put(ctx, store.Copy(s.repository.root.MustKey(chunkObject(id)), c.From, c.Source))
	if err != nil {
		return nil, err
	}
	return &format.ChunkRef{Payload: format.Native, ID: id, Length: uint64(made.Size)}, nil
}

// write makes a change in the store of the repository. A copy that the store cannot make
// is an error, and never reads the object.
func (r *Repository) write(ctx context.Context, c store.Change) (store.Written, error) {
	if w, ok := r.store.(store.Writer); ok && c.Op == store.OpCopy {
		return w.Write(ctx, c, r.durability)
	}
	return store.Write(ctx, r.store, c, r.durability)
}

// isSame reports whether two repositories are one place.
func (r *Repository) isSame(o *Repository) bool {
	at := store.TraitsOf(r.store).Place
	return r == o || r.root == o.root && at != "" && at == store.TraitsOf(o.store).Place
}

// virtualAt returns the reference to the bytes that a store of references shows. Without
// an ETag or a time of its own, the object has to be older than since.
func (s *Session) virtualAt(ctx context.Context, c store.Change, since time.Time) (*format.ChunkRef, error) {
	at, err := virtual.Locate(ctx, c.From, c.Source)
	if err != nil {
		return nil, err
	}
	if at.Length == 0 {
		return nil, fmt.Errorf("%s: %w: a virtual chunk of no bytes", c.Key, store.ErrUnsupported)
	}
	ref := &format.ChunkRef{Payload: format.Virtual, Location: []byte(at.Location), Offset: uint64(at.Offset), Length: uint64(at.Length)}
	etag, ok := etagOf(at.Version)
	switch {
	case ok:
		ref.ETag = []byte(etag)
	case !at.Modified.IsZero():
		ref.Modified = wholeSeconds(at.Modified)
	default:
		ref.Modified = wholeSeconds(since)
	}
	return ref, nil
}

// wholeSeconds returns a time in seconds since 1970. It rounds up: the reference refuses
// an object that is younger by a part of a second.
func wholeSeconds(t time.Time) uint32 {
	n := t.Unix()
	if t.Nanosecond() > 0 {
		n++
	}
	return uint32(n)
}

// putFunc makes a change that stores an object under a name that nothing has: [store.Put]
// or [store.Copy].
type putFunc func(ctx context.Context, c store.Change) (store.Written, error)

// Batch implements [store.Batcher]. The objects of its chunks become durable together.
func (s *Session) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	below, err := store.NewBatch(ctx, s.repository.store, s.repository.durability)
	if err != nil {
		return nil, err
	}
	return &batch{session: s, below: below, durability: d}, nil
}

// batch is a batch of a session.
type batch struct {
	session    *Session
	below      store.Batch
	durability store.Durability // of what is kept aside
	isOver     bool
}

// Can implements [store.Batch].
func (b *batch) Can(op store.Op) bool { return b.session.Can(op) }

// Write implements [store.Batch].
func (b *batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return b.session.write(ctx, c, b.durability, b.below.Write)
}

// Commit implements [store.Batch].
func (b *batch) Commit(ctx context.Context) error {
	b.isOver = true
	err := b.below.Commit(ctx)
	if err != nil {
		b.session.mu.Lock()
		defer b.session.mu.Unlock()
		if b.session.failed = err; b.session.stored != nil {
			b.session.stored.clear()
		}
	}
	return err
}

// Discard implements [store.Batch]. The session has the changes and may publish them, so
// they become durable all the same. After Commit there is nothing left to do.
func (b *batch) Discard() {
	if !b.isOver {
		_ = b.Commit(context.Background())
	}
}
