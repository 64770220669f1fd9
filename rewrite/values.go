// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"errors"
	"sync"

	"varve.dev/zarr/store"
)

// small bounds the bytes of a value that is copied through memory concurrently with
// others. Larger values are copied range by range, or one at a time.
const small = 16 << 20

// copyValues runs step 3.
func (c *copier) copyValues(ctx context.Context) error {
	v := c.newValues()
	return v.end(ctx, c.each(ctx, v.copy))
}

// values copies values.
type values struct {
	batches
	c     *copier
	large sync.Mutex // held while a large value is in memory
	pool  sync.Pool  // of *[]byte
}

func (c *copier) newValues() *values {
	return &values{c: c, batches: batches{s: c.to, d: c.Durability}}
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
func (v *values) between(ctx context.Context, to, from store.Key) (n int64, err error) {
	err = v.do(ctx, func(b store.Batch) (err error) {
		n, err = store.BatchCopy(ctx, b, to, v.c.from, from)
		if errors.Is(err, store.ErrUnsupported) {
			// The destination cannot copy the value itself, so it passes through memory.
			n, err = v.throughMemory(ctx, b, to, from)
		}
		return err
	})
	if err == nil {
		v.c.spelled.add(v.c.goal.Rel(to))
	}
	return n, err
}

func (v *values) throughMemory(ctx context.Context, b store.Batch, to, from store.Key) (int64, error) {
	buffer, ok := v.pool.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer v.pool.Put(buffer)
	value, _, err := v.c.from.Get(ctx, from, store.Request{Limit: small}, (*buffer)[:0])
	if errors.Is(err, store.ErrTooLarge) {
		return v.copyLarge(ctx, b, to, from)
	}
	if err != nil {
		return 0, err
	}
	*buffer = value
	return int64(len(value)), b.Put(ctx, to, value)
}

// copyLarge copies a value range by range, or, to a store that cannot write it so, while
// no other large one is in memory.
func (v *values) copyLarge(ctx context.Context, b store.Batch, to, from store.Key) (int64, error) {
	info, err := store.Stat(ctx, v.c.from, from)
	if err != nil {
		return 0, err
	}
	err = store.BatchGather(ctx, b, to, v.c.from, []store.Part{{Key: from, Version: info.Version, N: info.Size}})
	if !errors.Is(err, store.ErrUnsupported) {
		return info.Size, err
	}
	v.large.Lock()
	defer v.large.Unlock()
	value, _, err := v.c.from.Get(ctx, from, store.Request{}, nil)
	if err != nil {
		return 0, err
	}
	return int64(len(value)), b.Put(ctx, to, value)
}
