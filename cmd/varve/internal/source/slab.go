// SPDX-License-Identifier: Apache-2.0

package source

import (
	"math"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/checked"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// SlabBytes bounds the bytes of an array that are in memory at a time.
const SlabBytes = 128 << 20

// SlabOf returns the bytes of elements of a type that are in memory at a time, measured
// with [element.Width].
func SlabOf(t dtype.Type) int64 {
	if t.Variable() {
		return SlabBytes / 16 // texts are longer than the slices that refer to them
	}
	return SlabBytes
}

// SlabToWrite returns the bytes of selected elements that are written at a time.
//
// A chunk or inner chunk that spans several slabs is read, changed and encoded again
// for each of them. A slab therefore covers a whole layer of chunks if that fits the
// default budget, and otherwise at least one chunk, which is in memory anyway.
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

// Finest returns the grid of the smallest units that are encoded separately: inner
// chunks, or else chunks.
func Finest(a *zarr.Array) *grid.Grid {
	if inner := a.Inner(); inner != nil {
		if g, err := inner.Grid(); err == nil { // on errors, fall back to shards
			return g
		}
	}
	return a.Grid()
}

// LongestChunk returns the size in bytes of the largest chunk of a grid. bytes is the
// size of an element.
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
