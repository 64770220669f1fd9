// SPDX-License-Identifier: Apache-2.0

package source

import (
	"math"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/selection"
)

// SlabBytes is the number of bytes of an array that are in memory at a time.
const SlabBytes = 128 << 20

// SlabOf returns the bytes of elements of a type, counted by [element.Width], that are in
// memory at a time.
func SlabOf(t dtype.Type) int64 {
	if t.Variable() {
		return SlabBytes / 16 // the elements are longer than their references
	}
	return SlabBytes
}

// SlabToWrite returns the bytes of selected elements that are written at a time. A chunk
// or inner chunk that is longer than a slab would be read, changed and encoded again for
// every slab that touches it. So if the default budget can hold them, a slab has all
// chunks side by side, and otherwise at least one chunk, which is in memory anyway.
func SlabToWrite(limit int64, a *zarr.Array, r *selection.Resolved, t dtype.Type) int64 {
	slab := SlabOf(t)
	if t.Variable() {
		return slab
	}
	limit = zarr.Limits{Chunk: limit}.OrDefault().Chunk
	chunk, layer := r.Layer(Finest(a), element.Width(t))
	switch {
	case layer <= min(limit, zarr.MostBudget()):
		return max(slab, layer)
	case chunk <= limit:
		return max(slab, chunk)
	}
	return slab
}

// Finest returns the grid of the smallest parts that are encoded alone: inner chunks, or
// chunks.
func Finest(a *zarr.Array) *grid.Grid {
	if inner := a.Inner(); inner != nil {
		if g, err := inner.Grid(); err == nil { // else use the shards
			return g
		}
	}
	return a.Grid()
}

// LongestChunk returns the bytes of the longest chunk of a grid, for elements of the
// given bytes.
func LongestChunk(g *grid.Grid, bytes int64) int64 {
	for i := range g.Rank() {
		axis := g.Axis(i)
		n, ok := checked.Mul(bytes, axis.Longest(grid.Interval{Stop: axis.Chunks()}))
		if !ok {
			return math.MaxInt64
		}
		bytes = n
	}
	return bytes
}
