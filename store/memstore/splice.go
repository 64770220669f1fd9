// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/store"
)

// Splice implements [store.Splicer]. It builds the new value without holding the lock of
// the store.
func (s *Store) Splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, _ store.Durability,
) (store.Version, error) {
	v, err := s.present(ctx, key, from)
	if err != nil {
		return store.Version{}, err
	}
	var data []byte
	n, err := store.SplicedSize(int64(len(v.data)), fragments)
	if err == nil {
		data, err = build(n, store.PartsOf(key, from, fragments), map[store.Key]value{key: v})
	}
	if err != nil {
		return store.Version{}, fmt.Errorf("memory: %s: %w", key, err)
	}
	return s.set(ctx, key, &storage{data: data}, onlyIf(store.IfVersion(from)))
}

// present returns the value at key, which must be of version from.
func (s *Store) present(ctx context.Context, key store.Key, from store.Version) (value, error) {
	v, err := s.lookup(ctx, key)
	if errors.Is(err, fs.ErrNotExist) || err == nil && v.version != from {
		return value{}, conflict(key)
	}
	return v, err
}
