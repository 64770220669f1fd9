// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"

	"varve.dev/zarr/store"
)

// Clone implements [store.Cloner]. The values share their bytes until one is patched.
func (s *Store) Clone(
	ctx context.Context, key, source store.Key, from store.Version, _ store.Durability,
) (store.Cloned, error) {
	for {
		v, err := s.source(ctx, source, from)
		if err != nil {
			return store.Cloned{}, err
		}
		if !v.share() {
			// A concurrent patch changed the value after the lookup. Look it up again.
			continue
		}
		made, err := s.set(ctx, key, &storage{data: v.data, shared: true}, anyway)
		if err != nil {
			return store.Cloned{}, err
		}
		// Not the present version: a concurrent writer may have patched the source.
		of := v.version
		if key == source {
			of = made
		}
		return store.Cloned{Version: made, Source: of, Size: int64(len(v.data))}, nil
	}
}

// source returns the value at key, which must be of version from. A zero from permits
// any.
func (s *Store) source(ctx context.Context, key store.Key, from store.Version) (value, error) {
	if from.IsZero() {
		return s.lookup(ctx, key)
	}
	return s.present(ctx, key, from)
}

// share marks the bytes of the value as shared, and reports whether it has not been
// patched.
func (v value) share() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now != v.version {
		return false
	}
	v.shared = true
	return true
}
