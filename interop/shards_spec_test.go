// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/sharding"
)

// shardedSpec returns a sharded array with up to three levels of shards, any grid, type,
// chains and fill value. A plain one has only deterministic codecs.
func shardedSpec(r *rand.Rand, plain bool) spec {
	for {
		s := randomSpec(r)
		for s.Type[0] == 'c' && (hasNaN(s.Fill, len(s.Fill)/2) || hasZero(s.Fill)) {
			s.Fill = randomElements(r, s.Type, 1) // zarr-python does not distinguish the signs of complex zeros
		}
		if plain {
			s.Compressors = checksums(r)
		}
		inner := s.shard(r, plain)
		s.cutShards(r)
		if s.room()/inner <= 1500 && s.room() <= 100_000 {
			return s
		}
	}
}

func hasZero(complex []byte) bool {
	half := len(complex) / 2
	zero := func(number []byte) bool {
		return !slices.ContainsFunc(number[:half-1], func(b byte) bool { return b != 0 }) && number[half-1]&0x7f == 0
	}
	return zero(complex[:half]) || zero(complex[half:])
}

func checksums(r *rand.Rand) []codecJSON {
	return slices.Repeat([]codecJSON{{Name: "crc32c"}}, r.IntN(2))
}

// shard nests the codecs in shards, up to three levels, and returns the number of
// elements of an innermost chunk.
func (s *spec) shard(r *rand.Rand, plain bool) int64 {
	rank := len(s.Shape)
	most := []int64{1, 4, 3, 2, 2}[rank]
	s.units = randomUnits(r, slices.Repeat([]int64{1}, rank), most)
	inner := product(s.units)
	for level, depth := 0, pick(r, 1, 1, 1, 2, 2, 3); level < depth; level++ {
		if level > 0 {
			s.units = randomUnits(r, s.units, most)
		}
		s.Serializer = codecJSON{sharding.Name, map[string]any{
			"chunk_shape": s.units, "codecs": s.chain(), "index_codecs": randomIndexCodecs(r, rank),
			"index_location": pick(r, "start", "end"),
		}}
		s.Filters, s.Compressors = []codecJSON{}, []codecJSON{}
		if rank > 0 && r.IntN(4) == 0 {
			s.transpose(r)
		}
		if r.IntN(5) == 0 && plain {
			s.Compressors = checksums(r)
		} else if r.IntN(5) == 0 && !plain {
			s.Compressors = randomCompressors(r)
		}
	}
	return inner
}

// transpose puts a transposition before the shards, so that inner chunks have other
// lengths along the axes of the array.
func (s *spec) transpose(r *rand.Rand) {
	order, before := r.Perm(len(s.Shape)), s.units
	s.Filters = []codecJSON{{"transpose", map[string]any{"order": order}}}
	s.units = make([]int64, len(order))
	for i, axis := range order {
		s.units[axis] = before[i]
	}
}

// chain returns all codecs.
func (s *spec) chain() []codecJSON {
	return slices.Concat(s.Filters, []codecJSON{s.Serializer}, s.Compressors)
}

// randomUnits returns random multiples of lengths.
func randomUnits(r *rand.Rand, lengths []int64, most int64) []int64 {
	units := slices.Clone(lengths)
	for i := range units {
		units[i] *= 1 + r.Int64N(most)
	}
	return units
}

func randomIndexCodecs(r *rand.Rand, rank int) []codecJSON {
	chain := []codecJSON{{"bytes", map[string]any{"endian": pick(r, "little", "little", "big")}}}
	if r.IntN(5) == 0 {
		chain = slices.Insert(chain, 0, codecJSON{"transpose", map[string]any{"order": r.Perm(rank + 1)}})
	}
	return append(chain, slices.Repeat([]codecJSON{{Name: "crc32c"}}, pick(r, 0, 1, 1, 1, 2))...)
}

// cutShards cuts the axes between inner chunks. If a transposition comes first,
// zarr-python 3.4 demands that inner chunks also divide the edges of the axes in the
// order without it.
func (s *spec) cutShards(r *rand.Rand) {
	listed := r.IntN(3)
	inner := s.units
	if len(s.Filters) > 0 {
		inner = s.Serializer.Configuration["chunk_shape"].([]int64)
	}
	for i, unit := range s.units {
		unit *= inner[i] / gcd(unit, inner[i])
		c := randomCut(r, (s.Shape[i]+unit-1)/unit, listed)
		c.step *= unit
		for k := range c.edges {
			c.edges[k] *= unit
		}
		s.Chunks[i] = c
	}
}

// room returns the number of elements of all shards, including those beyond the extent.
func (s *spec) room() int64 {
	n := int64(1)
	for i, c := range s.Chunks {
		if c.edges != nil {
			n *= c.covered()
		} else {
			n *= (s.Shape[i] + c.step - 1) / c.step * c.step
		}
	}
	return n
}

func gcd(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

func product(lengths []int64) int64 {
	n := int64(1)
	for _, l := range lengths {
		n *= l
	}
	return n
}

// describeShards replaces the shard codec by InnerChunks of the Spec, if that can
// describe it.
func (s *spec) describeShards(t *testing.T, d *zarr.Spec) {
	c := s.Serializer.Configuration
	usual := []codecJSON{{"bytes", map[string]any{"endian": "little"}}, {Name: "crc32c"}}
	if s.units == nil || len(s.chain()) > 1 || !reflect.DeepEqual(c["index_codecs"], usual) {
		return
	}
	d.Codecs, d.InnerChunks, d.IndexAtStart = extensions(t, c["codecs"].([]codecJSON)), []grid.Cut{}, c["index_location"] == "start"
	for _, n := range s.units {
		d.InnerChunks = append(d.InnerChunks, grid.Every(n))
	}
}

// inner returns the logical lengths of the inner chunks along every axis. It returns nil
// if none can be read alone.
func (s spec) inner(shape []int64) [][]int64 {
	if s.units == nil || len(s.Compressors) > 0 {
		return nil
	}
	all := make([][]int64, len(shape))
	for i, n := range s.units {
		all[i] = cut{step: n}.sizes(shape[i])
	}
	return all
}
