// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/placement"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
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
	p.Part = subset.Group(p.Part, p.Shape, l.grid)
	d := &decoder{c, l, p, ctx, w}
	if shard, ok := src.(coding.Stored); ok {
		return d.decodeStored(shard)
	}
	err = c.retry(src, func() error {
		err := d.read(src)
		if errors.Is(err, store.ErrConflict) {
			// This try may have decoded inner chunks of a superseded version.
			d.Zeroed = false
		}
		return err
	})
	// A concurrent writer deleted the shard after an earlier try had decoded some of it.
	if errors.Is(err, fs.ErrNotExist) && p.Zeroed && !d.Zeroed {
		p.Fill(c.filler)
	}
	return err
}

// retry calls do again while concurrent writers replace the shard during the call.
func (c *coder) retry(src coding.Source, do func() error) (err error) {
	for range readTries {
		if err = do(); !errors.Is(err, store.ErrConflict) {
			break
		}
		// The cached index may be that of a superseded version.
		c.cache.drop(src.Key())
		src.Expect(store.Info{})
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
		touched = subset.NewPlan(subset.OfPart(p.Part), l.grid).Chunks()
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
	plan := subset.NewPlan(subset.OfPart(d.Extract.Part), d.grid)
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
	return d.Whole || subset.NewPlan(subset.OfPart(d.Extract.Part), d.grid).Chunks() == d.n
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
		err = fmt.Errorf("%w: the shard is too short for the index of %s: %w", codec.ErrCorrupt, quantity.Count(d.layout.index, "bytes"), err)
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
	movers := make([]*placement.Mover, max(1, cap(d.work.Cores)))
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

// want returns the range of inner chunk k, which is stored.
func (x *index) want(k uint32) want {
	return want{int64(x.entries[2*k]), int64(x.entries[2*k+1]), int64(k)}
}

// stretch is a range of a shard that was read.
type stretch struct {
	off    int64
	data   []byte
	buffer *budget.Buffer
}

// holds returns the n bytes of the shard from off on, if the stretch has them.
func (s stretch) holds(off, n int64) ([]byte, bool) {
	if off < s.off || off+n > s.off+int64(len(s.data)) {
		return nil, false
	}
	return s.data[off-s.off:][:n:n], true
}

// want is the range of inner chunk k, which must be read.
type want struct{ off, n, k int64 }

// mostWants is the largest number of inner chunks that are looked up before they are
// read.
const mostWants = 1 << 16

// wants returns the next stored inner chunks that the part touches, in the order of their
// bytes, and whether there may be more. Those that are not stored become the fill value.
func (d *decoder) wants(x *index, plan strided.Plan) (wants []want, more bool, err error) {
	p := d.take()
	defer d.put(p)
	// Bound the memory for the look-ups of a huge part.
	for len(wants) < mostWants {
		if !plan.Next(p.Visit) {
			slices.SortFunc(wants, want.compare)
			return wants, false, nil
		}
		k := d.number(p.Chunk)
		off, n, stored, err := x.span(k)
		if err != nil {
			return nil, false, d.fail(k, err)
		}
		if stored {
			wants = append(wants, want{off, n, k})
			continue
		}
		d.grid.Cell(p.Chunk, p.Cell)
		p.Into(d.Extract.Into)
		d.fill(p)
	}
	slices.SortFunc(wants, want.compare)
	return wants, true, nil
}

// compare orders wants by their bytes. Of wants with one offset, the longest comes first,
// so that no two groups of wants begin at the same offset.
func (w want) compare(o want) int { return cmp.Or(cmp.Compare(w.off, o.off), cmp.Compare(o.n, w.n)) }

// group returns how many wants, from the first one on, to read as one range, and the end
// of the range.
func (d *decoder) group(wants []want) (n int, stop int64) {
	first, last := wants[0], wants[len(wants)-1]
	most := d.work.Bytes
	if last.off+last.n-first.off > most {
		most /= 2 // one is decoded while the next is read: see readRanges
	}
	most = max(min(d.work.Span, most), first.n)
	stop = first.off + first.n
	for n = 1; n < len(wants); n++ {
		w := wants[n]
		if w.off-stop > d.work.Gap || max(stop, w.off+w.n)-first.off > most {
			break
		}
		stop = max(stop, w.off+w.n)
	}
	return n, stop
}

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
	var out []byte
	err = c.retry(src, func() (err error) {
		out, err = d.encoded(src, l.number(index), dst)
		return err
	})
	return out, err
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
