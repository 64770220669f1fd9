// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/store"
)

// EncodedInner implements [coding.Divider]. It reads the index, unless it is cached, and
// the inner chunk.
func (c *coder) EncodedInner(
	ctx context.Context, w *coding.Work, shape, index []int64, src coding.Source, dst []byte,
) ([]byte, error) {
	l, err := c.layout(shape)
	if err != nil {
		return nil, err
	}
	if len(index) != len(l.chunks) || !grid.BoxOf(l.chunks).Contains(index) {
		return nil, fmt.Errorf("%w: no inner chunk %v; there are %v", grid.ErrOutOfRange, index, l.chunks)
	}
	d := &decoder{coder: c, layout: l, ctx: ctx, work: w}
	// A concurrent writer may replace the shard between reading the index and the inner
	// chunk.
	for range readTries {
		var out []byte
		if out, err = d.encoded(src, l.number(index), dst); !errors.Is(err, store.ErrConflict) {
			return out, err
		}
		c.cache.drop(src.Key())
		src.Expect(store.Info{})
	}
	return nil, err
}

// encoded appends the stored bytes of inner chunk k to dst. It returns nil if the inner
// chunk is not stored.
func (d *decoder) encoded(src coding.Source, k int64, dst []byte) ([]byte, error) {
	x, tail, err := d.indexFrom(src)
	defer tail.buffer.Put()
	if err != nil {
		return nil, err
	}
	off, n, stored, err := x.span(k)
	switch {
	case err != nil:
		return nil, d.fail(k, err)
	case !stored && tail.data != nil:
		return nil, nil // the index does not come from the cache, so it is not stale
	case dst == nil:
		dst = []byte{}
	}
	if data, ok := tail.holds(off, n); ok && tail.data != nil {
		return append(dst, data...), nil
	}
	// Read even if the inner chunk is not stored: this fails if a cached index is stale.
	out, _, err := src.Read(d.ctx, store.Request{Range: store.Span(off, n)}, dst)
	if err != nil || !stored {
		return nil, err
	}
	return out, nil
}

// indexFrom is readIndex for any source, also one in memory.
func (d *decoder) indexFrom(src coding.Source) (*index, stretch, error) {
	if shard, ok := src.(coding.Stored); ok {
		x, err := d.indexOf(d.layout, shard)
		return x, stretch{data: shard}, err
	}
	return d.readIndex(src)
}
