// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"

	"varve.dev/zarr/store"
)

// nearStore is a store of references that lead only to files near by. It is a
// [store.Opener], by which readers know that a request takes almost no time: they read
// parts of chunks where that is less, and no more than they need.
type nearStore struct{ *Store }

// shows is a store of references, near or far.
type shows interface{ references() *Store }

func (s *Store) references() *Store { return s }

// referencesOf returns the references that a store shows, or nil if it is another one.
func referencesOf(s store.Store) *Store {
	if v, ok := store.As[shows](s); ok {
		return v.references()
	}
	return nil
}

// near reports whether all places where references may lead are near: the folder of the
// manifest, and what the reader has allowed.
func (s *sites) near() bool {
	if _, ok := store.As[store.Opener](s.home); !ok {
		return false
	}
	for _, p := range s.allow {
		if p.scheme != "file" {
			return false
		}
	}
	return true
}

// Open implements [store.Opener].
func (s nearStore) Open(ctx context.Context, key store.Key) (store.Object, error) {
	v, err := s.found(ctx, key)
	if err != nil {
		return nil, err
	}
	if v.bytes != nil {
		return &object{found: v, store: s.Store}, nil
	}
	from, err := s.sources.of(v.source.Location)
	if err != nil {
		return nil, s.explain(v.source, err)
	}
	file, err := store.Open(ctx, from.store, from.key)
	if err == nil {
		if err = v.source.check(file.Info(), from.times()); err != nil {
			_ = file.Close() // nothing was written
		}
	}
	if err != nil {
		return nil, s.explain(v.source, err)
	}
	return &object{v, s.Store, file}, nil
}

// object is an open chunk.
type object struct {
	found
	store *Store
	file  store.Object // its source; nil if it has none
}

// Info implements [store.Object].
func (o *object) Info() store.Info { return o.info() }

// Read implements [store.Object].
func (o *object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	off, n, err := q.Resolve(o.size())
	if err != nil {
		return nil, err
	}
	if o.file == nil {
		return append(dst, o.bytes[off:off+n]...), ctx.Err()
	}
	at := int64(o.ref.offset) + off
	out, err := o.file.Read(ctx, store.Request{Range: store.Span(at, n)}, dst)
	if err == nil {
		err = whollyRead(int64(len(out)-len(dst)), n, at)
	}
	if err != nil {
		return nil, o.store.explain(o.source, err)
	}
	return out, nil
}

// Close implements [store.Object].
func (o *object) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
