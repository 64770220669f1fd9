// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
)

// points holds the coordinates of elements: for every axis of the array a strided view of
// indices with the shape of the result.
type points struct {
	shape  []int64
	coords []coords
}

// coords holds the indices along one axis. That of element i of the result is data[off+Σ
// i[k]*strides[k]].
type coords struct {
	data    []int64
	off     int64
	strides []int64
	least   int64 // smallest index
	most    int64 // largest index
}

func (p *points) bounds(box grid.Box) {
	for i, c := range p.coords {
		box[i] = grid.Interval{Start: c.least, Stop: c.most + 1}
	}
}

// at returns the index along an axis of the point at the given place of the result, in C
// order.
func (p *points) at(axis int, place int64) int64 {
	c := &p.coords[axis]
	off := c.off
	for k := len(p.shape) - 1; k >= 0; k-- {
		off += place % p.shape[k] * c.strides[k]
		place /= p.shape[k]
	}
	return c.data[off]
}

// each calls use with the index of every point along an axis, in C order of the result.
func (p *points) each(axis int, use func(at int64)) {
	c := &p.coords[axis]
	v := strided.View{Shape: p.shape, Strides: c.strides}
	n, _ := checked.Product(p.shape...)
	// Evenly spaced indices need no recursion.
	if step, even := v.Step(); even {
		for k := range n {
			use(c.data[c.off+k*step])
		}
		return
	}
	c.walk(p.shape, c.off, use)
}

func (c *coords) walk(shape []int64, off int64, use func(at int64)) {
	if len(shape) == 0 {
		use(c.data[off])
		return
	}
	step := c.strides[len(c.strides)-len(shape)]
	for range shape[0] {
		c.walk(shape[1:], off, use)
		off += step
	}
}

func (p *points) transposed(axes []int) *points {
	o := &points{coords: slices.Clone(p.coords), shape: permuted(p.shape, axes)}
	for i, c := range p.coords {
		o.coords[i].strides = permuted(c.strides, axes)
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
