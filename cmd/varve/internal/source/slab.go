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

// SlabBytes is how much of an array is in memory at a time.
const SlabBytes = 128 << 20

// SlabOf returns how many bytes of elements of a type, as width counts them, are in
// memory at a time.
func SlabOf(t dtype.Type) int64 {
	if t.Variable() {
		return SlabBytes / 16 // they are longer than what refers to them
	}
	return SlabBytes
}

// SlabToWrite returns how many bytes of selected elements of a type are written at a
// time. A chunk, or an inner chunk, that is longer than a slab would be read, changed and
// encoded anew by every slab that has some of it. So a slab is as long as all chunks side
// by side where a budget that nobody has chosen could have as much, and else as long as
// one chunk: so much is held of a chunk in any case.
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

// Finest returns how an array is cut into what is encoded by itself.
func Finest(a *zarr.Array) *grid.Grid {
	if inner := a.Inner(); inner != nil {
		if g, err := inner.Grid(); err == nil { // else shards stand for their inner chunks
			return g
		}
	}
	return a.Grid()
}

// LongestChunk returns the bytes of the longest chunk of a grid, whose elements have so
// many.
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
