// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"cmp"
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

// Method is how one element is made of a block.
type Method string

// The methods. Elements that tie for the mode give the smallest of them.
const (
	Mean    Method = "mean"    // of numbers
	Nearest Method = "nearest" // the first element of the block, of any type of fixed size
	Mode    Method = "mode"    // the most frequent element, for labels
	Min     Method = "min"
	Max     Method = "max"
)

// Methods returns all methods.
func Methods() []Method { return []Method{Mean, Nearest, Mode, Min, Max} }

// centred reports whether an element stands for the whole block, and not for its first
// element. Then its position is the centre of the block.
func (m Method) centred() bool { return m != Nearest }

// reversed returns the method for numbers in the opposite order.
func (m Method) reversed() Method {
	switch m {
	case Min:
		return Max
	case Max:
		return Min
	}
	return m
}

// extremes makes the smallest or the largest element of every block without looking at
// blocks one by one: it compares whole rows. NaN is a missing value, and a row that has
// one is made by plain.
func extremes[T short | wide | float](m Method, plain rowMaker) rowMaker {
	extend := smallest[T]
	if m == Max {
		extend = largest[T]
	}
	return func(width int) makeRow {
		var slow makeRow
		return func(dst []byte, rows [][]byte, f int) {
			out := as[T](dst)
			for j := range out {
				out[j] = as[T](rows[0])[j*f]
			}
			missing := false
			for _, r := range rows {
				extend(out, as[T](r), f)
			}
			for _, x := range out {
				missing = missing || isNaN(x)
			}
			if missing {
				if slow == nil {
					slow = plain(width)
				}
				slow(dst, rows, f)
			}
		}
	}
}

// largest makes each element of out the largest of it and of the elements of its block in
// a row. NaN stays.
func largest[T short | wide | float](out, row []T, f int) {
	if f == 2 {
		// Four blocks at a time, whose bounds are checked once.
		for len(row) >= 8 && len(out) >= 4 {
			o, r := out[:4:4], row[:8:8]
			o[0] = max(o[0], r[0], r[1])
			o[1] = max(o[1], r[2], r[3])
			o[2] = max(o[2], r[4], r[5])
			o[3] = max(o[3], r[6], r[7])
			out, row = out[4:], row[8:]
		}
	}
	for j := range out {
		for _, x := range row[j*f : min(j*f+f, len(row))] {
			out[j] = max(out[j], x)
		}
	}
}

// smallest is largest for the smallest element.
func smallest[T short | wide | float](out, row []T, f int) {
	if f == 2 {
		for len(row) >= 8 && len(out) >= 4 {
			o, r := out[:4:4], row[:8:8]
			o[0] = min(o[0], r[0], r[1])
			o[1] = min(o[1], r[2], r[3])
			o[2] = min(o[2], r[4], r[5])
			o[3] = min(o[3], r[6], r[7])
			out, row = out[4:], row[8:]
		}
	}
	for j := range out {
		for _, x := range row[j*f : min(j*f+f, len(row))] {
			out[j] = min(out[j], x)
		}
	}
}

// mode returns the most frequent value, the smallest of several. It sorts the block.
func mode[T cmp.Ordered](block []T) T {
	// Most blocks of labels have one value.
	if !slices.ContainsFunc(block, func(x T) bool { return x != block[0] }) {
		return block[0]
	}
	slices.Sort(block)
	best, most := block[0], 0
	for from := 0; from < len(block); {
		n := 1
		for from+n < len(block) && block[from+n] == block[from] {
			n++
		}
		if n > most {
			best, most = block[from], n
		}
		from += n
	}
	return best
}

// modes makes the modes of blocks of 2 × 2 elements. Those of other blocks are made by
// plain.
func modes[T short | wide](plain rowMaker) rowMaker {
	return func(width int) makeRow {
		var slow makeRow
		return func(dst []byte, rows [][]byte, f int) {
			if len(rows) != 2 || f != 2 {
				if slow == nil {
					slow = plain(width)
				}
				slow(dst, rows, f)
				return
			}
			out, above, below := as[T](dst), as[T](rows[0]), as[T](rows[1])
			for len(out) > 0 && len(above) >= 2 && len(below) >= 2 {
				out[0] = modeOfFour(above[0], above[1], below[0], below[1])
				out, above, below = out[1:], above[2:], below[2:]
			}
			if len(out) > 0 { // a column alone
				out[0] = min(above[0], below[0])
			}
		}
	}
}

// modeOfFour returns the most frequent of four values, the smallest of several.
func modeOfFour[T short | wide](a, b, c, d T) T {
	if a == b && c == d {
		return min(a, c)
	}
	a, b = min(a, b), max(a, b)
	c, d = min(c, d), max(c, d)
	a, c = min(a, c), max(a, c)
	b, d = min(b, d), max(b, d)
	b, c = min(b, c), max(b, c)
	switch { // they are in order
	case a == b:
		return a
	case b == c:
		return b
	case c == d:
		return c
	}
	return a
}
