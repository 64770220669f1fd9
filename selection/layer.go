// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"math"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// Layer returns two sizes in bytes, for elements of size bytes. chunk is the size of the
// selected elements in the longest touched chunk. layer is the size that a slab must have
// at least, if it ends at chunk boundaries, so that no chunk is touched by two slabs. It
// spans one chunk along the first axis where chunks are longer than one element, and all
// of the axes after it.
//
// Sizes that overflow are the largest int64. Points and masks have no such slabs: both
// sizes are 0.
func (r *Resolved) Layer(g *grid.Grid, size int64) (chunk, layer int64) {
	if r.axes == nil || r.points != nil || r.mask != nil || r.count == 0 {
		return 0, 0
	}
	touched := r.Touched(g)
	chunk, layer = size, 0
	for i, n := range r.FullShape() {
		to := r.axis(i)
		a := r.axes[to]
		// The longest touched chunk decides.
		edge := g.Axis(to).Longest(touched[to])
		if a.list == nil {
			// A step selects only some elements of a chunk.
			edge = (edge-1)/a.step + 1
		}
		edge = max(1, min(edge, n))
		chunk = mul(chunk, edge)
		switch {
		// Axes after the cut are complete in every slab.
		case layer > 0:
			layer = mul(layer, n)
		// The slab is cut along this axis, one chunk at a time.
		case edge > 1:
			layer = mul(size, edge)
		}
	}
	return chunk, max(chunk, layer)
}

// mul returns a*b, or the largest int64 if that overflows.
func mul(a, b int64) int64 {
	if n, ok := checked.Mul(a, b); ok {
		return n
	}
	return math.MaxInt64
}
