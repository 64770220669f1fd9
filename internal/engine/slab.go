// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"iter"
	"math"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// Slab is a run of planes of an array along one axis. The chunks that will store them may
// have more planes.
type Slab struct {
	Axis        int
	Start, Stop int64        // planes
	Planes      strided.View // their elements; without data after encoding
	Bytes       int64        // of the encoded parts

	layer Layer    // of the planes, after encoding
	parts [][]byte // encoded, for every chunk across the axis; nil if only the fill value
	notes []Record // of the parts, nil where nothing is noted
}

// Layer is the planes that share a chunk, and those that share an inner chunk.
type Layer struct {
	Chunk  grid.Interval // planes of the chunk
	Planes grid.Interval // planes of the inner chunk, or of the chunk if it has none

	offset, depth int64 // the planes, within the chunk, that are encoded without the rest
	inner         int64 // the number of the first inner chunk of these along the axis
}

// LayerOf returns the layer of a plane. It returns [grid.ErrOutOfRange] if the grid does
// not have the plane.
func (a *Array) LayerOf(axis int, plane int64) (Layer, error) {
	cut := a.Grid.Axis(axis)
	k, within, ok := cut.Locate(plane)
	if !ok {
		return Layer{}, fmt.Errorf("%w: plane %d of axis %d with extent %d", grid.ErrOutOfRange, plane, axis, cut.Extent())
	}
	cell, _ := cut.Cell(k)
	stop, ok := checked.Add(cell.Start, cell.Edge)
	if !ok {
		return Layer{}, &grid.AxisError{Axis: axis, Err: fmt.Errorf("%w: chunk %d ends beyond it", grid.ErrOverflow, k)}
	}
	l := Layer{Chunk: grid.Interval{Start: cell.Start, Stop: stop}, depth: cell.Encoded}
	l.Planes = l.Chunk
	cuts := a.Chain.Inner()
	if cuts == nil {
		return l, nil
	}
	inner, err := grid.NewAxis(cell.Encoded, cuts[axis])
	if err != nil {
		return Layer{}, &grid.AxisError{Axis: axis, Err: err}
	}
	j, _, _ := inner.Locate(within)
	c, _ := inner.Cell(j)
	l.Planes = grid.Interval{Start: cell.Start + c.Start, Stop: min(stop, cell.Start+c.Start+c.Edge)}
	if inner.IsRegular() {
		// With listed edges, a shard of this depth would have other inner chunks.
		l.offset, l.depth, l.inner = c.Start, c.Encoded, j
	}
	return l, nil
}

// part returns the planes as a part of an array of the given shape.
func (s *Slab) part(shape []int64) strided.Part {
	p := wholePart(shape)
	p.Start[s.Axis], p.Count[s.Axis] = s.Start, s.Stop-s.Start
	return p
}

// encodedSlab is a worker with the number of its chunk in the slab.
type encodedSlab struct {
	*worker
	number int
}

// Encode encodes planes that fill a layer, and drops their elements. The planes must lie
// within the array.
func (a *Array) Encode(ctx context.Context, s *Slab) (err error) {
	if s.layer, err = a.LayerOf(s.Axis, s.Start); err != nil {
		return err
	}
	shape := a.Grid.Shape()
	region := grid.BoxOf(shape)
	region[s.Axis] = grid.Interval{Start: s.Start, Stop: s.Stop}
	cells, err := a.Grid.Touched(region)
	if err != nil {
		return err
	}
	n, ok := cells.Len()
	if !ok || n > math.MaxInt32 {
		return fmt.Errorf("%w: planes of %v chunks", ErrLimit, cells.Shape())
	}
	part, parts, notes := s.part(shape), make([][]byte, n), make([]Record, n)
	r, index, more, number := a.newRun(cells, n), make([]int64, len(cells)), true, -1
	err = each(ctx, r.workers,
		func(w *encodedSlab) bool {
			if number++; number == 0 {
				more = cells.First(index)
			} else {
				more = more && cells.Next(index)
			}
			copy(w.Visit.Chunk, index)
			w.number = number
			return more
		},
		func() *encodedSlab { return &encodedSlab{worker: newWorker(r)} },
		func(ctx context.Context, w *encodedSlab) (err error) {
			parts[w.number], err = w.encode(ctx, s, part)
			notes[w.number] = w.record
			return w.fail(err)
		})
	if err != nil {
		return err
	}
	// The encoded parts replace the elements, so drop these.
	s.parts, s.notes, s.Planes, s.Bytes = parts, notes, strided.View{}, 0
	for _, p := range parts {
		s.Bytes += int64(cap(p))
	}
	return nil
}

