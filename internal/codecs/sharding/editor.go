// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/placement"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// editor makes the next version of one shard.
type editor struct {
	*coder
	*layout
	coding.Edit
	ctx  context.Context
	work *coding.Work
	out  *coding.Revision

	old       *index           // of the stored shard, nil if nothing of it stays
	stretches []stretch        // of the stored shard by offset, if it was not read whole
	steps     []uint8          // for every inner chunk, one of the steps below
	copied    [][]byte         // inner chunks from insets, nil if there are no insets
	encoded   []uint32         // inner chunks to encode, in the order to store them
	sizes     []int64          // for each of encoded: bytes, 0 for only the fill value, or unchanged
	size      int64            // inner chunks of encoded in one segment
	segments  []*budget.Buffer // the encoded segments
}

// unchanged is the length of an encoded inner chunk that proved to be as it is stored.
const unchanged = -1

// The steps for an inner chunk. Later values take precedence.
const (
	stepKeep   uint8 = iota // stays as it is stored, or absent
	stepClear               // becomes the fill value
	stepEncode              // is encoded again
	stepSame                // was to change, but proved to be as it is stored
	stepCopy                // is copied from an inset
)

// isKept reports whether inner chunk k stays as it is stored.
func (d *editor) isKept(k int64) bool { return d.steps[k] == stepKeep || d.steps[k] == stepSame }

// replaces reports whether inner chunks are cleared or copied from insets.
func (d *editor) replaces() bool { return d.copied != nil || slices.Contains(d.steps, stepClear) }

func (d *editor) isStored(k int64) bool { return d.old.entries[2*k] != absent }

// each calls do for every inner chunk in the order to store them.
func (d *editor) each(do func(k int64) error) error {
	order := d.inOrder(d.layout)
	for i := range d.n {
		k := i
		if order != nil {
			k = int64(order[i])
		}
		if err := do(k); err != nil {
			return err
		}
	}
	return nil
}

// Encode implements [codec.ArrayBytes].
func (c *coder) Encode(dst []byte, src codec.Block) ([]byte, error) {
	values := strided.Contiguous(src.Data, src.Shape, int(c.size))
	values.Heap = src.Heap
	out, err := c.EncodePart(context.Background(), new(coding.Work), coding.Edit{
		Shape: src.Shape, Part: wholePart(src.Shape), Values: values,
	}, nil)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	return out.AppendTo(slices.Grow(dst, int(out.Size))), nil
}

