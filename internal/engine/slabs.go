// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"iter"
	"math"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

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
		return w.writeLayers(ctx, here)
	}
	if err != nil {
		return err
	}
	return w.putEncoded(ctx, here[0].parts[w.across(axis)], n)
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

// putEncoded stores an encoded chunk of n decoded bytes. A nil value is the fill value.
func (w *writer) putEncoded(ctx context.Context, value []byte, n int64) error {
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.Release(1)
	w.on = store.Condition{} // the slab fills the chunk, so nothing of a stored version stays
	if value != nil {
		return w.store(ctx, value)
	}
	shape := w.Cell.Encoded
	fill := strided.View{Data: w.Fill, Shape: shape, Strides: make([]int64, len(shape)), Size: w.Size, Heap: w.Heap}
	return w.put(ctx, fill, n)
}

// writeLayers adds layers to a shard. All but the first and the last must be encoded.
func (w *writer) writeLayers(ctx context.Context, layers []*Slab) error {
	weight, err := w.bytes.Acquire(ctx, w.editWeight())
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.Release(1)
	e := coding.Edit{Keep: w.keep()}
	shape := w.Grid.Shape()
	for i := len(layers) - 1; i >= 0; i-- {
		s := layers[i]
		// The first slab may begin within a layer, so merge it with the stored elements.
		if i == 0 && s.parts == nil {
			w.Seek(w.Grid, s.part(shape), w.Visit.Chunk)
			w.Into(s.Planes)
			e.Part, e.Values = w.Part, w.Placed
			continue
		}
		layer, chunk := s.layer, []byte(nil)
		if s.parts != nil {
			chunk = s.parts[w.across(s.Axis)]
		} else if chunk, layer, err = w.encodeLast(ctx, s, weight); err != nil {
			return err
		}
		if chunk != nil {
			start := make([]int64, len(shape))
			start[s.Axis] = layer.offset
			e.Insets = append(e.Insets, coding.Inset{Start: start, Shape: w.insetShape(layer, s.Axis), Chunk: chunk})
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
