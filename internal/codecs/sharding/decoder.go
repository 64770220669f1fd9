// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"context"
	"fmt"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/placement"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/observe"
)

// EncodedSize implements [codec.ArrayBytes].
func (c *coder) EncodedSize(shape []int64, n int64) (size int64, fixed bool) {
	l, err := c.layout(shape)
	if err != nil {
		return n, false
	}
	return l.packed, false
}

// Decode implements [codec.ArrayBytes].
func (c *coder) Decode(dst *codec.Block, src []byte) error {
	into := strided.Contiguous(dst.Data, dst.Shape, int(c.size))
	into.Heap = dst.Heap
	return c.DecodePart(context.Background(), new(coding.Work), coding.Extract{
		Shape: dst.Shape, Part: wholePart(dst.Shape), Into: into,
	}, coding.Stored(src))
}

// decoder decodes inner chunks of one shard into an extract.
type decoder struct {
	*coder
	*layout
	coding.Extract
	ctx  context.Context
	work *coding.Work
}

// batchBytes is the approximate number of bytes of inner chunks that a goroutine takes
// from the plan at once. With larger batches, the lock costs less.
const batchBytes = 64 << 10

// decodeStored decodes a part of a shard that is in memory. The caller holds a core.
func (d *decoder) decodeStored(shard []byte) error {
	x, err := d.indexOf(d.layout, shard)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	plan := subset.NewPlan(subset.OfPart(d.Extract.Part), d.grid)
	touched := plan.Chunks()
	size := max(1, min(batchBytes/max(1, d.layout.inner), 64, touched))
	movers := make([]*placement.Mover, size*int64(max(1, cap(d.work.Cores))))
	defer func() { d.put(movers...) }()
	return d.work.Cores.Each(d.ctx, (touched+size-1)/size, func(worker int, _ int64) error {
		batch := movers[int64(worker)*size:][:size]
		if batch[0] == nil {
			for i := range batch {
				batch[i] = d.take()
			}
		}
		// All goroutines share the plan. Take several inner chunks from it at a time.
		mu.Lock()
		n := 0
		for n < len(batch) && plan.Next(batch[n].Visit) {
			n++
		}
		mu.Unlock()
		for _, p := range batch[:n] {
			k := d.number(p.Chunk)
			d.grid.Cell(p.Chunk, p.Cell)
			p.Into(d.Extract.Into)
			if err := d.decodeAt(p, x, k, shard); err != nil {
				return d.fail(k, err)
			}
		}
		return nil
	})
}

// take returns a mover, which the caller puts back. For shards with few inner chunks,
// movers would be most of the garbage.
func (c *coder) take() *placement.Mover {
	if p, ok := c.movers.Get().(*placement.Mover); ok {
		return p
	}
	return placement.NewMover(c.spec.Rank, int(c.size))
}

// put puts back movers, except nil ones. It drops their references to elements.
func (c *coder) put(movers ...*placement.Mover) {
	for _, p := range movers {
		if p != nil {
			p.Decoded.Data, p.Taken.Data, p.Target.Data = nil, nil, nil
			p.Decoded.Heap, p.Taken.Heap, p.Target.Heap = nil, nil, nil
			c.movers.Put(p)
		}
	}
}

// decodeAt decodes the part p of inner chunk k from a shard in memory.
func (d *decoder) decodeAt(p *placement.Mover, x *index, k int64, shard []byte) error {
	off, n, stored, err := x.span(k)
	switch {
	case err != nil:
		return err
	case stored:
		return d.decodeInner(p, shard[off:off+n:off+n])
	}
	d.fill(p)
	return nil
}

// fill sets the elements of p to the fill value.
func (d *decoder) fill(p *placement.Mover) {
	if !d.Zeroed || !strided.AllEqual(d.filler, []byte{0}) {
		p.Blank(d.filler)
	}
}

// decodeInner decodes the part p of an inner chunk from src.
func (d *decoder) decodeInner(p *placement.Mover, src []byte) error {
	// A nested shard reads only the inner chunks that the part needs.
	if d.chain.Divided() {
		return d.chain.DecodePart(d.ctx, d.work, coding.Extract{Shape: p.Cell.Encoded, Part: p.Part, Into: p.Target}, coding.Stored(src))
	}
	start := d.work.Begin()
	err := d.decodeOne(p, src)
	d.work.Coded(d.ctx, observe.Decode, d.bytes(p.Cell.Encoded), start, err)
	return err
}

