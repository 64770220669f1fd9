// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"iter"

	"varve.dev/zarr/store"
)

// Store is the part of a store below a node, for reading.
type Store struct {
	store.Store
	path store.Path
}

// OpenStore opens the part of a store below a location, which need not be a node.
func OpenStore(ctx context.Context, location string) (*Store, error) {
	s, p, err := store.OpenLocation(ctx, location, store.Read)
	if err != nil {
		return nil, err
	}
	return &Store{s, p}, nil
}

// Close closes the store.
func (s *Store) Close() error {
	if c, ok := s.Store.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return s.Store.Get(ctx, s.path.MustKey(key.String()), q, dst)
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return store.Stat(ctx, s.Store, s.path.MustKey(key.String()))
}

// List implements [store.Lister].
func (s *Store) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	p, err := s.path.Join(dir.String())
	if err != nil {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, err) }
	}
	return store.List(ctx, s.Store, p, deep)
}