// encode returns the encoded form of the planes in the worker's chunk, within the budget.
func (w *worker) encode(ctx context.Context, s *Slab, part strided.Part) ([]byte, error) {
	n, err := w.begin()
	weight := n * int64(2+w.Chain.Buffers())
	switch {
	case w.Chain.Divided():
		shape := w.insetShape(s.layer, s.Axis)
		weight = 2 * w.Chain.Weight(coding.Extract{Shape: shape, Part: wholePart(shape)}, cap(w.cores))
	case err != nil:
		return nil, err
	}
	if weight, err = w.bytes.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	defer w.bytes.Release(weight)
	if w.Chain.Divided() {
		w.beginRecord(ctx, strided.View{})
		return w.encodeLayer(ctx, s, part, weight)
	}
	return w.encodeChunk(ctx, s, part, n)
}

// encodeChunk returns the encoded form of a whole chunk of n bytes, or nil if it has only
// the fill value.
func (w *worker) encodeChunk(ctx context.Context, s *Slab, part strided.Part, n int64) ([]byte, error) {
	w.Seek(w.Grid, part, w.Visit.Chunk)
	w.Into(s.Planes)
	if !w.KeepFill && w.Target.AllEqual(w.Fill) {
		return nil, nil
	}
	v := w.Target
	// A boundary chunk is stored in its encoded shape. Beyond the array it has the fill
	// value.
	if w.Cell.IsBoundary() {
		b := budget.Get(n)
		defer b.Put()
		w.Show(b.Bytes(n), w.Heap.New())
		strided.FillBytes(w.Decoded.Data, w.Fill)
		w.Take()
		strided.Copy(w.Taken, w.Target)
		v = w.Decoded
	}
	w.cores.Enter()
	defer w.cores.Leave()
	w.beginRecord(ctx, v)
	out, b, err := w.encoded(ctx, v, n, false)
	defer b.Put()
	if err != nil {
		return nil, err
	}
	// Encoded slabs are held for long, so keep no spare capacity.
	return append(make([]byte, 0, len(out)), out...), nil
}

// insetShape returns the shape of a layer of the worker's chunk.
func (w *worker) insetShape(l Layer, axis int) []int64 {
	shape := append([]int64(nil), w.Cell.Encoded...)
	shape[axis] = l.depth
	return shape
}

// encodeLayer encodes the planes of the worker's chunk as a shard with one layer of inner
// chunks. It returns nil if they have only the fill value.
func (w *worker) encodeLayer(ctx context.Context, s *Slab, part strided.Part, weight int64) ([]byte, error) {
	w.Seek(w.Grid, part, w.Visit.Chunk)
	w.Into(s.Planes)
	// The layer is encoded as a shard of its own, which begins at its first plane.
	w.Part.Start[s.Axis] -= s.layer.offset
	e := coding.Edit{Shape: w.insetShape(s.layer, s.Axis), Part: w.Part, Values: w.Target, KeepFill: w.KeepFill}
	out, err := w.Chain.EncodePart(ctx, w.work(weight), e, nil)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	if out.Empty {
		return nil, nil
	}
	return out.AppendTo(make([]byte, 0, out.Size)), nil
}

// WriteSlabs stores consecutive slabs along an axis, each chunk once. They must lie
// within the array. It copies the bytes of encoded slabs. Of the others, only the first
// may begin within a layer. A slab that is longer than a layer must be the only one.
func (a *Array) WriteSlabs(ctx context.Context, slabs []*Slab, how Writing) error {
	axis, region := slabs[0].Axis, grid.BoxOf(a.Grid.Shape())
	region[axis] = grid.Interval{Start: slabs[0].Start, Stop: slabs[len(slabs)-1].Stop}
	cells, err := a.Grid.Touched(region)
	if err != nil {
		return err
	}
	indices, stop := iter.Pull(cells.IndicesInto(make([]int64, len(cells))))
	defer stop()
	r := a.newRun(cells, math.MaxInt64)
	next := func(w *writer) bool {
		index, more := indices()
		copy(w.Visit.Chunk, index)
		return more
	}
	write := func(ctx context.Context, w *writer) error { return w.fail(w.writeSlabs(ctx, slabs)) }
	// The first chunk decides between concurrent appends; see [Array.Write].
	if how.FirstAlone {
		if w := r.newWriter(how); next(w) {
			if err := write(ctx, w); err != nil {
				return err
			}
		}
	}
	return each(ctx, r.workers, next, func() *writer { return r.newWriter(how) }, write)
}