// EncodePart implements [coding.PartialEncoder]. It copies the encoded form of inner
// chunks that the edit does not touch.
func (c *coder) EncodePart(ctx context.Context, w *coding.Work, e coding.Edit, src coding.Source) (*coding.Revision, error) {
	l, err := c.layout(e.Shape)
	if err != nil {
		return nil, err
	}
	if e.Values.Data != nil {
		e.Part = subset.Group(e.Part, e.Shape, l.grid)
	}
	// A concurrent writer may replace the shard while it is read. Without a source
	// nothing is read, so there is no conflict.
	var d *editor
	err = c.retry(src, func() error {
		d = &editor{coder: c, layout: l, Edit: e, ctx: ctx, work: w, out: new(coding.Revision)}
		err := d.change(src)
		if err != nil {
			d.out.Release()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if d.old != nil {
		d.out.From = d.old.info
	}
	if src != nil && !d.out.Same {
		c.cache.drop(src.Key()) // the caller stores a new version
	}
	return d.out, nil
}

// change makes the revision.
func (d *editor) change(src coding.Source) error {
	if d.Mend {
		return d.mend(src)
	}
	return d.edit(src)
}

func (d *editor) edit(src coding.Source) error {
	if d.work.Notes != nil {
		d.work.Notes.Reset()
	}
	if err := d.readOld(src); err != nil {
		return err
	}
	if d.Compact && d.old != nil {
		// Compacting drops all bytes that the index does not name, so the index must be
		// right.
		if err := d.checkSound(); err != nil {
			return err
		}
	}
	d.steps = make([]uint8, d.n)
	count, err := d.markInsets(d.mark())
	if err != nil {
		return err
	}
	for k, step := range d.steps {
		if step == stepClear || step == stepCopy {
			d.note(int64(k), strided.View{})
		}
	}
	if same, err := d.isSame(); same || err != nil {
		return err
	}
	if err := d.takeOut(); err != nil {
		return err
	}
	patches := d.patches()
	if err := d.readParts(src, !d.Splices && !patches); err != nil {
		return err
	}
	if err := d.encodeAll(count); err != nil {
		return err
	}
	// Clearing elements beyond Keep may have found nothing to clear.
	for i, k := range d.encoded {
		if d.sizes[i] == unchanged {
			d.steps[k] = stepSame
		}
	}
	if same, err := d.isSame(); same || err != nil {
		return err
	}
	if patches {
		if d.patch() {
			return nil
		}
		// A length changed, so the whole shard is written again.
		if err := d.readParts(src, !d.Splices); err != nil {
			return err
		}
	}
	return d.assemble()
}

// isSame reports whether the shard stays as it is stored.
func (d *editor) isSame() (bool, error) {
	if d.old == nil || d.Anew || d.replaces() || slices.Contains(d.steps, stepEncode) {
		return false, nil
	}
	same := true
	var err error
	if d.Compact {
		same, err = d.isCompact()
	}
	if same {
		d.out.Same, d.out.Size = true, d.old.info.Size
	}
	return same, err
}

// mark sets what happens to every inner chunk and returns how many are to be encoded.
func (d *editor) mark() (count int64) {
	set := func(k int64, to uint8) {
		// Count each inner chunk once.
		if d.steps[k] != stepEncode && to == stepEncode {
			count++
		}
		d.steps[k] = max(d.steps[k], to)
	}
	if d.Index != nil {
		set(d.number(d.Index), stepEncode)
	}
	switch {
	case d.Values.Data == nil:
	case d.isAll():
		for k := range d.n {
			set(k, stepEncode)
		}
	default:
		p := strided.NewVisit(len(d.chunks))
		for plan := subset.NewPlan(subset.OfPart(d.Part), d.grid); plan.Next(p); {
			set(d.number(p.Chunk), stepEncode)
		}
	}
	// If nothing is stored, there is nothing to clear.
	if d.Keep == nil || d.old == nil {
		return count
	}
	for beyond := range grid.BoxOf(d.Shape).Subtract(d.Keep) {
		touched, err := d.grid.Touched(beyond)
		if err != nil {
			continue // impossible: the box lies within the shard
		}
		for at := range touched.IndicesInto(make([]int64, len(touched))) {
			k := d.number(at)
			switch cell, _ := d.grid.Chunk(at); {
			case !d.isStored(k): // it is fill value already
			case overlap(cell, d.Keep):
				set(k, stepEncode)
			default:
				set(k, stepClear)
			}
		}
	}
	return count
}

// isAll reports whether the part is the whole shard.
func (d *editor) isAll() bool {
	if d.Picks != nil {
		return false
	}
	for i, n := range d.Shape {
		if d.Start[i] != 0 || d.Count[i] != n || d.Step[i] != 1 && n > 1 {
			return false
		}
	}
	return true
}

// overlap reports whether a cell has elements in the box.
func overlap(c *grid.Chunk, b grid.Box) bool {
	for i, in := range b {
		if (grid.Interval{Start: c.Start[i], Stop: c.Start[i] + c.Logical[i]}).Intersect(in).Len() == 0 {
			return false
		}
	}
	return true
}

// segmentBytes is the approximate number of bytes of elements that a goroutine encodes to
// one buffer.
const segmentBytes = 256 << 10

// encodeAll encodes the count inner chunks that change, in the order to store them.
func (d *editor) encodeAll(count int64) error {
	d.encoded = make([]uint32, 0, count)
	d.each(func(k int64) error {
		if d.steps[k] == stepEncode {
			d.encoded = append(d.encoded, uint32(k))
		}
		return nil
	})
	d.sizes = make([]int64, count)
	d.size = max(1, segmentBytes/max(1, d.layout.inner))
	d.segments = make([]*budget.Buffer, (count+d.size-1)/d.size)
	// Without cores, this goroutine encodes everything.
	if d.work.Cores != nil {
		d.work.Cores.Enter()
		defer d.work.Cores.Leave()
	}
	movers := make([]*placement.Mover, max(1, cap(d.work.Cores)))
	defer func() { d.put(movers...) }()
	err := d.work.Cores.Each(d.ctx, int64(len(d.segments)), func(worker int, i int64) error {
		if movers[worker] == nil {
			movers[worker] = d.take()
		}
		return d.encodeSegment(movers[worker], i)
	})
	d.out.Memory = append(d.out.Memory, d.segments...)
	return err
}

// encodeSegment encodes segment i of d.encoded to a buffer.
func (d *editor) encodeSegment(p *placement.Mover, i int64) error {
	from := i * d.size
	list := d.encoded[from:min(int64(len(d.encoded)), from+d.size)]
	b := budget.Get(d.readyFor(int64(len(list))))
	d.segments[i] = b
	for j, k := range list {
		before := len(b.B)
		out, changed, err := d.encodeInner(b.B, p, int64(k))
		if err != nil {
			return d.fail(int64(k), err)
		}
		b.B = out
		d.sizes[from+int64(j)] = int64(len(out) - before)
		if !changed {
			d.sizes[from+int64(j)] = unchanged
		}
	}
	if n := len(b.B); n < cap(b.B)/4 { // copy, because the buffer is held until the shard is stored
		d.segments[i] = budget.Get(int64(n))
		d.segments[i].B = append(d.segments[i].B, b.B...)
		b.Put()
	}
	return nil
}

// readyFor returns how much memory to take for n encoded inner chunks. A single long one
// gets the most that it and the index after it may take: growing the memory step by step
// would leave several times as much garbage.
func (d *editor) readyFor(n int64) int64 {
	ready := (d.likely - d.layout.index) / max(1, d.n) * n
	if n == 1 && d.heap == nil && !d.chain.Divided() && d.layout.most < tooLarge {
		return d.layout.most + d.layout.index
	}
	return min(mostReady, ready)
}

// encodeInner appends the new form of inner chunk k, or nothing if it holds only the fill
// value. changed is false if the inner chunk stays as it is stored.
func (d *editor) encodeInner(dst []byte, p *placement.Mover, k int64) (out []byte, changed bool, err error) {
	var room [8]int64
	at := d.place(room[:0], k)
	if d.Index != nil && slices.Equal(at, d.Index) {
		d.note(k, strided.View{})
		return append(dst, d.Encoded...), true, nil
	}
	touched := d.Values.Data != nil && p.Seek(d.grid, d.Part, at)
	if touched {
		p.Into(d.Values)
		// If all elements are new, the old bytes are not needed.
		if p.IsWhole() {
			dst, err = d.append(dst, k, p.Target)
			return dst, true, err
		}
	} else {
		d.grid.Cell(at, p.Cell)
	}
	var src []byte
	if !touched || !p.Covers() { // readParts skips inner chunks that are covered
		if src, err = d.oldBytes(k); err != nil {
			return nil, false, err
		}
	}
	// Elements of a fixed width decode to a known size.
	if src == nil || !d.chain.Varies() {
		return d.encodeOver(dst, p, k, src, touched, 0)
	}
	err = d.work.Grow(d.ctx, d.chain, d.bytes(p.Cell.Encoded), src, func(room int64) (err error) {
		out, changed, err = d.encodeOver(dst, p, k, src, touched, room)
		return err
	})
	return out, changed, err
}

// encodeOver appends the new form of inner chunk k, which is stored as src; src is nil if
// it is not stored or nothing of it stays. Elements that differ in length may have room
// bytes.
func (d *editor) encodeOver(dst []byte, p *placement.Mover, k int64, src []byte, touched bool, room int64) (out []byte, changed bool, err error) {
	b, cleared, err := d.oldInner(p, src, room)
	defer b.Put()
	if err != nil || !touched && !cleared {
		return dst, false, err
	}
	if touched {
		p.Scatter()
	}
	dst, err = d.append(dst, k, p.Decoded)
	p.Decoded.Heap.Release() // before the next inner chunk takes memory
	return dst, true, err
}

// note tells the caller what inner chunk k holds from now on.
func (d *editor) note(k int64, v strided.View) {
	if d.work.Notes != nil {
		d.work.Notes.Note(d.place(nil, k), v)
	}
}

// append appends the encoded elements of v, those of inner chunk k, unless they are all
// the fill value.
func (d *editor) append(dst []byte, k int64, v strided.View) ([]byte, error) {
	d.note(k, v)
	if !d.KeepFill && v.AllEqual(d.filler) {
		return dst, nil
	}
	start := d.work.Begin()
	dst, err := d.chain.Encode(dst, v)
	d.work.Coded(d.ctx, observe.Encode, v.ElementBytes(), start, err)
	return dst, err
}

// oldInner decodes a stored inner chunk to a buffer, which p then shows and the caller
// puts back. It clears the elements that do not stay, and reports whether any was set.
func (d *editor) oldInner(p *placement.Mover, src []byte, room int64) (b *budget.Buffer, cleared bool, err error) {
	// If nothing of the inner chunk stays, begin with fill values.
	if src == nil {
		n := d.bytes(p.Cell.Encoded)
		b := budget.Get(n)
		p.Show(b.Bytes(n), d.heap.New())
		strided.FillBytes(p.Decoded.Data, d.filler)
		return b, false, nil
	}
	if b, err = d.decodeWhole(d.ctx, d.work, p, src, room); err != nil {
		return nil, false, err
	}
	return b, d.clearBeyond(p), nil
}

// clearBeyond sets the elements of an inner chunk that do not stay to the fill value. It
// reports whether any was something else.
func (d *editor) clearBeyond(p *placement.Mover) (cleared bool) {
	if d.Keep == nil {
		return false
	}
	keep := make(grid.Box, len(d.Keep))
	for i, in := range d.Keep {
		start := p.Cell.Start[i]
		keep[i] = grid.Interval{Start: max(0, in.Start-start), Stop: min(p.Cell.Encoded[i], in.Stop-start)}
	}
	for beyond := range grid.BoxOf(p.Cell.Encoded).Subtract(keep) {
		if v := p.Decoded.Sub(beyond); !v.AllEqual(d.filler) {
			strided.Fill(v, d.filler)
			cleared = true
		}
	}
	return cleared
}

// manyBytes is the size in bytes from which reading only ranges of a shard pays. Tests
// lower it.
var manyBytes int64 = 1 << 20

// oldBytes returns the stored bytes of inner chunk k, nil if it is not stored.
func (d *editor) oldBytes(k int64) ([]byte, error) {
	in, off, n, err := d.oldPlace(k)
	if in == nil || err != nil {
		return nil, err
	}
	return in[off : off+n : off+n], nil
}

// oldPlace returns the memory that has the stored bytes of inner chunk k, and their range
// in it. in is nil if the inner chunk is not stored.
func (d *editor) oldPlace(k int64) (in []byte, off, n int64, err error) {
	if d.old == nil {
		return nil, 0, 0, nil
	}
	off, n, stored, err := d.old.span(k)
	if err != nil || !stored {
		return nil, 0, 0, err
	}
	if d.out.Old != nil {
		return d.out.Old, off, n, nil
	}
	i, found := slices.BinarySearchFunc(d.stretches, off, func(s stretch, off int64) int { return cmp.Compare(s.off, off) })
	if !found {
		i-- // the last stretch that begins before off holds it
	}
	return d.stretches[i].data, off - d.stretches[i].off, n, nil
}

// readOld reads the stored shard. It reads only the index if the store can splice or
// patch the shard, or if the shard has far more bytes than its inner chunks can have.
func (d *editor) readOld(src coding.Source) error {
	_, inMemory := src.(coding.Stored)
	switch {
	case src == nil:
		return nil
	case inMemory, !d.Compact && (d.likely < manyBytes || !d.Splices && !d.patches()):
		err := d.readWhole(src)
		if !errors.Is(err, store.ErrTooLarge) {
			return err
		}
		// The shard has so many dead bytes that reading ranges costs less.
	}
	r := &decoder{coder: d.coder, layout: d.layout, ctx: d.ctx, work: d.work}
	x, tail, err := r.readIndex(src)
	if err == nil && tail.buffer == nil {
		// An index from the cache may be stale. This read fails if it is.
		_, _, err = src.Read(d.ctx, store.Request{Range: store.Span(0, 0)}, nil)
	}
	tail.buffer.Put()
	d.old = x
	return err
}

func (d *editor) readWhole(src coding.Source) error {
	shard, stored := src.(coding.Stored)
	size := int64(len(shard))
	if !stored {
		b := budget.Get(min(mostReady, d.likely, max(manyBytes, d.work.Bytes/2))) // it may be far shorter
		d.out.Memory = append(d.out.Memory, b)
		data, info, err := src.Read(d.ctx, store.Request{Limit: 2 * max(d.packed, manyBytes)}, b.B)
		if err != nil {
			return err
		}
		shard, size = data, info.Size
		// indexOf knows the size of the shard, but not its version.
		defer func() {
			if d.old != nil {
				d.old.info = info
			}
		}()
	}
	x, err := d.indexOf(d.layout, shard)
	if err != nil {
		return err
	}
	x.info.Size = size
	d.old, d.out.Old = x, shard
	return nil
}

// patches reports whether inner chunks may be overwritten in place.
func (d *editor) patches() bool { return d.env.Strategy == codec.InPlace && d.Patches && !d.Compact }

// readParts reads inner chunks of a shard of which only the index was read. It reads the
// ones that change in part and, if stay is set, the ones that stay.
func (d *editor) readParts(src coding.Source, stay bool) error {
	// If nothing is stored, or all of the shard is in memory, there is nothing to read.
	if d.old == nil || d.out.Old != nil {
		return nil
	}
	var wants []want
	for k := range d.n {
		if needed := d.isKept(k) && stay || d.steps[k] == stepEncode && !d.covers(k); !needed {
			continue
		}
		off, n, stored, err := d.old.span(k)
		if err != nil {
			return d.fail(k, err)
		}
		if stored {
			wants = append(wants, want{off, n, k})
		}
	}
	// In the order of their bytes, neighbours can be read together.
	slices.SortFunc(wants, want.compare)
	r := &decoder{coder: d.coder, layout: d.layout, ctx: d.ctx, work: d.work}
	d.stretches = d.stretches[:0]
	for len(wants) > 0 {
		n, stop := r.group(wants)
		off := wants[0].off
		wants = wants[n:]
		b := budget.Get(stop - off)
		d.out.Memory = append(d.out.Memory, b)
		data, _, err := src.Read(d.ctx, store.Request{Range: store.Span(off, stop-off)}, b.B)
		if err != nil {
			return err
		}
		d.work.Coalesced(d.ctx, n, stop-off)
		d.stretches = append(d.stretches, stretch{off: off, data: data})
	}
	return nil
}

// covers reports whether the edit replaces all of inner chunk k.
func (d *editor) covers(k int64) bool {
	if d.Index != nil && k == d.number(d.Index) {
		return true
	}
	if d.Values.Data == nil {
		return false
	}
	p := d.take()
	defer d.put(p)
	return p.Seek(d.grid, d.Part, d.layout.place(nil, k)) && p.Covers()
}

// markInsets marks the inner chunks that insets replace. count is the number of inner
// chunks to encode. It returns the number of those that are left.
func (d *editor) markInsets(count int64) (int64, error) {
	for i, in := range d.Insets {
		from, err := d.insetPlace(in)
		if err != nil {
			return 0, fmt.Errorf("inset %d: %w", i, err)
		}
		l, err := d.coder.layout(in.Shape)
		if err != nil {
			return 0, fmt.Errorf("inset %d: %w", i, err)
		}
		x, err := d.indexOf(l, in.Chunk)
		if err != nil {
			return 0, fmt.Errorf("inset %d: %w", i, err)
		}
		if d.copied == nil {
			d.copied = make([][]byte, d.n)
		}
		gone, err := d.takeInset(l, x, in.Chunk, from)
		if err != nil {
			return 0, fmt.Errorf("inset %d: %w", i, err)
		}
		count -= gone
	}
	return count, nil
}

// takeInset marks the inner chunks that an inset stores, the first of them at from. It
// returns how many of the replaced inner chunks were to be encoded.
func (d *editor) takeInset(l *layout, x *index, chunk []byte, from []int64) (gone int64, err error) {
	at := make([]int64, 0, len(from))
	for j := range l.n {
		at = l.place(at[:0], j)
		for axis := range at {
			at[axis] += from[axis]
		}
		off, n, stored, err := x.span(j)
		if err != nil {
			return 0, l.fail(j, err)
		}
		if !stored {
			continue
		}
		k := d.number(at)
		// An inset may replace an inner chunk that was to be encoded.
		if d.steps[k] == stepEncode {
			gone++
		}
		d.steps[k], d.copied[k] = stepCopy, chunk[off:off+n] // keep the capacity: addData joins neighbours
	}
	return gone, nil
}

// insetPlace returns the index of the first inner chunk of an inset in the shard. If the
// inset and its place have different cuts, inner chunks would have other shapes, and the
// error wraps [codec.ErrConfiguration].
func (d *editor) insetPlace(in coding.Inset) ([]int64, error) {
	if len(in.Start) != len(d.chunks) || len(in.Shape) != len(d.chunks) {
		return nil, fmt.Errorf("%w: it begins at %v and has the shape %v, the shard has %s", codec.ErrConfiguration, in.Start, in.Shape, quantity.Count(len(d.chunks), "axes"))
	}
	g, err := d.cut.of(in.Shape)
	if err != nil {
		return nil, err
	}
	from := make([]int64, len(in.Start))
	for i, start := range in.Start {
		shards := d.grid.Axis(i)
		chunk, within, ok := shards.Locate(start)
		if !ok || within != 0 || !sameCells(shards, chunk, g.Axis(i)) {
			err := fmt.Errorf("%w: from element %d on it is not cut as an inset of %d is", codec.ErrConfiguration, start, in.Shape[i])
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		from[i] = chunk
	}
	return from, nil
}

// sameCells reports whether the cells of a from one on are stored with the same lengths
// as the cells of b.
func sameCells(a grid.Axis, from int64, b grid.Axis) bool {
	for k := range b.Chunks() {
		x, ok := a.Cell(from + k)
		y, _ := b.Cell(k)
		if !ok || x.Encoded != y.Encoded {
			return false
		}
	}
	return true
}
