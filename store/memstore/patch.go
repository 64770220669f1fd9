// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"
	"fmt"
	"time"

	"varve.dev/zarr/store"
)

// Patch implements [store.Patcher]. It copies only the bytes of the patches, unless a
// clone shares those of the value. It waits for the readers of the value, and later
// readers wait for it; other values are not blocked.
func (s *Store) Patch(
	ctx context.Context, key store.Key, from store.Version, patches []store.Patch, _ store.Durability,
) (store.Version, error) {
	v, err := s.present(ctx, key, from)
	if err != nil {
		return store.Version{}, err
	}
	if err := store.CheckPatches(int64(len(v.data)), patches); err != nil {
		return store.Version{}, fmt.Errorf("memory: %s: %w", key, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shared {
		// A clone has the same bytes, so change a copy.
		fresh := &storage{data: clone(v.data)}
		fresh.apply(patches)
		return s.set(ctx, key, fresh, onlyIf(store.IfVersion(from)))
	}
	if !s.renew(key, v) {
		return store.Version{}, conflict(key)
	}
	// Readers of the new version wait for the lock that is held here.
	v.apply(patches)
	return v.now, nil
}

// apply overwrites bytes. The caller holds the lock of the storage.
func (s *storage) apply(patches []store.Patch) {
	for _, p := range patches {
		copy(s.data[p.Off:], p.Data)
	}
}

// renew gives the value at key a new version if it still is v. From then on no concurrent
// write finds the old version. Readers of the new version wait for the lock of the
// storage, which the caller holds, and so see all patches.
func (s *Store) renew(key store.Key, v value) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.values[key]; now.storage != v.storage || now.version != v.version {
		return false
	}
	v.now = s.next()
	s.values[key] = value{v.storage, v.now, time.Now()}
	return true
}