// writeSlabs stores one chunk of the slabs.
func (w *writer) writeSlabs(ctx context.Context, slabs []*Slab) error {
	n, err := w.begin()
	axis := slabs[0].Axis
	from, edge := w.Cell.Start[axis], w.Cell.Logical[axis]
	var here []*Slab
	for _, s := range slabs {
		if s.Start < from+edge && s.Stop > from {
			here = append(here, s)
		}
	}
	// One slab that is not encoded is an ordinary write.
	if len(here) == 1 && here[0].parts == nil {
		w.Seek(w.Grid, here[0].part(w.Grid.Shape()), w.Visit.Chunk)
		return w.write(ctx, here[0].Planes)
	}
	if w.Chain.Divided() {
		return w.hold(ctx, w.editWeight(), func(weight int64) error { return w.writeLayers(ctx, here, weight) })
	}
	if err != nil {
		return err
	}
	return w.putEncoded(ctx, here[0], w.across(axis), n)
}

// across returns the number of the worker's chunk among those across an axis.
func (w *worker) across(axis int) int {
	n := int64(0)
	for i, at := range w.Visit.Chunk {
		if i != axis {
			n = n*w.Grid.Axis(i).Chunks() + at
		}
	}
	return int(n)
}

// putEncoded stores an encoded chunk of a slab, of n decoded bytes. One without a value
// has the fill value.
func (w *writer) putEncoded(ctx context.Context, s *Slab, number int, n int64) error {
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.Release(1)
	w.condition = store.Condition{} // the slab fills the chunk, so nothing of a stored version stays
	if value := s.parts[number]; value != nil {
		if w.beginRecord(ctx, strided.View{}); w.record != nil {
			w.record.Note(nil, strided.View{})
			w.record.Take(s.notes[number], nil)
		}
		return w.store(ctx, value)
	}
	shape := w.Cell.Encoded
	fill := strided.View{Data: w.Fill, Shape: shape, Strides: make([]int64, len(shape)), Size: w.Size, Heap: w.Heap}
	return w.put(ctx, fill, n)
}

// writeLayers adds layers to a shard, with its lock and weight bytes of the budget. All
// but the first and the last must be encoded.
func (w *writer) writeLayers(ctx context.Context, layers []*Slab, weight int64) (err error) {
	e := coding.Edit{Keep: w.keep()}
	shape := w.Grid.Shape()
	for i := len(layers) - 1; i >= 0; i-- {
		s := layers[i]
		// The first slab may begin within a layer, so merge it with the stored elements.
		if i == 0 && s.parts == nil {
			w.Seek(w.Grid, s.part(shape), w.Visit.Chunk)
			w.Into(s.Planes)
			e.Part, e.Values = w.Part, w.Target
			continue
		}
		layer, chunk, notes := s.layer, []byte(nil), Record(nil)
		if s.parts != nil {
			chunk, notes = s.parts[w.across(s.Axis)], s.notes[w.across(s.Axis)]
		} else {
			w.beginRecord(ctx, strided.View{})
			if chunk, layer, err = w.encodeLast(ctx, s, weight); err != nil {
				return err
			}
			notes = w.record
		}
		if chunk != nil {
			start := make([]int64, len(shape))
			start[s.Axis] = layer.offset
			e.Insets = append(e.Insets, coding.Inset{Start: start, Shape: w.insetShape(layer, s.Axis), Chunk: chunk})
		}
		if notes != nil {
			offset := make([]int64, len(shape))
			offset[s.Axis] = layer.inner
			w.layers = append(w.layers, noted{notes, offset})
		}
	}
	return w.edit(ctx, weight, e, true)
}

// encodeLast returns the encoded form of the last slab, which need not fill its layer.
func (w *writer) encodeLast(ctx context.Context, s *Slab, weight int64) ([]byte, Layer, error) {
	layer, err := w.LayerOf(s.Axis, s.Start)
	if err != nil {
		return nil, layer, err
	}
	last := &Slab{Axis: s.Axis, Start: s.Start, Stop: s.Stop, Planes: s.Planes, layer: layer}
	chunk, err := w.encodeLayer(ctx, last, s.part(w.Grid.Shape()), weight)
	return chunk, layer, err
}
