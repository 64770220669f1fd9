// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"sync"

	"varve.dev/zarr/store"
)

// Witness is a store that notes the version of every value that is read. A version may
// change between a listing and a read and, in a store that derives versions from the
// content, change back again. So only the versions that were read count. Witness makes no
// request for values that were not listed.
type Witness struct{ store.Store }

// Unwrap implements [store.Wrapper].
func (w Witness) Unwrap() store.Store { return w.Store }

// Get implements [store.Store].
func (w Witness) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if isUnlisted(ctx, key) {
		return nil, store.Info{}, fs.ErrNotExist
	}
	out, info, err := w.Store.Get(ctx, key, q, dst)
	noteRead(ctx, key, info.Version, err)
	return out, info, err
}

// Open implements [store.Opener].
func (w Witness) Open(ctx context.Context, key store.Key) (store.Object, error) {
	if isUnlisted(ctx, key) {
		return nil, fs.ErrNotExist
	}
	o, err := store.Open(ctx, w.Store, key)
	if err != nil {
		noteRead(ctx, key, store.Version{}, err)
		return o, err
	}
	noteRead(ctx, key, o.Info().Version, nil)
	return o, err
}

// List implements [store.Lister].
func (w Witness) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, w.Store, dir, how)
}

// Stat implements [store.Stater].
func (w Witness) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return store.Stat(ctx, w.Store, key)
}

// Sightings has the versions that were read of values.
type Sightings struct {
	listed func(key store.Key) bool // nil if that is not known

	mu      sync.Mutex
	digests map[store.Key]Digest
}

type sightingsKey struct{}

// Witnessing returns a context whose reads from a [Witness] are noted. listed reports
// whether a value is probably stored; nil is that any may be.
func Witnessing(ctx context.Context, listed func(key store.Key) bool) (context.Context, *Sightings) {
	s := &Sightings{listed: listed, digests: map[store.Key]Digest{}}
	return context.WithValue(ctx, sightingsKey{}, s), s
}

// isUnlisted reports whether a value is known not to be stored.
func isUnlisted(ctx context.Context, key store.Key) bool {
	s, ok := ctx.Value(sightingsKey{}).(*Sightings)
	return ok && s.listed != nil && !s.listed(key)
}

// noteRead notes a version that was read, or that there is no value: one that was listed
// may be deleted, and stored again with the same version.
func noteRead(ctx context.Context, key store.Key, v store.Version, err error) {
	s, ok := ctx.Value(sightingsKey{}).(*Sightings)
	switch {
	case !ok:
	case err == nil:
		s.note(key, DigestOf(v))
	case errors.Is(err, fs.ErrNotExist):
		s.note(key, 0)
	}
}

func (s *Sightings) note(key store.Key, d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The elements of one task come from two versions. A record with mixedDigest is
	// stale as soon as it is compared.
	if old, found := s.digests[key]; found && old != d {
		d = mixedDigest
	}
	s.digests[key] = d
}

// Digest returns the digest of the version of a value that was read, 0 if there was
// none. It returns false if it was not read.
func (s *Sightings) Digest(key store.Key) (d Digest, read bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, read = s.digests[key]
	return d, read
}

// All yields the keys of the values that were read, with the digests of their versions.
func (s *Sightings) All() iter.Seq2[store.Key, Digest] { return maps.All(s.digests) }

// versionBatch is a batch that knows the version of every value that it has stored. If
// several processes make the same chunk, a later request may find the version of another
// process, which has made the chunk from older elements. The batch checks the lease of
// the process before it stores each value.
type versionBatch struct {
	store.Store
	durability store.Durability
	checkLease func(context.Context) error

	mu       sync.Mutex
	versions map[store.Key]Digest
}

func (b *versionBatch) note(key store.Key, v store.Version, err error) error {
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.versions[key] = digestOrZero(v)
	return nil
}

// version returns the digest of the version of a value, and whether it was stored.
func (b *versionBatch) version(key store.Key) (Digest, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.versions[key]
	return d, ok
}

// Can implements [store.Batch].
func (b *versionBatch) Can(op store.Op) bool { return store.Can(b.Store, op) }

// Write implements [store.Batch].
func (b *versionBatch) Write(ctx context.Context, c store.Change) (made store.Written, err error) {
	if c.Op == store.OpCopy && !b.Can(c.Op) {
		return made, store.ErrUnsupported
	}
	if err := b.checkLease(ctx); err != nil {
		return made, err
	}
	if b.Can(c.Op) {
		made, err = b.Store.(store.Writer).Write(ctx, c, b.durability)
	} else {
		made, err = store.Write(ctx, b.Store, c, b.durability)
	}
	if c.Op == store.OpDelete || c.Op == store.OpDeleteIf {
		return made, err
	}
	return made, b.note(c.Key, made.Version, err)
}

// Commit implements [store.Batch]. Every value is durable already.
func (b *versionBatch) Commit(context.Context) error { return nil }

// Discard implements [store.Batch].
func (b *versionBatch) Discard() {}
