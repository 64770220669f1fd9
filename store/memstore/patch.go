package memstore

import (
	"context"
	"fmt"
	"time"

	"varve.dev/zarr/store"
)

// Patch implements [store.Patcher]. It copies nothing but the bytes of the patches, and
// waits for those who are reading the value, as others wait for it; the rest of the store
// goes on meanwhile.
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
	if !s.renew(key, v) {
		return store.Version{}, conflict(key)
	}
	for _, p := range patches {
		copy(v.data[p.Off:], p.Data)
	}
	return v.now, nil
}

// renew gives the value at key a new version, if it still is v. From then on no other
// write finds the old version; who reads the new one waits for the lock of the storage,
// which the caller has, and sees the patches.
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
