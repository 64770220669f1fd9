// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"context"
	"errors"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/transfer"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Encode implements [codec.ArrayBytes].
func (c *coder) Encode(dst []byte, src codec.Block) ([]byte, error) {
	values := strided.Contiguous(src.Data, src.Shape, int(c.size))
	values.Heap = src.Heap
	out, err := c.EncodePart(context.Background(), new(coding.Work), coding.Edit{
		Shape: src.Shape, Part: all(src.Shape), Values: values,
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
		e.Part = selection.Group(e.Part, e.Shape, l.grid)
	}
	// A concurrent writer may replace the shard while it is read.
	for range readTries {
		d := &editor{coder: c, layout: l, Edit: e, ctx: ctx, work: w, out: new(coding.Revision)}
		do := d.edit
		if e.Mend {
			do = d.mend
		}
		if err = do(src); err == nil {
			return d.finished(src), nil
		}
		d.out.Release()
		if !errors.Is(err, store.ErrConflict) {
			break
		}
		c.cache.drop(src.Key()) // only a source that is read can have been replaced
		src.Expect(store.Info{})
	}
	return nil, err
}

// finished returns the revision, and drops the cached index that it supersedes.
func (d *editor) finished(src coding.Source) *coding.Revision {
	if d.old != nil {
		d.out.From = d.old.info
	}
	if src != nil && !d.out.Same {
		d.cache.drop(src.Key()) // the caller stores a new version
	}
	return d.out
}

func (d *editor) edit(src coding.Source) error {
	if err := d.readOld(src); err != nil {
		return err
	}
	if d.Compact && d.old != nil {
		// Compacting drops all bytes that the index does not name, so the index must be
		// right.
		if err := d.sound(); err != nil {
			return err
		}
	}
	d.todo = make([]uint8, d.n)
	count, err := d.markInsets(d.mark())
	if err != nil {
		return err
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
	for i, k := range d.list {
		if d.made[i] == unchanged {
			d.todo[k] = remains
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
	if d.old == nil || d.Anew || d.replaces() || slices.Contains(d.todo, changes) {
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
		if d.todo[k] != changes && to == changes {
			count++
		}
		d.todo[k] = max(d.todo[k], to)
	}
	if d.Index != nil {
		set(d.number(d.Index), changes)
	}
	switch {
	case d.Values.Data == nil:
	case d.isAll():
		for k := range d.n {
			set(k, changes)
		}
	default:
		p := selection.NewVisit(len(d.chunks))
		for plan := selection.NewPlan(selection.OfPart(d.Part), d.grid); plan.Next(p); {
			set(d.number(p.Chunk), changes)
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
				set(k, changes)
			default:
				set(k, goes)
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
	d.list = make([]uint32, 0, count)
	d.each(func(k int64) error {
		if d.todo[k] == changes {
			d.list = append(d.list, uint32(k))
		}
		return nil
	})
	d.made = make([]int64, count)
	d.size = max(1, segmentBytes/max(1, d.layout.inner))
	d.parts = make([]*budget.Buffer, (count+d.size-1)/d.size)
	// Without cores, this goroutine encodes everything.
	if d.work.Cores != nil {
		d.work.Cores.Enter()
		defer d.work.Cores.Leave()
	}
	movers := make([]*transfer.Mover, max(1, cap(d.work.Cores)))
	defer func() { d.put(movers...) }()
	err := d.work.Cores.Each(d.ctx, int64(len(d.parts)), func(worker int, i int64) error {
		if movers[worker] == nil {
			movers[worker] = d.take()
		}
		return d.encodeSegment(movers[worker], i)
	})
	d.out.Memory = append(d.out.Memory, d.parts...)
	return err
}

// encodeSegment encodes segment i of the list to a buffer.
func (d *editor) encodeSegment(p *transfer.Mover, i int64) error {
	from := i * d.size
	list := d.list[from:min(int64(len(d.list)), from+d.size)]
	b := budget.Get(d.readyFor(int64(len(list))))
	d.parts[i] = b
	for j, k := range list {
		before := len(b.B)
		out, changed, err := d.encodeInner(b.B, p, int64(k))
		if err != nil {
			return d.fail(int64(k), err)
		}
		b.B = out
		d.made[from+int64(j)] = int64(len(out) - before)
		if !changed {
			d.made[from+int64(j)] = unchanged
		}
	}
	if n := len(b.B); n < cap(b.B)/4 { // copy, because the buffer is held until the shard is stored
		d.parts[i] = budget.Get(int64(n))
		d.parts[i].B = append(d.parts[i].B, b.B...)
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
func (d *editor) encodeInner(dst []byte, p *transfer.Mover, k int64) (out []byte, changed bool, err error) {
	var room [8]int64
	at := d.place(room[:0], k)
	if d.Index != nil && slices.Equal(at, d.Index) {
		return append(dst, d.Encoded...), true, nil
	}
	touched := d.Values.Data != nil && p.Seek(d.grid, d.Part, at)
	if touched {
		p.Into(d.Values)
		// If all elements are new, the old bytes are not needed.
		if p.IsWhole() {
			dst, err = d.append(dst, p.Placed)
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
		return d.encodeOver(dst, p, src, touched, 0)
	}
	err = d.work.Grow(d.ctx, d.chain, d.bytes(p.Cell.Encoded), src, func(room int64) (err error) {
		out, changed, err = d.encodeOver(dst, p, src, touched, room)
		return err
	})
	return out, changed, err
}

// encodeOver appends the new form of an inner chunk that is stored as src; src is nil if
// it is not stored or nothing of it stays. Elements that differ in length may have room
// bytes.
func (d *editor) encodeOver(dst []byte, p *transfer.Mover, src []byte, touched bool, room int64) (out []byte, changed bool, err error) {
	b, cleared, err := d.oldInner(p, src, room)
	defer b.Put()
	if err != nil || !touched && !cleared {
		return dst, false, err
	}
	if touched {
		p.Scatter()
	}
	dst, err = d.append(dst, p.Decoded)
	p.Decoded.Heap.Release() // before the next inner chunk takes memory
	return dst, true, err
}

// append appends the encoded elements of v, unless they are all the fill value.
func (d *editor) append(dst []byte, v strided.View) ([]byte, error) {
	if !d.KeepFill && v.AllEqual(d.filler) {
		return dst, nil
	}
	start := d.work.Begin()
	dst, err := d.chain.Encode(dst, v)
	d.work.Coded(d.ctx, observe.Encode, v.ElementBytes(), start, err)
	return dst, err
}

// oldInner decodes what stays of a stored inner chunk to a buffer, which p then shows and
// the caller puts back. cleared reports whether it removed other elements.
func (d *editor) oldInner(p *transfer.Mover, src []byte, room int64) (b *budget.Buffer, cleared bool, err error) {
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
func (d *editor) clearBeyond(p *transfer.Mover) (cleared bool) {
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
