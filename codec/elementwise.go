package codec

import (
	"bytes"
	"context"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// Elementwise is the power of an [ArrayBytes] codec that codes every element by itself:
// what it makes of a block are its elements in C order, each in as many bytes as it has
// in memory. So some elements of a stored chunk can be overwritten.
type Elementwise interface {
	PartialDecoder
	// Elementwise reports, after Bind, whether it does. Encode may then be given the
	// memory of its source to write to.
	Elementwise() bool
}

// Elementwise reports whether stored chunks are their elements one behind the other, in
// the order of axes that the codecs make, so that some of them can be overwritten without
// the others ([Chain.Overwrite]).
func (c *Chain) Elementwise() bool { return c.elementwise() && len(c.bytes) == 0 }

// elementwise is Elementwise whatever follows the array-to-bytes codec.
func (c *Chain) elementwise() bool {
	e, ok := c.serial.(Elementwise)
	return ok && e.Elementwise() && c.order != nil
}

// Overwrite changes a part of a chunk that is stored: new bytes are made for the values
// alone, and all else stays as it is. Of the edit it takes the shape, the part, which has
// no lists or points, the values, KeepFill, Splices and Patches, one of which has to be
// there. It is for chains that are [Chain.Elementwise].
//
// A chunk that is not stored is [fs.ErrNotExist], one that has not just the bytes of its
// elements is [ErrCorrupt].
func (c *Chain) Overwrite(ctx context.Context, w *Work, e Edit, src Source) (*Edited, error) {
	o, err := c.newOverwriter(ctx, e, src)
	if err != nil {
		return nil, err
	}
	if !e.KeepFill && e.Values.AllEqual(c.spec.Element()) {
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

// overwriter finds the stretches of a stored chunk that a part overwrites.
type overwriter struct {
	*Chain
	ctx     context.Context
	src     Source
	part    strided.Part // of the encoded array
	values  strided.View // of the part
	strides []int64      // of the encoded array, bytes
	axis    int          // elements along the axes from this one on are one behind the other: a run
	length  int64        // bytes of a run

	runs    []run // that are put together to one stretch
	rest    []byte
	patches []store.Patch
	out     Edited
	err     error
}

// run is a stretch of a chunk that is overwritten with values that follow each other.
type run struct {
	off   int64 // in the chunk, bytes
	place int64 // of the first element among the values, bytes
}

// newOverwriter looks which version of the chunk there is.
func (c *Chain) newOverwriter(ctx context.Context, e Edit, src Source) (*overwriter, error) {
	size := int64(c.spec.Width())
	total, ok := checked.Product(append([]int64{size}, e.Shape...)...)
	if !ok {
		return nil, fmt.Errorf("%w: a chunk of shape %v", ErrLimit, e.Shape)
	}
	_, info, err := src.Read(ctx, store.Request{Range: store.Span(0, 0)}, nil)
	if err == nil && info.Size != total {
		err = c.failSerial(fmt.Errorf("%w: %d bytes, its shape %v takes %d", ErrCorrupt, info.Size, e.Shape, total))
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
	for o.axis > 0 && (o.part.Step[o.axis-1] == 1 || o.part.Count[o.axis-1] == 1) {
		o.axis--
		o.length *= o.part.Count[o.axis]
		if o.part.Count[o.axis] != shape[o.axis] {
			break
		}
	}
	return o, nil
}

// eachRun calls add for all runs, in the order of the chunk, until it is false.
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
	nearRun     = 64      // bytes between two runs up to which they are put together: a piece takes as many
	mostStretch = 4 << 20 // bytes of runs that are put together
	arenaBytes  = 1 << 20 // memory for short stretches is taken in such blocks
)

// add puts a run behind those before it, if it is near.
func (o *overwriter) add(r run) bool {
	if n := len(o.runs); n > 0 {
		if r.off-(o.runs[n-1].off+o.length) > nearRun || r.off+o.length-o.runs[0].off > mostStretch {
			o.flush()
		}
	}
	o.runs = append(o.runs, r)
	return o.err == nil
}

// flush makes a patch of the runs that were put together. What lies between them is read.
func (o *overwriter) flush() {
	if len(o.runs) == 0 || o.err != nil {
		return
	}
	from := o.runs[0].off
	n := o.runs[len(o.runs)-1].off + o.length - from
	if len(o.runs) == 1 && o.plain {
		if data, ok := o.valuesOf(o.runs[0]).Bytes(); ok { // it is not kept for longer than the caller's memory
			o.patch(from, data)
			return
		}
	}
	room := o.take(n)
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

// patch adds bytes that are overwritten.
func (o *overwriter) patch(off int64, data []byte) {
	o.patches = append(o.patches, store.Patch{Off: off, Data: data})
	o.runs = o.runs[:0]
}

// valuesOf shows the elements of a run.
func (o *overwriter) valuesOf(r run) strided.View {
	v := o.values
	v.Offset += r.place
	v.Shape, v.Strides = v.Shape[o.axis:], v.Strides[o.axis:]
	return v
}

// encode fills dst with a run as it is stored.
func (o *overwriter) encode(dst []byte, r run) error {
	v := o.valuesOf(r)
	strided.Copy(strided.Contiguous(dst, v.Shape, v.Size), v)
	if o.plain {
		return nil
	}
	out, err := o.serial.Encode(dst[:0], Block{Shape: v.Shape, Data: dst})
	if err == nil && len(out) != len(dst) {
		err = fmt.Errorf("%w: %d bytes of elements became %d", ErrConfiguration, len(dst), len(out))
	}
	return err
}

// take returns n bytes that are held as long as what is made of them.
func (o *overwriter) take(n int64) []byte {
	if n > int64(len(o.rest)) {
		b := budget.Get(max(n, min(arenaBytes, o.values.ElementBytes())))
		o.out.Memory = append(o.out.Memory, b)
		o.rest = b.B[:cap(b.B)]
	}
	room := o.rest[:n:n]
	o.rest = o.rest[n:]
	return room
}

// finish makes pieces of what is overwritten, or leaves it as patches.
func (o *overwriter) finish(splices bool) {
	if !splices {
		o.out.Patches = o.patches
		return
	}
	at := int64(0)
	for _, p := range o.patches {
		if p.Off > at {
			o.out.Pieces = append(o.out.Pieces, store.Piece{Off: at, N: p.Off - at})
		}
		o.out.Pieces = append(o.out.Pieces, store.Piece{Data: p.Data})
		at = p.Off + int64(len(p.Data))
	}
	if at < o.out.Size {
		o.out.Pieces = append(o.out.Pieces, store.Piece{Off: at, N: o.out.Size - at})
	}
}

// emptyBut reports whether a stored chunk has nothing but the fill value outside of the
// part of an edit: then it has as many other elements as the part has. It is read bit by
// bit, and no further than needed.
func (c *Chain) emptyBut(ctx context.Context, w *Work, e Edit, src Source) (bool, error) {
	within, err := c.unfilled(ctx, w, e.Shape, e.Part, e.Part.Len(), src)
	if err != nil {
		return false, err
	}
	all := strided.Part{Start: make([]int64, len(e.Shape)), Step: make([]int64, len(e.Shape)), Count: e.Shape}
	for i := range all.Step {
		all.Step[i] = 1
	}
	n, err := c.unfilled(ctx, w, e.Shape, all, within, src)
	return n == within, err
}

// unfilled counts the elements of a part of a stored chunk that are not the fill value,
// up to more than so many.
func (c *Chain) unfilled(ctx context.Context, w *Work, shape []int64, part strided.Part, most int64, src Source) (n int64, err error) {
	cuts := make([]grid.Cut, len(shape))
	for i, length := range shape {
		cuts[i] = grid.Every(length)
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		return 0, err
	}
	size, fill := c.spec.Width(), c.spec.Element()
	b := budget.Get(mostStretch)
	defer b.Put()
	for box := range selection.OfPart(part).Slabs(g, int64(size), mostStretch) {
		p := Part{Shape: shape, Part: strided.Part{Step: part.Step, Count: box.Shape()}}
		for i, in := range box {
			p.Start = append(p.Start, part.Start[i]+in.Start*part.Step[i])
		}
		p.Into = strided.Contiguous(b.Bytes(p.Len()*int64(size)), p.Count, size)
		if err := c.DecodePart(ctx, w, p, src); err != nil {
			return 0, err
		}
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
