// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"errors"
	"sync"

	"varve.dev/zarr/store"
)

// small bounds the bytes of a value that is copied through memory concurrently with
// others. Larger values are copied one at a time.
const small = 16 << 20

// copyValues runs step 3.
func (c *copier) copyValues(ctx context.Context) error {
	b, err := store.NewBatch(ctx, c.to, c.Durability)
	if err != nil {
		return err
	}
	defer b.Discard()
	v := values{c: c, batch: b}
	if err := c.each(ctx, v.copy); err != nil {
		return err
	}
	return b.Commit(ctx)
}

// values copies values.
type values struct {
	c     *copier
	batch store.Batch
	large sync.Mutex // held while a large value is in memory
	pool  sync.Pool  // of *[]byte
}

// copy copies one value.
func (v *values) copy(ctx context.Context, rel string) (int64, error) {
	if v.c.seen == nil {
		return v.between(ctx, v.c.goal.MustKey(rel), v.c.at.MustKey(rel))
	}
	// Take the version before reading. checkUnchanged then detects a later write.
	info, err := store.Stat(ctx, v.c.from, v.c.at.MustKey(rel))
	if err != nil {
		return 0, err
	}
	n, err := v.between(ctx, v.c.goal.MustKey(rel), v.c.at.MustKey(rel))
	if err == nil {
		v.c.seen.add(rel, info)
	}
	return n, err
}

// between copies one value, within the store if it can.
func (v *values) between(ctx context.Context, to, from store.Key) (int64, error) {
	n, err := store.BatchCopy(ctx, v.batch, to, v.c.from, from)
	if !errors.Is(err, store.ErrUnsupported) {
		return n, err
	}
	// The destination cannot copy the value itself, so it passes through memory.
	buffer, ok := v.pool.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer v.pool.Put(buffer)
	value, _, err := v.c.from.Get(ctx, from, store.Request{Limit: small}, (*buffer)[:0])
	if errors.Is(err, store.ErrTooLarge) {
		return v.copyLarge(ctx, to, from)
	}
	if err != nil {
		return 0, err
	}
	*buffer = value
	return int64(len(value)), v.batch.Put(ctx, to, value)
}

// copyLarge copies a value while no other large one is in memory.
func (v *values) copyLarge(ctx context.Context, to, from store.Key) (int64, error) {
	v.large.Lock()
	defer v.large.Unlock()
	value, _, err := v.c.from.Get(ctx, from, store.Request{}, nil)
	if err != nil {
		return 0, err
	}
	return int64(len(value)), v.batch.Put(ctx, to, value)
}
