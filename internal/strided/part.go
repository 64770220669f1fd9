// SPDX-License-Identifier: Apache-2.0

package strided

import "varve.dev/zarr/internal/checked"

// Part selects elements of a block. Along every axis it takes Count elements from Start
// on that are Step apart, unless Picks says otherwise.
type Part struct {
	Start, Step, Count []int64
	Picks              *Picks
}

// Len returns the number of elements in the part. It does not check for overflow.
func (p Part) Len() int64 {
	if p.Picks != nil && p.Picks.Points != nil {
		return int64(len(p.Picks.Points))
	}
	n := int64(1)
	for _, c := range p.Count {
		n *= c
	}
	return n
}

// Covers reports whether the part takes every element of a cell of the given shape with
// all its bytes. The numbers of points refer to the shape encoded.
func (p Part) Covers(shape, encoded []int64) bool {
	switch {
	case p.Picks == nil:
	// Windows are assumed to leave out some bytes.
	case len(p.Picks.Windows) > 0:
		return false
	case p.Picks.Points != nil:
		return coverAll(p.Picks.Points, shape, encoded)
	}
	for i, n := range shape {
		if p.Picks != nil && p.Picks.listed(i) {
			if p.Picks.Lists[i].distinct() != n {
				return false
			}
		} else if p.Start[i] != 0 || p.Count[i] != n || p.Step[i] != 1 && n > 1 {
			return false
		}
	}
	return true
}

// coverAll reports whether the points name every element of the given shape within a cell
// of shape encoded.
func coverAll(points []Point, shape, encoded []int64) bool {
	want, most := int64(1), 16*int64(len(points))
	all, ok := checked.Product(encoded...)
	if !ok || all > most {
		// The bitmap below would be far larger than the list of points.
		return false
	}
	for _, n := range shape {
		want *= n
	}
	if want > int64(len(points)) {
		return false
	}
	// Points may name an element several times, so count the distinct ones.
	seen := make([]uint64, all/64+1)
	for _, p := range points {
		if bit := uint64(1) << (p.At % 64); seen[p.At/64]&bit == 0 {
			seen[p.At/64] |= bit
			want--
		}
	}
	return want == 0
}

// Picks extends what a [Part] takes: elements that lists or points name, and bytes of
// elements. Functions that receive a Picks do not modify it.
type Picks struct {
	// Lists is nil or has one entry per axis. If the list of an axis names elements,
	// these are taken and go to the places that it names. Start and Step of the part are
	// then ignored along this axis, and Count is the number of elements in the list.
	Lists []List
	// Points, if there are any, name all elements that are taken. Lists, Start, Step and
	// Count are then ignored.
	Points []Point
	// Windows are the bytes that are taken of every element. If there are none, all bytes
	// are taken.
	Windows []Window
}

// Bytes returns the size in bytes of the elements that the windows make. Without windows
// that is size.
func (p *Picks) Bytes(size int) int {
	if p == nil || len(p.Windows) == 0 {
		return size
	}
	n := int64(0)
	for _, w := range p.Windows {
		n = max(n, w.To+w.Size)
	}
	return int(n)
}

// listed reports whether a list names the elements along an axis.
func (p *Picks) listed(axis int) bool { return p.Lists != nil && p.Lists[axis].At != nil }

// Permuted returns the picks for a transposed block. They apply to a block whose axis i
// is axis order[i] of a block of the given shape. It returns nil if p is nil.
func (p *Picks) Permuted(order []int, shape []int64) *Picks {
	if p == nil {
		return nil
	}
	o := &Picks{Windows: p.Windows}
	if p.Lists != nil {
		o.Lists = make([]List, len(order))
		for i, axis := range order {
			o.Lists[i] = p.Lists[axis]
		}
	}
	if p.Points == nil {
		return o
	}
	// strides are those of the transposed block, by axes of the original one.
	strides, step := make([]int64, len(shape)), int64(1)
	for i := len(order) - 1; i >= 0; i-- {
		strides[order[i]] = step
		step *= shape[order[i]]
	}
	o.Points = make([]Point, len(p.Points))
	for k, from := range p.Points {
		// Take the number apart into indices and add them up with the new strides.
		at, to := from.At, int64(0)
		for i := len(shape) - 1; i >= 0; i-- {
			to += at % shape[i] * strides[i]
			at /= shape[i]
		}
		o.Points[k] = Point{At: to, Place: from.Place}
	}
	return o
}

// List names elements along one axis.
type List struct {
	At []int64 // ascending; element k is At[k]-Base
	// Place is where each element goes along the axis of the selected block. Places of
	// the same element ascend.
	Place []int64
	Base  int64
}

// distinct returns the number of different elements that a list names.
func (l List) distinct() int64 {
	n := int64(min(1, len(l.At)))
	for k := 1; k < len(l.At); k++ {
		if l.At[k] != l.At[k-1] {
			n++
		}
	}
	return n
}

// Point is an element that is taken, and where it goes.
type Point struct {
	// Cell is a number that ascends with the cells of a grid and is the same for all
	// points of one cell.
	Cell int64
	// At is the number of the element in C order within its encoded cell.
	At int64
	// Place is the number of its place in C order within the selected block.
	Place int64
}

// Window takes Size bytes of an element, from byte From on, to byte To of another
// element.
type Window struct{ From, To, Size int64 }
