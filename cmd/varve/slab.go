package main

import (
	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/selection"
)

// slabBytes is how much of an array is in memory at a time.
const slabBytes = 128 << 20

// slabChunks is how many chunks are read at a time at most, so that output begins, and
// progress shows, where chunks have a few bytes each or are not stored.
const slabChunks = 1 << 16

// slabOf returns how many bytes of elements of a type, as width counts them, are in
// memory at a time.
func slabOf(t dtype.Type) int64 {
	if t.Variable() {
		return slabBytes / 16 // they are longer than what refers to them
	}
	return slabBytes
}

// slabToWrite returns how many bytes of selected elements of a type are written at a
// time. A chunk, or an inner chunk, that is longer than a slab would be read, changed and
// encoded anew by every slab that has some of it. So a slab is as long as all chunks side
// by side where a budget that nobody has chosen could have as much, and else as long as
// one chunk: so much is held of a chunk in any case.
func slabToWrite(cmd *cobra.Command, a *zarr.Array, r *selection.Resolved, t dtype.Type) int64 {
	slab := slabOf(t)
	if t.Variable() {
		return slab
	}
	limit := zarr.Limits{Chunk: session.LimitOf(cmd)}.OrDefault().Chunk
	chunk, layer := r.Layer(finest(a), width(t))
	switch {
	case layer <= min(limit, budget.Most()):
		return max(slab, layer)
	case chunk <= limit:
		return max(slab, chunk)
	}
	return slab
}

// slab returns how many bytes of selected elements are read at a time, at least so many.
// Every slab decodes all chunks that it has some of. So a slab is as long as all chunks
// side by side where a budget that nobody has chosen could have as much, and as long as
// one chunk where there is none beside it: so much is decoded in any case.
func (s *source) slab(least int64) int64 {
	if chunk := longestChunk(s.array.Grid(), width(s.stored)); chunk < least/slabChunks {
		return chunk * slabChunks
	}
	if s.stored.Variable() || s.typ.Variable() {
		return least
	}
	most := budget.Most()
	if s.decoding != nil { // what is made of the elements is in memory, too
		most /= 1 + (width(s.typ)+width(s.stored)-1)/width(s.stored)
	}
	chunk, layer := s.resolved.Layer(finest(s.array), width(s.stored))
	if layer <= most || chunk == layer && s.decoding == nil && chunk <= (zarr.Limits{}).OrDefault().Chunk {
		return max(least, layer)
	}
	return least
}

// finest returns how an array is cut into what is encoded by itself.
func finest(a *zarr.Array) *grid.Grid {
	if inner := a.Inner(); inner != nil {
		if g, err := inner.Grid(); err == nil { // else shards stand for their inner chunks
			return g
		}
	}
	return a.Grid()
}
