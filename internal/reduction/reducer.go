// SPDX-License-Identifier: Apache-2.0

// Package reduction makes one element of every block of elements. Package pyramid makes
// levels of arrays with it, and package serve coarsens views.
package reduction

import (
	"fmt"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// Method is how one element is made of a block.
type Method string

// The methods. Package pyramid describes them.
const (
	Mean    Method = "mean"
	Nearest Method = "nearest"
	Mode    Method = "mode"
	Min     Method = "min"
	Max     Method = "max"
)

// MostBlock bounds the elements of a block, for all methods except [Nearest]. The sums of
// [short] integers fit into 64 bits only for so many.
const MostBlock = 1 << 20

// Reducer makes one element of every block of elements. It is safe for concurrent use.
type Reducer struct {
	Block []int64  // the shape of a block
	rows  rowMaker // nil takes the first element
}

// rowMaker returns the function that makes rows of at most width elements. The function
// has memory of its own, so every goroutine needs another one.
type rowMaker func(width int) makeRow

// makeRow makes a row of elements from the rows of their blocks. Block j has the elements
// from f*j to f*j+f of every row, or fewer at the end of the rows.
type makeRow func(dst []byte, rows [][]byte, f int)

// New returns the reducer for elements of type t in blocks of a shape. absent are
// elements that are missing values. A type of variable size is [fault.ErrUnsupported],
// one without the method [fault.ErrInvalidArgument].
func New(t dtype.Type, m Method, block []int64, absent [][]byte) (*Reducer, error) {
	if t.Variable() {
		return nil, fmt.Errorf("%w: elements of type %s have no fixed size", fault.ErrUnsupported, t)
	}
	r := &Reducer{Block: block}
	// Nearest copies bytes, so it needs no knowledge of the type.
	if m == Nearest {
		return r, nil
	}
	if r.rows = rowsOf(t, m, absent); r.rows == nil {
		return nil, fmt.Errorf("%w: elements of type %s have no %s; the method nearest takes any type of fixed size", fault.ErrInvalidArgument, t, m)
	}
	if m == Mean {
		r.rows = newApart(t, absent).rows(r.rows)
	}
	return r, nil
}

// Supports reports whether elements of type t have a method.
func Supports(t dtype.Type, m Method) bool {
	return !t.Variable() && (m == Nearest || rowsOf(t, m, nil) != nil)
}

// Bytes returns the memory that [Reducer.Reduce] may take for one element of a block, in
// bytes, with the element itself. Numbers that Go has not are converted.
func Bytes(t dtype.Type) int {
	if _, ok := number.Of(t); ok && native[t.Name()] == nil {
		return t.Size() + 8
	}
	return t.Size()
}

// Reduce makes the elements of dst from the blocks of src. The last axis of both is
// contiguous.
func (r *Reducer) Reduce(dst, src strided.View) {
	if r.rows == nil {
		r.pick(dst, src)
		return
	}
	last := len(dst.Shape) - 1
	row, f := r.rows(int(dst.Shape[last])), int(r.Block[last])
	var rows [][]byte
	block, at := make(grid.Box, last), make([]int64, last)
	for index := range grid.BoxOf(dst.Shape[:last]).IndicesInto(make([]int64, last)) {
		for i, k := range index {
			start := k * r.Block[i]
			block[i] = grid.Interval{Start: start, Stop: min(start+r.Block[i], src.Shape[i])}
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
func (r *Reducer) pick(dst, src strided.View) {
	src.Strides, src.Shape = slices.Clone(src.Strides), dst.Shape
	for i := range src.Strides {
		src.Strides[i] *= r.Block[i]
	}
	strided.Copy(dst, src)
}

// Shape returns the shape of the level above one with the given shape.
func (r *Reducer) Shape(below []int64) []int64 {
	shape := slices.Clone(below)
	for i, f := range r.Block {
		shape[i] = checked.CeilDiv(below[i], f)
	}
	return shape
}

// Above returns the box of the level that a box of the level below touches.
func (r *Reducer) Above(box grid.Box) grid.Box {
	b := slices.Clone(box)
	for i, f := range r.Block {
		b[i] = grid.Interval{Start: box[i].Start / f, Stop: checked.CeilDiv(box[i].Stop, f)}
	}
	return b
}

// Below returns the box of the level below that a box is made from. shape is that of the
// level below.
func (r *Reducer) Below(box grid.Box, shape []int64) grid.Box {
	b := slices.Clone(box)
	for i, f := range r.Block {
		// Stop is at most the extent of the level, which is at most ceil(shape/f), so
		// that the product cannot overflow by more than the last block.
		b[i] = grid.Interval{Start: box[i].Start * f, Stop: shape[i]}
		if box[i].Stop <= shape[i]/f {
			b[i].Stop = box[i].Stop * f
		}
	}
	return b
}

// AreNames reports whether the elements of an array are names, such as classes, of which
// a mean would be the name of something else: booleans, elements with the attribute
// flag_values or flag_masks of CF, and those of label images of OME-Zarr. above are the
// attributes of the group that holds the array.
func AreNames(t dtype.Type, attributes, above []byte) bool {
	return t.Kind() == dtype.KindBool || hasAny(attributes, "flag_values", "flag_masks") || isLabels(above)
}

// isLabels reports whether the attributes of a group are those of a label image of
// OME-Zarr: of 0.5, below "ome", or of 0.4.
func isLabels(attributes []byte) bool {
	ome, _, _ := metadata.Attribute(attributes, "ome")
	return hasAny(attributes, "image-label") || hasAny(ome, "image-label")
}

// hasAny reports whether attributes have one of the members.
func hasAny(attributes []byte, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, found, err := metadata.Attribute(attributes, name)
		return found && err == nil
	})
}