// decodeOne is decodeInner of an inner chunk that is not a shard itself.
func (d *decoder) decodeOne(p *placement.Mover, src []byte) error {
	p.Decoded.Shape = p.Cell.Encoded
	if d.chain.Varies() {
		// Retry with more memory until the elements fit.
		return d.work.Grow(d.ctx, d.chain, d.bytes(p.Cell.Encoded), src, func(room int64) error { return d.decodeTo(p, src, room) })
	}
	// Elements that are stored unchanged are moved without a buffer.
	if shown, err := d.chain.Alias(&p.Decoded, src); err != nil {
		return err
	} else if shown {
		p.Gather()
		return nil
	}
	return d.decodeTo(p, src, 0)
}

// decodeTo decodes the part p of an inner chunk from src. Elements that differ in length
// may have room bytes.
func (d *decoder) decodeTo(p *placement.Mover, src []byte, room int64) error {
	// A whole inner chunk is decoded to its place, without a buffer.
	if place, ok := p.Target.Bytes(); ok && p.IsWhole() && d.chain.InOrder() {
		heap := p.Target.Heap
		if heap != nil {
			heap = heap.Within(room)
		}
		p.Show(place, heap)
		return d.chain.Decode(&p.Decoded, src)
	}
	n := d.bytes(p.Cell.Encoded)
	b := budget.Get(n)
	defer b.Put()
	p.Show(b.Bytes(n), d.heap.New().Limited(room))
	defer p.Decoded.Heap.Release() // its elements are copied to the place of the part, or shared with it
	if err := d.chain.DecodeWithin(&p.Decoded, p.Part, src); err != nil {
		return err
	}
	p.Gather()
	return d.chain.CheckRoom(p.Target.Heap)
}

// decodes returns an error if src does not decode to the inner chunk of p. Otherwise it
// calls use while p shows the elements, if they have one width.
func (c *coder) decodes(ctx context.Context, w *coding.Work, p *placement.Mover, src []byte, use func()) error {
	if !c.chain.Varies() {
		b, err := c.decodeWhole(ctx, w, p, src, 0)
		if err == nil {
			use()
		}
		b.Put()
		return err
	}
	return w.Grow(ctx, c.chain, c.bytes(p.Cell.Encoded), src, func(room int64) error {
		b, err := c.decodeWhole(ctx, w, p, src, room)
		b.Put()
		p.Decoded.Heap.Release() // only the error counts
		return err
	})
}

// decodeWhole decodes a whole inner chunk to a buffer, which p then shows and the caller
// puts back. Elements that differ in length may have room bytes; 0 sets no limit.
func (c *coder) decodeWhole(ctx context.Context, w *coding.Work, p *placement.Mover, src []byte, room int64) (*budget.Buffer, error) {
	n := c.bytes(p.Cell.Encoded)
	b := budget.Get(n)
	// A limit of the heap stops an inner chunk that decodes to far more than expected.
	p.Show(b.Bytes(n), c.heap.New().Limited(room))
	start := w.Begin()
	err := c.chain.Decode(&p.Decoded, src)
	if w.Coded(ctx, observe.Decode, n, start, err); err != nil {
		b.Put()
		return nil, err
	}
	return b, nil
}

// CheckInner implements [coding.Divider].
func (c *coder) CheckInner(ctx context.Context, w *coding.Work, shape, index []int64, src []byte) error {
	l, err := c.layout(shape)
	if err != nil {
		return err
	}
	p := c.take()
	defer c.put(p)
	if !l.grid.Cell(index, p.Cell) {
		return fmt.Errorf("no inner chunk %v in a shard of %v", index, l.chunks)
	}
	return l.fail(l.number(index), c.decodes(ctx, w, p, src, func() {}))
}

// corrupt returns a [codec.ErrCorrupt].
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", codec.ErrCorrupt, fmt.Sprintf(format, args...))
}
