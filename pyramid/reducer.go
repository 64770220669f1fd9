// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
)

// reducer makes one element of every block of elements.
type reducer struct {
	factors []int64
	rows    rowMaker // nil takes the first element
}

// rowMaker returns the function that makes rows of at most width elements. The function
// has memory of its own, so every goroutine needs another one.
type rowMaker func(width int) makeRow

// makeRow makes a row of elements from the rows of their blocks. Block j has the elements
// from f*j to f*j+f of every row, or fewer at the end of the rows.
type makeRow func(dst []byte, rows [][]byte, f int)

// reduce makes the elements of dst from the blocks of src. The last axis of both is
// contiguous.
func (r *reducer) reduce(dst, src strided.View) {
	if r.rows == nil {
		r.pick(dst, src)
		return
	}
	last := len(dst.Shape) - 1
	row, f := r.rows(int(dst.Shape[last])), int(r.factors[last])
	var rows [][]byte
	block, at := make(grid.Box, last), make([]int64, last)
	for index := range grid.BoxOf(dst.Shape[:last]).IndicesInto(make([]int64, last)) {
		for i, k := range index {
			start := k * r.factors[i]
			block[i] = grid.Interval{Start: start, Stop: min(start+r.factors[i], src.Shape[i])}
		}
		rows = rows[:0]
		for below := range block.IndicesInto(at) {
			rows = append(rows, rowAt(src, below))
		}
		row(rowAt(dst, index), rows, f)
	}
}

// rowAt returns the elements of the last axis at an index of the others.
func rowAt(v strided.View, index []int64) []byte {
	from := v.Offset
	for i, k := range index {
		from += k * v.Strides[i]
	}
	return v.Data[from : from+v.Shape[len(index)]*int64(v.Size)]
}

// pick copies the first element of every block.
func (r *reducer) pick(dst, src strided.View) {
	src.Strides, src.Shape = slices.Clone(src.Strides), dst.Shape
	for i := range src.Strides {
		src.Strides[i] *= r.factors[i]
	}
	strided.Copy(dst, src)
}

// above returns the box of the level that a box of the level below touches.
func (r *reducer) above(box grid.Box) grid.Box {
	b := slices.Clone(box)
	for i, f := range r.factors {
		b[i] = grid.Interval{Start: box[i].Start / f, Stop: checked.CeilDiv(box[i].Stop, f)}
	}
	return b
}

// below returns the box of the level below that a box is made from. shape is that of the
// level below.
func (r *reducer) below(box grid.Box, shape []int64) grid.Box {
	b := slices.Clone(box)
	for i, f := range r.factors {
		// Stop is at most the extent of the level, which is at most ceil(shape/f), so
		// that the product cannot overflow by more than the last block.
		b[i] = grid.Interval{Start: box[i].Start * f, Stop: shape[i]}
		if box[i].Stop <= shape[i]/f {
			b[i].Stop = box[i].Stop * f
		}
	}
	return b
}
