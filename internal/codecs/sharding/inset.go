// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
)

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
		if d.given == nil {
			d.given = make([][]byte, d.n)
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
		if d.todo[k] == changes {
			gone++
		}
		d.todo[k], d.given[k] = comes, chunk[off:off+n] // keep the capacity: addData joins neighbours
	}
	return gone, nil
}

// insetPlace returns the index of the first inner chunk of an inset in the shard. If the
// inset and its place have different cuts, inner chunks would have other shapes, and the
// error wraps [codec.ErrConfiguration].
func (d *editor) insetPlace(in coding.Inset) ([]int64, error) {
	if len(in.Start) != len(d.chunks) || len(in.Shape) != len(d.chunks) {
		return nil, fmt.Errorf("%w: it begins at %v and has the shape %v, the shard has %d axes", codec.ErrConfiguration, in.Start, in.Shape, len(d.chunks))
	}
	g, err := d.cut.of(in.Shape)
	if err != nil {
		return nil, err
	}
	from := make([]int64, len(in.Start))
	for i, start := range in.Start {
		here := d.grid.Axis(i)
		chunk, within, ok := here.Locate(start)
		if !ok || within != 0 || !sameCells(here, chunk, g.Axis(i)) {
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
