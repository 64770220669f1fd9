// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"sync"

	"varve.dev/zarr/store"
)

// versioned is a batch that knows the version of every value that it has stored. If
// several processes make the same chunk, the version that is found afterwards may be that
// of another one, which has made it of older elements. It asks whether the process may
// still store values, just before each.
type versioned struct {
	store.Store
	durability store.Durability
	held       func(context.Context) error // nil if it may in any case

	mu   sync.Mutex
	made map[store.Key]Digest
}

func (b *versioned) mayStore(ctx context.Context) error {
	if b.held == nil {
		return nil
	}
	return b.held(ctx)
}

func (b *versioned) note(key store.Key, v store.Version, err error) error {
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made[key] = digestIf(v)
	return nil
}

// of returns the digest of the version of a value, and whether it was stored.
func (b *versioned) of(key store.Key) (Digest, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.made[key]
	return d, ok
}

// Put implements [store.Batch].
func (b *versioned) Put(ctx context.Context, key store.Key, value []byte) error {
	if err := b.mayStore(ctx); err != nil {
		return err
	}
	v, err := store.Put(ctx, b.Store, key, value, b.durability)
	return b.note(key, v, err)
}

// Delete implements [store.Batch].
func (b *versioned) Delete(ctx context.Context, key store.Key) error {
	if err := b.mayStore(ctx); err != nil {
		return err
	}
	return store.Delete(ctx, b.Store, key)
}

// Clone implements [store.CloningBatch].
func (b *versioned) Clone(ctx context.Context, key, source store.Key, from store.Version) (store.Cloned, error) {
	if err := b.mayStore(ctx); err != nil {
		return store.Cloned{}, err
	}
	c, err := store.Clone(ctx, b.Store, key, source, from, 0, b.durability)
	return c, b.note(key, c.Version, err)
}

// Assemble implements [store.AssemblingBatch].
func (b *versioned) Assemble(ctx context.Context, key store.Key, parts []store.Part) error {
	if err := b.mayStore(ctx); err != nil {
		return err
	}
	v, err := store.Assemble(ctx, b.Store, key, parts, 0, b.durability)
	return b.note(key, v, err)
}

// Gather implements [store.GatheringBatch].
func (b *versioned) Gather(ctx context.Context, key store.Key, from store.Store, parts []store.Part) error {
	if err := b.mayStore(ctx); err != nil {
		return err
	}
	v, err := store.Gather(ctx, b.Store, key, from, parts, b.durability)
	return b.note(key, v, err)
}

// CopyFrom implements [store.CopyingBatch].
func (b *versioned) CopyFrom(ctx context.Context, key store.Key, from store.Store, source store.Key) (int64, error) {
	c, ok := store.As[store.Copier](b.Store)
	if !ok {
		return 0, store.ErrUnsupported
	}
	if err := b.mayStore(ctx); err != nil {
		return 0, err
	}
	n, v, err := c.CopyFrom(ctx, key, from, source, b.durability)
	return n, b.note(key, v, err)
}

// Commit implements [store.Batch]. Every value is durable already.
func (b *versioned) Commit(context.Context) error { return nil }

// Discard implements [store.Batch].
func (b *versioned) Discard() {}
