// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/transfer"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// readTries is the number of attempts to read a part while concurrent writers replace the
// shard.
const readTries = 32

// DecodePart implements [coding.PartialDecoder]. It reads the index, unless it is cached,
// and the inner chunks of the part; or the whole shard if that is cheaper. All bytes come
// from one version of the shard.
func (c *coder) DecodePart(ctx context.Context, w *coding.Work, p coding.Extract, src coding.Source) error {
	l, err := c.layout(p.Shape)
	if err != nil {
		// If the shard is not stored, its layout does not matter.
		if _, _, readErr := src.Read(ctx, store.Request{Range: store.Span(0, 0)}, nil); errors.Is(readErr, fs.ErrNotExist) {
			return readErr
		}
		return err
	}
	p.Part = selection.Group(p.Part, p.Shape, l.grid)
	d := &decoder{c, l, p, ctx, w}
	if shard, ok := src.(coding.Stored); ok {
		return d.decodeStored(shard)
	}
	for try := range readTries {
		if try > 0 {
			// The failed try may have decoded inner chunks of a superseded version.
			d.Zeroed = false
		}
		if err = d.read(src); !errors.Is(err, store.ErrConflict) {
			break
		}
		// The cached index may be that of a superseded version.
		c.cache.drop(src.Key())
		src.Expect(store.Info{})
	}
	// A concurrent writer deleted the shard after an earlier try had decoded some of it.
	if errors.Is(err, fs.ErrNotExist) && p.Zeroed && !d.Zeroed {
		p.Fill(c.filler)
	}
	return err
}

// Weight implements [coding.Divider].
func (c *coder) Weight(p coding.Extract, cores int) int64 {
	l, err := c.layout(p.Shape)
	if err != nil {
		return 0
	}
	return c.weight(l, p, l.likely) + int64(cores)*l.inner*int64(1+c.chain.Buffers())
}

// Fetched implements [coding.Divider].
func (c *coder) Fetched(p coding.Extract) int64 {
	l, err := c.layout(p.Shape)
	if err != nil {
		return 0
	}
	return c.weight(l, p, c.expected(l))
}

// weight estimates the bytes that are held while a part of a shard is read. encoded is
// the number of bytes of the shard.
func (c *coder) weight(l *layout, p coding.Extract, encoded int64) int64 {
	touched := min(l.n, p.Len())
	if p.Picks == nil || p.Picks.Points == nil {
		touched = selection.NewPlan(selection.OfPart(p.Part), l.grid).Chunks()
	}
	if !p.Whole && touched < l.n {
		encoded = min(encoded, max(smallShard, 2*(encoded/l.n*touched)+l.index)) // twice, for gaps that are read too
	}
	return l.index + 16*l.n + encoded
}

// smallShard is the size in bytes up to which a shard may be read whole for a small part
// of it.
const smallShard = 1 << 20

// expected estimates the bytes of a stored shard from those seen so far. The upper bound
// keeps one shard with many dead bytes from raising the estimate for all.
func (c *coder) expected(l *layout) int64 {
	return c.ratio.Expect(l.likely, l.likely, min(l.packed+l.packed/4, 2*l.likely))
}

// read reads the part from the version of src.
func (d *decoder) read(src coding.Source) error {
	if d.wantsWhole(src) {
		err := d.readWhole(src)
		if !errors.Is(err, store.ErrTooLarge) {
			return err
		}
		// The shard has so many dead bytes that reading ranges costs less.
	}
	x, tail, err := d.readIndex(src)
	defer tail.buffer.Put()
	if err != nil {
		return err
	}
	plan := selection.NewPlan(selection.OfPart(d.Extract.Part), d.grid)
	read := tail.buffer != nil // the index was not cached
	for more := true; more && err == nil; {
		var wants []want
		if wants, more, err = d.wants(x, plan); err == nil && len(wants) > 0 {
			err = d.readRanges(src, wants, tail)
			read = true
		}
	}
	if !read {
		// An index from the cache may be stale. This read fails if it is.
		_, _, readErr := src.Read(d.ctx, store.Request{Range: store.Span(0, 0)}, nil)
		return cmp.Or(readErr, err)
	}
	return err
}

// wantsWhole reports whether to read the shard in one request: if every inner chunk is
// wanted, or if the shard is small and its index is not cached.
func (d *decoder) wantsWhole(src coding.Source) bool {
	size := d.expected(d.layout)
	// The whole shard costs one request. The index and a range cost two.
	if size <= d.work.Small && d.cache.get(src.Key()) == nil {
		return true
	}
	// A shard that does not fit the memory of the call is read in ranges.
	if size > d.work.Bytes {
		return false
	}
	return d.Whole || selection.NewPlan(selection.OfPart(d.Extract.Part), d.grid).Chunks() == d.n
}

