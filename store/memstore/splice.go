// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

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
	data, err := v.splice(key, fragments)
	if err != nil {
		return store.Version{}, err
	}
	return s.set(ctx, key, data, onlyIf(store.IfVersion(from)))
}

// present returns the value at key, which must be of version from.
func (s *Store) present(ctx context.Context, key store.Key, from store.Version) (value, error) {
	v, err := s.lookup(ctx, key)
	if errors.Is(err, fs.ErrNotExist) || err == nil && v.version != from {
		return value{}, conflict(key)
	}
	return v, err
}

// splice returns the bytes that fragments make of the value.
func (v value) splice(key store.Key, fragments []store.Fragment) ([]byte, error) {
	n, err := store.SplicedSize(int64(len(v.data)), fragments)
	if err == nil && n > math.MaxInt {
		err = fmt.Errorf("%w: %d bytes", store.ErrTooLarge, n)
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %s: %w", key, err)
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.now != v.version {
		return nil, conflict(key)
	}
	data := make([]byte, 0, n)
	for _, p := range fragments {
		if p.Data != nil {
			data = append(data, p.Data...)
		} else {
			data = append(data, v.data[p.Off:p.Off+p.N]...)
		}
	}
	return data, nil
}
