// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/fault"
)

// Numbers are the chunks whose numbers in the C order of the grid are From or greater and
// less than To. If To is 0, they are all chunks.
type Numbers struct{ From, To int64 }

// isAll reports whether n does not limit the chunks.
func (n Numbers) isAll() bool { return n == Numbers{} }

// Boxes returns disjoint boxes that together hold the chunks, in C order. There are fewer
// than two per axis. shape is the number of chunks along each axis. Numbers beyond the
// last chunk are no chunks. If the chunks have no numbers because there are 2^63 or more,
// the error wraps [grid.ErrOverflow].
func (n Numbers) Boxes(shape []int64) ([]grid.Box, error) {
	if n.From < 0 || n.To < n.From {
		return nil, fmt.Errorf("%w: chunks from number %d to %d", fault.ErrInvalidArgument, n.From, n.To)
	}
	all := grid.BoxOf(shape)
	if n.isAll() {
		return []grid.Box{all}, nil
	}
	count, ok := checked.Product(shape...)
	if !ok {
		return nil, fmt.Errorf("%w: %v chunks cannot be numbered", grid.ErrOverflow, shape)
	}
	c := &cutter{box: all}
	c.cut(0, count, n.From, min(n.To, count))
	return c.found, nil
}

// cutter cuts a range of numbers into boxes.
type cutter struct {
	box   grid.Box // one index along the axes before that which is cut
	found []grid.Box
}

// cut adds the boxes of a range of numbers. The indices along the axes before axis are
// fixed, and count is the number of indices along the others.
func (c *cutter) cut(axis int, count, from, to int64) {
	if from >= to {
		return
	}
	if from == 0 && to == count {
		c.found = append(c.found, slices.Clone(c.box))
		return
	}
	whole := c.box[axis]
	defer func() { c.box[axis] = whole }()
	row := count / whole.Len()
	first, last := from/row, to/row
	if first == last {
		c.box[axis] = grid.Interval{Start: first, Stop: first + 1}
		c.cut(axis+1, row, from-first*row, to-first*row)
		return
	}
	if begun := from % row; begun > 0 {
		c.box[axis] = grid.Interval{Start: first, Stop: first + 1}
		c.cut(axis+1, row, begun, row)
		first++
	}
	if first < last {
		c.box[axis] = grid.Interval{Start: first, Stop: last}
		c.found = append(c.found, slices.Clone(c.box))
	}
	c.box[axis] = grid.Interval{Start: last, Stop: last + 1}
	c.cut(axis+1, row, 0, to-last*row)
}

// numberIn returns the number of an index in the C order of a box.
func numberIn(cells grid.Box, index []int64) (k int64) {
	for i, in := range cells {
		k = k*in.Len() + index[i] - in.Start
	}
	return k
}
