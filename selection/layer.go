package selection

import (
	"math"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// Layer returns how many bytes of selected elements, of size bytes each, the longest touched chunk of a grid has, and how
// many a slab that ends at the borders of chunks has to have, so that no chunk is touched by two: the length of a chunk along
// the first axis where chunks are longer than one element, and all of the axes behind it. Both are the largest number
// where they are larger than that. Points and masks have no slabs of that kind: both are 0.
func (r *Resolved) Layer(g *grid.Grid, size int64) (chunk, layer int64) {
	if r.axes == nil || r.points != nil || r.mask != nil || r.count == 0 {
		return 0, 0
	}
	touched := r.Touched(g)
	chunk, layer = size, 0
	for i, n := range r.FullShape() {
		to := r.axis(i)
		a := r.axes[to]
		edge := g.Axis(to).Longest(touched[to])
		if a.list == nil {
			edge = (edge-1)/a.step + 1 // of a chunk so many are selected
		}
		edge = max(1, min(edge, n))
		chunk = mul(chunk, edge)
		switch {
		case layer > 0:
			layer = mul(layer, n)
		case edge > 1:
			layer = mul(size, edge)
		}
	}
	return chunk, max(chunk, layer)
}

// mul returns the product of two numbers, and the largest number where that is too large.
func mul(a, b int64) int64 {
	if n, ok := checked.Mul(a, b); ok {
		return n
	}
	return math.MaxInt64
}