// readWhole reads the shard in one request. It returns [store.ErrTooLarge] if the shard
// has far more bytes than its inner chunks can have.
func (d *decoder) readWhole(src coding.Source) error {
	limit := min(d.packed+d.packed/4, max(d.work.Bytes, d.work.Small))
	b := budget.Get(min(mostReady, d.likely, limit)) // always one size, so that buffers are reused
	defer b.Put()
	shard, info, err := src.Read(d.ctx, store.Request{Limit: limit}, b.B)
	if err != nil {
		return err
	}
	d.ratio.Learn(info.Size, d.likely)
	if !d.Whole {
		d.keep(src, shard, info)
	}
	d.work.Cores.Enter()
	defer d.work.Cores.Leave()
	return d.decodeStored(shard)
}

// keep caches the index of a shard that was read whole.
func (d *decoder) keep(src coding.Source, shard []byte, info store.Info) {
	if x, err := d.indexOf(d.layout, shard); err == nil {
		x.info = info
		d.cache.put(src.Key(), x)
	}
}

// readIndex returns the index of the shard, from the cache or with the range that was
// read for it.
func (d *decoder) readIndex(src coding.Source) (*index, stretch, error) {
	// After trimming, the key of a shard may have an index of another shape.
	if x := d.cache.get(src.Key()); x != nil && x.bytes == d.layout.index && int64(len(x.entries)) == 2*d.n {
		// If the cached index is stale, the next read fails.
		src.Expect(x.info)
		d.work.LookedUp(d.ctx, true)
		return x, stretch{}, nil
	}
	d.work.LookedUp(d.ctx, false)
	x, tail, err := d.fetchIndex(src)
	if err == nil {
		d.cache.put(src.Key(), x)
	}
	return x, tail, err
}

// mostGuessed limits the memory that is taken for an index before the shard is known to
// exist.
const mostGuessed = 16 << 20

func (d *decoder) fetchIndex(src coding.Source) (*index, stretch, error) {
	size := d.layout.index
	q := store.Request{Range: store.Span(0, size)}
	// Also read some bytes before the index. They often hold the wanted inner chunks.
	if !d.atStart {
		size += d.work.Guess
		q.Range = store.Suffix(size)
	}
	b := budget.Get(min(size, mostGuessed))
	data, info, err := src.Read(d.ctx, q, b.B)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the shard is too short for the index of %d bytes: %w", codec.ErrCorrupt, d.layout.index, err)
	}
	d.ratio.Learn(info.Size, d.likely)
	tail := stretch{info.Size - int64(len(data)), data, b}
	if err == nil && int64(len(data)) < d.layout.index {
		err = d.tooShort(info.Size)
	}
	if err != nil {
		return nil, tail, err
	}
	raw, _ := d.cutIndex(d.layout, data)
	x, err := d.decodeIndex(d.layout, raw, info)
	if d.atStart {
		tail.off = 0
	}
	return x, tail, err
}

// readRanges reads and decodes the wants. A range has several wants, and ranges are read
// concurrently within the memory.
func (d *decoder) readRanges(src coding.Source, wants []want, tail stretch) error {
	// If one range holds all wants, no goroutine is needed.
	if n, stop := d.group(wants); n == len(wants) {
		return d.readGroup(src, wants, stop, tail)
	}
	workers, ctx := parallel.New(d.ctx)
	workers.SetLimit(max(1, d.work.Requests))
	room := budget.New(d.work.Bytes)
	each := *d
	each.ctx = ctx
	for len(wants) > 0 {
		n, stop := d.group(wants)
		group := wants[:n]
		wants = wants[n:]
		weight, err := room.Acquire(ctx, stop-group[0].off)
		if err != nil {
			break // a worker failed and cancelled ctx
		}
		workers.Go(func() error {
			defer room.Release(weight)
			return each.readGroup(src, group, stop, tail)
		})
	}
	return workers.Wait(nil)
}

// readGroup reads the range of the wants, which ends at stop, unless tail holds it, and
// decodes them.
func (d *decoder) readGroup(src coding.Source, group []want, stop int64, tail stretch) error {
	off := group[0].off
	// The range that was read for the index may hold the group.
	if data, ok := tail.holds(off, stop-off); ok {
		return d.decodeGroup(stretch{off: off, data: data}, group)
	}
	b := budget.Get(stop - off)
	defer b.Put()
	data, _, err := src.Read(d.ctx, store.Request{Range: store.Span(off, stop-off)}, b.B)
	if err != nil {
		return err
	}
	d.work.Coalesced(d.ctx, len(group), stop-off)
	return d.decodeGroup(stretch{off: off, data: data}, group)
}

// decodeGroup decodes inner chunks from a stretch that holds them.
func (d *decoder) decodeGroup(s stretch, group []want) error {
	d.work.Cores.Enter()
	defer d.work.Cores.Leave()
	movers := make([]*transfer.Mover, max(1, cap(d.work.Cores)))
	defer func() { d.put(movers...) }()
	return d.work.Cores.Each(d.ctx, int64(len(group)), func(worker int, i int64) error {
		if movers[worker] == nil {
			movers[worker] = d.take()
		}
		p, w := movers[worker], group[i]
		var room [8]int64
		p.Seek(d.grid, d.Extract.Part, d.place(room[:0], w.k))
		p.Into(d.Extract.Into)
		data, _ := s.holds(w.off, w.n)
		return d.fail(w.k, d.decodeInner(p, data))
	})
}
