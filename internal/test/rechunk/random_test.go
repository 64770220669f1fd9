// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"math/rand/v2"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
)

// randomizer draws arrays and changes of them for the models.
type randomizer struct{ *rand.Rand }

// between returns a number from a to b.
func (r randomizer) between(a, b int64) int64 { return a + r.Int64N(b-a+1) }

// one returns true in one of n cases.
func (r randomizer) one(n int) bool { return r.IntN(n) == 0 }

// mostOf is the largest extent of an array of each rank.
var mostOf = []int64{0, 24, 8, 5, 4}

// cut draws how an axis is cut, into multiples of unit.
func (r randomizer) cut(extent, unit int64, regular bool) grid.Cut {
	if regular || r.one(3) {
		return grid.Every(unit * r.between(1, 4))
	}
	var lengths []int64
	for sum := int64(0); sum < extent || len(lengths) == 0; sum += lengths[len(lengths)-1] {
		lengths = append(lengths, unit*r.between(1, 3))
	}
	if r.one(4) { // planned ahead
		lengths = append(lengths, unit*r.between(1, 3))
	}
	return grid.Edges(lengths...)
}

// spec draws an array of int32 of rank 1 to 4.
func (r randomizer) spec() zarr.Spec {
	rank := 1 + r.IntN(4)
	s := zarr.Spec{Type: dtype.Int32, Codecs: fixture.Plain(), FillValue: zarr.FillJSON("-7"), Format: 3}
	if r.one(4) && rank > 1 {
		s.Format = 2
	}
	if r.one(2) {
		s.Codecs = fixture.Packed()
	}
	keys := []metadata.KeyEncoding{metadata.V2Dot, metadata.V2Slash}
	if s.Format == 3 {
		keys = append(keys, metadata.DefaultSlash, metadata.DefaultDot)
		if r.one(4) {
			s.Codecs = append(s.Codecs, codec.CRC32C())
		}
	}
	s.KeyEncoding = keys[r.IntN(len(keys))]
	sharded := s.Format == 3 && r.one(3)
	for range rank {
		extent, unit := r.between(1, mostOf[rank]), int64(1)
		if sharded {
			unit = r.between(1, 2)
			s.InnerChunks = append(s.InnerChunks, grid.Every(unit))
			s.IndexAtStart = r.one(4)
		}
		s.Shape = append(s.Shape, extent)
		s.Chunks = append(s.Chunks, r.cut(extent, unit, s.Format == 2))
	}
	return s
}

// box draws a box of elements: those of one chunk, or any.
func (r randomizer) box(g *grid.Grid) grid.Box {
	shape := g.Shape()
	if n, ok := g.NumChunks(); ok && n > 0 && r.one(2) {
		index := make([]int64, len(shape))
		for i, n := range g.Chunks() {
			index[i] = r.Int64N(n)
		}
		if c, ok := g.Chunk(index); ok {
			return c.Box()
		}
	}
	return r.anyBox(shape)
}

func (r randomizer) anyBox(shape []int64) grid.Box {
	box := make(grid.Box, len(shape))
	for i, n := range shape {
		from := r.Int64N(n)
		box[i] = grid.Interval{Start: from, Stop: r.between(from+1, n)}
	}
	return box
}

// units returns what the lengths of chunks must be multiples of.
func units(a *zarr.Array) []int64 {
	list := make([]int64, a.Rank())
	for i := range list {
		list[i] = 1
	}
	if in := a.Inner(); in != nil {
		g, err := in.Grid()
		for i := range list {
			if c, ok := g.Axis(i).Cell(0); ok && err == nil {
				list[i] = c.Encoded
			}
		}
	}
	return list
}

// request draws a rechunk of an array.
func (r randomizer) request(a *zarr.Array) rechunk.Request {
	unit, shape := units(a), a.Shape()
	regular := a.Format() == 2
	cuts := func(unit []int64) (c rechunk.Cuts) {
		for i, n := range shape {
			c = append(c, r.cut(n, unit[i], regular))
		}
		return c
	}
	k := r.IntN(8)
	switch {
	case k < 3 && !regular:
		return r.compaction(a)
	case k == 3:
		chunk := make([]int64, len(shape))
		for i := range chunk {
			chunk[i] = unit[i] * r.between(1, 4)
		}
		return rechunk.Regularization{Chunk: chunk}
	case k == 4 && !regular: // shards, of the same inner chunks or of others
		q := rechunk.Rechunking{IndexAtStart: r.one(4)}
		inner := make([]int64, len(shape))
		for i := range inner {
			inner[i] = r.between(1, 2)
			if a.Inner() != nil && r.one(2) {
				inner[i] = unit[i]
			}
			q.Inner = append(q.Inner, grid.Every(inner[i]))
		}
		q.Chunks = cuts(inner)
		return q
	case k == 5 && a.Inner() != nil:
		return rechunk.Rechunking{Unpack: true}
	case k == 6 && !regular && r.one(2):
		return rechunk.Rechunking{Codecs: append(fixture.Plain(), codec.ZstdChecksum(int(r.between(1, 3)), r.one(2)))}
	}
	return rechunk.Rechunking{Chunks: cuts(unit)}
}

func (r randomizer) compaction(a *zarr.Array) rechunk.Request {
	c := rechunk.Compaction{Axis: r.IntN(a.Rank()), LeaveTail: max(0, r.between(-2, 2))}
	switch n := r.between(2, 9); r.IntN(4) {
	case 0:
		c.Bytes = 64 * n
	case 1:
		c.Multiple = n
	case 2:
		extent := a.Shape()[c.Axis]
		var starts []int64
		for at := int64(0); at < extent; at += r.between(1, 7) {
			starts = append(starts, at)
		}
		c.Calendar = &rechunk.Calendar{Starts: starts, Until: max(1, extent-r.Int64N(2))}
	default:
		c.UpTo = n
	}
	return c
}
