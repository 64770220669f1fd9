// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"context"
	"slices"

	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// InnerCodecs implements [coding.Divider].
func (c *coder) InnerCodecs() []metadata.Extension { return c.inner }

// Places implements [coding.Divider].
func (c *coder) Places(ctx context.Context, w *coding.Work, shape []int64, src coding.Source) (*coding.Places, error) {
	l, err := c.layout(shape)
	if err != nil {
		return nil, err
	}
	d := &decoder{coder: c, layout: l, ctx: ctx, work: w}
	var x *index
	err = c.retry(src, func() (err error) {
		x, err = d.currentIndex(src)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := (&editor{coder: c, layout: l, old: x}).checkSound(); err != nil {
		return nil, err
	}
	p := &coding.Places{Info: x.info, Offsets: make([]int64, l.n), Lengths: make([]int64, l.n)}
	p.Chunks = l.chunks
	for k := range l.n {
		off, n, stored, err := x.span(k)
		if err != nil {
			return nil, d.fail(k, err)
		}
		if p.Offsets[k], p.Lengths[k] = off, n; !stored {
			p.Lengths[k] = -1
		}
	}
	return p, nil
}

// currentIndex returns the index of the present version of a shard.
func (d *decoder) currentIndex(src coding.Source) (*index, error) {
	x, tail, err := d.indexFrom(src)
	defer tail.buffer.Put()
	if err != nil || tail.data != nil {
		return x, err
	}
	// An index from the cache may be stale. This read fails if it is.
	_, _, err = src.Read(d.ctx, store.Request{Range: store.Span(0, 0)}, nil)
	return x, err
}

// Arrange implements [coding.Divider].
func (c *coder) Arrange(shape []int64, a *coding.Arrangement, place func(k int64) (rank uint64, n int64)) error {
	l, err := c.layout(shape)
	if err != nil {
		return err
	}
	a.Chunks = l.chunks
	x, ranks := newIndex(l), make([]uint64, l.n)
	a.Order = make([]uint32, 0, l.n)
	err = (&editor{coder: c, layout: l}).each(func(k int64) error {
		rank, n := place(k)
		if n < 0 {
			return nil
		}
		if n > l.most {
			return l.fail(k, corrupt("it has %s, an inner chunk has at most %d", quantity.Count(n, "bytes"), l.most))
		}
		ranks[k], x.entries[2*k+1] = rank, uint64(n)
		a.Order = append(a.Order, uint32(k))
		return nil
	})
	if err != nil {
		return err
	}
	// The sort is stable, so inner chunks of one rank keep the order of the
	// configuration.
	slices.SortStableFunc(a.Order, func(k, m uint32) int { return cmp.Compare(ranks[k], ranks[m]) })
	// Offsets follow from the lengths, because the arranged shard has no gaps.
	size := uint64(0)
	if c.atStart {
		size = uint64(l.index)
	}
	for _, k := range a.Order {
		x.entries[2*k] = size
		size += x.entries[2*k+1]
	}
	raw, err := c.encodeIndex(nil, l, x)
	if c.atStart {
		a.Head = raw
	} else {
		a.Tail = raw
	}
	return err
}
