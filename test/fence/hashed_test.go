// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// hashed is an object store whose versions are hashes of the values, as ETags may be.
// Equal bytes have equal versions.
type hashed struct {
	*memstore.Store
	mu *sync.Mutex // makes check and write one step
}

func newHashed() hashed { return hashed{memstore.New(), new(sync.Mutex)} }

func hashOf(value []byte) store.Version {
	sum := sha256.Sum256(value)
	return store.MakeVersion(hex.EncodeToString(sum[:8]))
}

func (h hashed) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	whole, info, err := h.Store.Get(ctx, key, store.Request{}, nil)
	if err != nil {
		return nil, info, err
	}
	out, _, err := h.Store.Get(ctx, key, q, dst)
	info.Version = hashOf(whole)
	return out, info, err
}

func (h hashed) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	_, info, err := h.Get(ctx, key, store.Request{}, nil)
	return info, err
}

func (h hashed) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	_, err := h.Store.Put(ctx, key, value, d)
	return hashOf(value), err
}

func (h hashed) PutIf(ctx context.Context, key store.Key, value []byte, c store.Condition, d store.Durability) (store.Version, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.holds(ctx, key, c); err != nil {
		return store.Version{}, err
	}
	return h.Put(ctx, key, value, d)
}

func (h hashed) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.holds(ctx, key, store.IfVersion(v)); err != nil {
		return err
	}
	return h.Delete(ctx, key)
}

func (h hashed) holds(ctx context.Context, key store.Key, c store.Condition) error {
	info, err := h.Stat(ctx, key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !c.Holds(info.Version, err == nil) {
		return fmt.Errorf("%s: %w", key, store.ErrConflict)
	}
	return nil
}
