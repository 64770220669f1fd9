// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"bytes"
	"context"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/store"
)

// Elementwise is implemented by a [codec.ArrayBytes] codec that encodes every element
// separately, in C order, in as many bytes as it has in memory. Single elements of a
// stored chunk can then be overwritten.
type Elementwise interface {
	PartialDecoder
	// Elementwise reports, after Bind, whether the codec encodes elements separately. If
	// so, the dst of Encode may be the memory of its source.
	Elementwise() bool
}

// Elementwise reports whether stored chunks consist of their elements, one after the
// other, in the order of axes of the encoded array. [Chain.Overwrite] can then change
// some of them.
func (c *Chain) Elementwise() bool { return c.elementwise() && len(c.bytes) == 0 }

// elementwise is Elementwise regardless of the codecs after the array-to-bytes codec.
func (c *Chain) elementwise() bool {
	e, ok := c.serial.(Elementwise)
	return ok && e.Elementwise() && c.order != nil
}

// Overwrite changes a part of a stored chunk. It encodes only the values; all other bytes
// stay. It uses these fields of the edit: Shape, Part (without lists and points), Values,
// KeepFill, Splices and Patches. Splices or Patches must be set. The chain must be
// [Chain.Elementwise].
//
// It fails with [fs.ErrNotExist] if the chunk is not stored, and with [codec.ErrCorrupt]
// if its size is not that of its elements.
func (c *Chain) Overwrite(ctx context.Context, w *Work, e Edit, src Source) (*Revision, error) {
	o, err := c.newOverwriter(ctx, e, src)
	if err != nil {
		return nil, err
	}
	// If all new values are the fill value, the chunk may become empty.
	if !e.KeepFill && e.Values.AllEqual(Element(c.spec)) {
		if o.out.Empty, err = c.emptyBut(ctx, w, e, src); err != nil {
			return nil, err
		}
	}
	o.eachRun(o.add)
	o.flush()
	if o.err != nil {
		o.out.Release()
		return nil, c.failSerial(o.err)
	}
	o.finish(e.Splices)
	return &o.out, nil
}

// overwriter finds the ranges of a stored chunk that a part overwrites.
type overwriter struct {
	*Chain
	ctx     context.Context
	src     Source
	part    strided.Part // of the encoded array
	values  strided.View // of the part
	strides []int64      // of the encoded array, bytes
	axis    int          // a run has the elements along this axis and all later ones
	length  int64        // bytes of a run

	runs    []run  // joined to one patch by flush
	rest    []byte // free memory of the last buffer
	patches []store.Patch
	out     Revision
	err     error
}

// run is a range of a chunk that is overwritten with consecutive elements of the part.
type run struct {
	off   int64 // in the chunk, bytes
	place int64 // of the first element among the values, bytes
}

// newOverwriter reads the present version and size of the chunk, and measures the runs.
func (c *Chain) newOverwriter(ctx context.Context, e Edit, src Source) (*overwriter, error) {
	size := int64(Width(c.spec))
	total, ok := checked.Product(append([]int64{size}, e.Shape...)...)
	if !ok {
		return nil, fmt.Errorf("%w: a chunk of shape %v", codec.ErrLimit, e.Shape)
	}
	// Read no bytes: only the version and the size are needed.
	_, info, err := src.Read(ctx, store.Request{Range: store.Span(0, 0)}, nil)
	if err == nil && info.Size != total {
		err = c.failSerial(fmt.Errorf("%w: the chunk has %s, but its shape %v needs %d", codec.ErrCorrupt, quantity.Count(info.Size, "bytes"), e.Shape, total))
	}
	if err != nil {
		return nil, err
	}
	o := &overwriter{Chain: c, ctx: ctx, src: src, part: e.Part, values: e.Values, axis: len(e.Shape), length: size}
	shape := e.Shape
	if !c.inOrder {
		o.part, o.values, shape = c.permutedPart(e.Part, shape), c.permutedView(e.Values), c.permuted(shape)
	}
	o.strides = strided.AppendStrides(nil, shape, int(size))
	o.out.From, o.out.Size = info, total
	// Along the last axes, selected elements that are consecutive in the chunk form one
	// run.
	for o.axis > 0 && (o.part.Step[o.axis-1] == 1 || o.part.Count[o.axis-1] == 1) {
		o.axis--
		o.length *= o.part.Count[o.axis]
		// The run ends here: elements along the previous axis are not consecutive.
		if o.part.Count[o.axis] != shape[o.axis] {
			break
		}
	}
	return o, nil
}

