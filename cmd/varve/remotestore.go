package main

import (
	"context"
	"iter"

	"varve.dev/zarr/store"
)

// nodeStore shows what is below a node as a store of its own, for reading.
type nodeStore struct {
	store.Store
	path store.Path
}

// openNodeStore opens the place that a location names, a node or not.
func openNodeStore(ctx context.Context, location string) (*nodeStore, error) {
	s, p, err := store.OpenLocation(ctx, location, store.Read)
	if err != nil {
		return nil, err
	}
	return &nodeStore{s, p}, nil
}

// Close closes the store.
func (s *nodeStore) Close() error {
	if c, ok := s.Store.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}

func (s *nodeStore) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return s.Store.Get(ctx, s.path.MustKey(key.String()), q, dst)
}

// Stat implements [store.Stater].
func (s *nodeStore) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return store.Stat(ctx, s.Store, s.path.MustKey(key.String()))
}

// List implements [store.Lister].
func (s *nodeStore) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	p, err := s.path.Join(dir.String())
	if err != nil {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, err) }
	}
	return store.List(ctx, s.Store, p, deep)
}
