// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"cmp"
	"math"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
)

// OfPoints returns elements of an array of the shape source, one by one: as many as
// count, with coordinates along every axis of the array. They have the given shape.
func OfPoints(source, shape []int64, along []Coords, count int64) *Elements {
	return &Elements{source: source, points: &points{shape: shape, coords: along}, count: count}
}

// points holds the coordinates of elements: for every axis of the array a strided view
// of indices with the shape of the result.
type points struct {
	shape  []int64
	coords []Coords
}

// Coords are the indices along one axis. That of element i of the result is Data[off+Σ
// i[k]*Strides[k]].
type Coords struct {
	Data    []int64
	off     int64
	Strides []int64
	Least   int64 // smallest index
	Most    int64 // largest index
}

func (p *points) bounds(box grid.Box) {
	for i, c := range p.coords {
		box[i] = grid.Interval{Start: c.Least, Stop: c.Most + 1}
	}
}

// at returns the index along an axis of the point at the given place of the result, in C
// order.
func (p *points) at(axis int, place int64) int64 {
	c := &p.coords[axis]
	off := c.off
	for k := len(p.shape) - 1; k >= 0; k-- {
		off += place % p.shape[k] * c.Strides[k]
		place /= p.shape[k]
	}
	return c.Data[off]
}

// each calls use with the index of every point along an axis, in C order of the result.
func (p *points) each(axis int, use func(at int64)) {
	c := &p.coords[axis]
	v := strided.View{Shape: p.shape, Strides: c.Strides}
	n, _ := checked.Product(p.shape...)
	// Evenly spaced indices need no recursion.
	if step, even := v.Step(); even {
		for k := range n {
			use(c.Data[c.off+k*step])
		}
		return
	}
	c.walk(p.shape, c.off, use)
}

func (c *Coords) walk(shape []int64, off int64, use func(at int64)) {
	if len(shape) == 0 {
		use(c.Data[off])
		return
	}
	step := c.Strides[len(c.Strides)-len(shape)]
	for range shape[0] {
		c.walk(shape[1:], off, use)
		off += step
	}
}

func (p *points) transposed(axes []int) *points {
	o := &points{coords: slices.Clone(p.coords), shape: permuted(p.shape, axes)}
	for i, c := range p.coords {
		o.coords[i].Strides = permuted(c.Strides, axes)
	}
	return o
}

func permuted(n []int64, axes []int) []int64 {
	out := make([]int64, len(axes))
	for i, k := range axes {
		out[i] = n[k]
	}
	return out
}

// Group adapts a part of a block to a grid of that block, such as the inner chunks of a
// shard. It groups the points of the part by cell and renumbers them within their cells.
// shape is the encoded shape of the block, which the numbers of the points refer to. A
// part without points is returned as it is.
func Group(p strided.Part, shape []int64, g *grid.Grid) strided.Part {
	if p.Picks == nil || p.Picks.Points == nil {
		return p
	}
	grouped := *p.Picks
	grouped.Points = slices.Clone(p.Picks.Points)
	// Take the number of the point apart into its indices, and add up the numbers of the
	// cell and of the element within the cell.
	for k := range grouped.Points {
		at, scale := &grouped.Points[k], int64(1)
		n, cell, within := at.At, int64(0), int64(0)
		size := int64(1)
		for i := len(shape) - 1; i >= 0; i-- {
			a := g.Axis(i)
			c, in, _ := a.Locate(n % shape[i])
			of, _ := a.Cell(c)
			n /= shape[i]
			cell += c * scale
			within += in * size
			scale *= a.Chunks()
			size *= of.Encoded
		}
		at.Cell, at.At = cell, within
	}
	cells, ok := g.NumChunks()
	if !ok {
		// The numbers of cells stay valid. This only rules out the counting sort.
		cells = math.MaxInt64
	}
	grouped.Points = sortByCell(grouped.Points, cells)
	p.Picks = &grouped
	return p
}

// byCell orders points by their cells, and points of one cell by their places.
func byCell(a, b strided.Point) int {
	if a.Cell != b.Cell {
		return cmp.Compare(a.Cell, b.Cell)
	}
	return cmp.Compare(a.Place, b.Place)
}

// group returns the points grouped by the cells of a grid. Cells are numbered in C order
// within the box touched.
func (p *points) group(g *grid.Grid, count int64, touched grid.Box) []strided.Point {
	out := make([]strided.Point, count)
	for k := range out {
		out[k].Place = int64(k)
	}
	cells := int64(1)
	for i := range p.coords {
		a, from, n := g.Axis(i), touched[i].Start, touched[i].Len()
		// cells is the number of different cell numbers so far, along the axes before i.
		next, ok := checked.Mul(cells, n)
		var dense []int64
		// The numbers would overflow. Number only the touched cells instead: there are
		// no more of them than points.
		if !ok {
			cells = renumber(out)
			dense = p.touched(i, a)
			n = int64(len(dense))
			next = cells * n
		}
		k, in := 0, finder{axis: a}
		p.each(i, func(at int64) {
			in.find(at)
			number := in.cell.Index - from
			if dense != nil {
				j, _ := slices.BinarySearch(dense, in.cell.Index)
				number = int64(j)
			}
			// Numbers grow axis by axis, in C order.
			out[k].Cell = out[k].Cell*n + number
			out[k].At = out[k].At*in.cell.Encoded + at - in.cell.Start
			k++
		})
		cells = next
	}
	return sortByCell(out, cells)
}

// sortByCell sorts points by cell. They must be in the order of their places, and the
// numbers of their cells must be below cells.
func sortByCell(points []strided.Point, cells int64) []strided.Point {
	// Points in C order within a few chunks are often sorted already.
	if slices.IsSortedFunc(points, byCell) {
		return points
	}
	// A counting sort is faster unless most cells have no points.
	if cells > 4*int64(len(points)) {
		slices.SortFunc(points, byCell)
		return points
	}
	// next[k] becomes the position of the next point of cell k.
	next := make([]int64, cells+1)
	for _, p := range points {
		next[p.Cell+1]++
	}
	for k := range cells {
		next[k+1] += next[k]
	}
	out := make([]strided.Point, len(points))
	for _, p := range points {
		out[next[p.Cell]] = p
		next[p.Cell]++
	}
	return out
}

// finder finds the cells of elements along an axis. It is fast if many elements in a row
// lie in one cell.
type finder struct {
	axis grid.Axis
	cell grid.Cell
}

func (f *finder) find(at int64) {
	if at < f.cell.Start || at-f.cell.Start >= f.cell.Logical {
		k, _, _ := f.axis.Locate(at)
		f.cell, _ = f.axis.Cell(k)
	}
}

// touched returns the indices of the cells along an axis that have points, in ascending
// order.
func (p *points) touched(i int, a grid.Axis) []int64 {
	var cells []int64
	in := finder{axis: a}
	p.each(i, func(at int64) {
		in.find(at)
		cells = append(cells, in.cell.Index)
	})
	slices.Sort(cells)
	return slices.Compact(cells)
}

// renumber replaces the cell numbers of points by 0, 1, 2 …, in the same order, and
// returns how many there are.
func renumber(points []strided.Point) int64 {
	cells := make([]int64, len(points))
	for k, p := range points {
		cells[k] = p.Cell
	}
	slices.Sort(cells)
	cells = slices.Compact(cells)
	for k := range points {
		n, _ := slices.BinarySearch(cells, points[k].Cell)
		points[k].Cell = int64(n)
	}
	return int64(len(cells))
}
