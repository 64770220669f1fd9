// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
	"unsafe"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
)

// mask has a boolean for each element, and running counts, which find the place of an
// element quickly.
type mask struct {
	shape  []int64
	data   []byte
	counts []int64 // selected elements before each stretch of maskStretch elements
}

// maskStretch is the number of elements between two running counts.
const maskStretch = 512

// OfMask returns the elements of an array of the given shape for which data is true. data
// is in C order, has one boolean for each element, and is not copied.
func OfMask(shape []int64, data []bool) *Elements {
	// A bool is one byte that is 0 or 1. As bytes, many can be searched at once.
	out := &mask{shape: slices.Clone(shape), data: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data))}
	out.counts = make([]int64, 0, len(data)/maskStretch+2)
	count := int64(0)
	for stretch := range slices.Chunk(out.data, maskStretch) {
		out.counts = append(out.counts, count)
		count += countTrue(stretch)
	}
	out.counts = append(out.counts, count)
	return &Elements{source: out.shape, mask: out, count: count}
}

func countTrue(b []byte) int64 { return int64(bytes.Count(b, []byte{1})) }

// countBefore returns the number of selected elements before element n in C order.
func (m *mask) countBefore(n int64) int64 {
	k := n / maskStretch
	return m.counts[k] + countTrue(m.data[k*maskStretch:n])
}

// points returns the selected elements with numbers from start up to but not including
// stop, as points.
func (m *mask) points(start, stop int64) *points {
	n := stop - start
	p := &points{shape: []int64{n}, coords: make([]Coords, len(m.shape))}
	for i := range p.coords {
		p.coords[i] = Coords{Data: make([]int64, n), Strides: []int64{1}, Least: m.shape[i]}
	}
	// Begin with the stretch that holds the first of the elements.
	k := max(0, sort.Search(len(m.counts), func(i int) bool { return m.counts[i] > start })-1)
	number := m.counts[k]
	// Jump from one selected element to the next.
	for at := int64(k) * maskStretch; number < stop; at++ {
		at += int64(bytes.IndexByte(m.data[at:], 1))
		if number >= start {
			m.setPoint(p, number-start, at)
		}
		number++
	}
	return p
}

// setPoint sets point k to the element with the given number in C order.
func (m *mask) setPoint(p *points, k, at int64) {
	for i := len(m.shape) - 1; i >= 0; i-- {
		c := &p.coords[i]
		c.Data[k] = at % m.shape[i]
		at /= m.shape[i]
		c.Least, c.Most = min(c.Least, c.Data[k]), max(c.Most, c.Data[k])
	}
}

// within appends the selected elements of a cell of the array to dst.
func (m *mask) within(dst []strided.Point, cell *grid.Chunk) []strided.Point {
	w := maskWalk{mask: m, cell: cell, dst: dst}
	w.walk(0, 0, 0)
	return w.dst
}

// maskWalk visits the rows of one cell.
type maskWalk struct {
	*mask
	cell *grid.Chunk
	dst  []strided.Point
}

// walk visits the rows along the axes from axis on. from is the number of the row in the
// array, at its number in the cell.
func (w *maskWalk) walk(axis int, from, at int64) {
	if axis == len(w.shape) {
		w.row(from, at, 1)
		return
	}
	// Add the index along this axis to both numbers.
	from, at = from*w.shape[axis]+w.cell.Start[axis], at*w.cell.Encoded[axis]
	if axis == len(w.shape)-1 {
		w.row(from, at, w.cell.Logical[axis])
		return
	}
	for k := range w.cell.Logical[axis] {
		w.walk(axis+1, from+k, at+k)
	}
}

// row appends the selected ones of n adjacent elements.
func (w *maskWalk) row(from, at, n int64) {
	row := w.data[from : from+n]
	// In a sparse mask most rows are empty.
	first := bytes.IndexByte(row, 1)
	if first < 0 {
		return
	}
	// Eight booleans at a time: each is one byte that is 0 or 1, so every set bit is a
	// selected element.
	k, place := first&^7, w.countBefore(from)
	for ; k+8 <= len(row); k += 8 {
		for eight := binary.LittleEndian.Uint64(row[k:]); eight != 0; eight &= eight - 1 {
			w.dst = append(w.dst, strided.Point{At: at + int64(k+bits.TrailingZeros64(eight)/8), Place: place})
			place++
		}
	}
	for ; k < len(row); k++ {
		if row[k] != 0 {
			w.dst = append(w.dst, strided.Point{At: at + int64(k), Place: place})
			place++
		}
	}
}