// eachRun calls add for all runs, in the order of the chunk, until add returns false.
func (o *overwriter) eachRun(add func(run) bool) {
	var first run
	for i, start := range o.part.Start {
		first.off += start * o.strides[i]
	}
	index := make([]int64, o.axis)
	for at := first; add(at); {
		i := o.axis - 1
		for ; i >= 0; i-- {
			step := o.part.Step[i] * o.strides[i]
			if index[i]++; index[i] < o.part.Count[i] {
				at.off += step
				at.place += o.values.Strides[i]
				break
			}
			// At the end of an axis, go back to its start and advance the axis before it.
			at.off -= (index[i] - 1) * step
			at.place -= (index[i] - 1) * o.values.Strides[i]
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

const (
	nearRun    = 64      // largest gap in bytes between joined runs; a fragment takes as many
	mostJoined = 4 << 20 // largest size of joined runs, in bytes
	arenaBytes = 1 << 20 // memory of short patches is allocated in blocks of this size
)

// add joins a run to the previous ones. If it is too far from them, add flushes them
// first.
func (o *overwriter) add(r run) bool {
	if n := len(o.runs); n > 0 {
		// Begin a new patch if the run is too far from the others, or if the patch would
		// be too long.
		if r.off-(o.runs[n-1].off+o.length) > nearRun || r.off+o.length-o.runs[0].off > mostJoined {
			o.flush()
		}
	}
	o.runs = append(o.runs, r)
	return o.err == nil
}

// flush makes one patch of the joined runs. It reads the bytes that lie between them.
func (o *overwriter) flush() {
	if len(o.runs) == 0 || o.err != nil {
		return
	}
	from := o.runs[0].off
	n := o.runs[len(o.runs)-1].off + o.length - from
	// Values that need no encoding and are consecutive become the patch without a copy.
	if len(o.runs) == 1 && o.plain {
		if data, ok := o.valuesOf(o.runs[0]).Bytes(); ok {
			o.patch(from, data) // the caller keeps this memory until the revision is released
			return
		}
	}
	room := o.take(n)
	// If the runs have gaps, read the bytes between them, which stay.
	if n != o.length*int64(len(o.runs)) {
		data, _, err := o.src.Read(o.ctx, store.Request{Range: store.Span(from, n)}, room[:0])
		if err != nil {
			o.err = err
			return
		}
		copy(room, data)
	}
	for _, r := range o.runs {
		at := r.off - from
		if o.err = o.encode(room[at:at+o.length:at+o.length], r); o.err != nil {
			return
		}
	}
	o.patch(from, room)
}

// patch records data as the new bytes of the chunk at offset off.
func (o *overwriter) patch(off int64, data []byte) {
	o.patches = append(o.patches, store.Patch{Off: off, Data: data})
	o.runs = o.runs[:0]
}

// valuesOf returns a view of the elements of a run.
func (o *overwriter) valuesOf(r run) strided.View {
	v := o.values
	v.Offset += r.place
	v.Shape, v.Strides = v.Shape[o.axis:], v.Strides[o.axis:]
	return v
}

// encode fills dst with the stored form of a run.
func (o *overwriter) encode(dst []byte, r run) error {
	v := o.valuesOf(r)
	strided.Copy(strided.Contiguous(dst, v.Shape, v.Size), v)
	if o.plain {
		return nil
	}
	// An elementwise codec may encode into the memory of its source.
	out, err := o.serial.Encode(dst[:0], codec.Block{Shape: v.Shape, Data: dst})
	if err == nil && len(out) != len(dst) {
		err = fmt.Errorf("%w: %s of elements were encoded to %d", codec.ErrConfiguration, quantity.Count(len(dst), "bytes"), len(out))
	}
	return err
}

// take returns n bytes that are valid until the revision is released.
func (o *overwriter) take(n int64) []byte {
	if n > int64(len(o.rest)) {
		// Short patches share a buffer.
		b := budget.Get(max(n, min(arenaBytes, o.values.ElementBytes())))
		o.out.Memory = append(o.out.Memory, b)
		o.rest = b.B[:cap(b.B)]
	}
	room := o.rest[:n:n]
	o.rest = o.rest[n:]
	return room
}

// finish converts the patches to fragments if the store splices.
func (o *overwriter) finish(splices bool) {
	if !splices {
		o.out.Patches = o.patches
		return
	}
	at := int64(0)
	for _, p := range o.patches {
		// The bytes before the patch stay.
		if p.Off > at {
			o.out.Fragments = append(o.out.Fragments, store.Part{Off: at, N: p.Off - at})
		}
		o.out.Fragments = append(o.out.Fragments, store.Part{Data: p.Data})
		at = p.Off + int64(len(p.Data))
	}
	if at < o.out.Size {
		o.out.Fragments = append(o.out.Fragments, store.Part{Off: at, N: o.out.Size - at})
	}
}

// emptyBut reports whether a stored chunk holds only the fill value outside of the part
// of an edit. It counts the elements that differ from the fill value in the part and in
// the chunk, and compares the two numbers. It reads the chunk in slabs, and stops early.
func (c *Chain) emptyBut(ctx context.Context, w *Work, e Edit, src Source) (bool, error) {
	within, err := c.unfilled(ctx, w, e.Shape, e.Part, e.Part.Len(), src)
	if err != nil {
		return false, err
	}
	all := strided.Part{Start: make([]int64, len(e.Shape)), Step: make([]int64, len(e.Shape)), Count: e.Shape}
	for i := range all.Step {
		all.Step[i] = 1
	}
	// Stop as soon as the chunk has more of them than the part.
	n, err := c.unfilled(ctx, w, e.Shape, all, within, src)
	return n == within, err
}

// unfilled counts the elements of a part of a stored chunk that are not the fill value.
// It may stop once there are more than most.
func (c *Chain) unfilled(ctx context.Context, w *Work, shape []int64, part strided.Part, most int64, src Source) (n int64, err error) {
	cuts := make([]grid.Cut, len(shape))
	for i, length := range shape {
		cuts[i] = grid.Every(length)
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		return 0, err
	}
	size, fill := Width(c.spec), Element(c.spec)
	b := budget.Get(mostJoined)
	defer b.Put()
	// Decode slab by slab, so that a large chunk is never in memory as a whole.
	for box := range subset.OfPart(part).Slabs(g, int64(size), mostJoined) {
		p := Extract{Shape: shape, Part: strided.Part{Step: part.Step, Count: box.Shape()}}
		for i, in := range box {
			p.Start = append(p.Start, part.Start[i]+in.Start*part.Step[i])
		}
		p.Into = strided.Contiguous(b.Bytes(p.Len()*int64(size)), p.Count, size)
		if err := c.DecodePart(ctx, w, p, src); err != nil {
			return 0, err
		}
		// Fast path for slabs that hold only the fill value.
		if p.Into.AllEqual(fill) {
			continue
		}
		for data := p.Into.Data; len(data) > 0; data = data[size:] {
			if !bytes.Equal(data[:size], fill) {
				n++
			}
		}
		if n > most {
			break
		}
	}
	return n, nil
}
