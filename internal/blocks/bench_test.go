// SPDX-License-Identifier: Apache-2.0

package blocks_test

import (
	"math/rand/v2"
	"testing"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
)

// listed returns a grid of axes with a million edges each.
func listed(b *testing.B, rank int, seed uint64) *grid.Grid {
	random := rand.New(rand.NewPCG(seed, 1))
	const extent, n = 19e6, 1e6 // less than the sum of the edges
	cuts, shape := make([]grid.Cut, rank), make([]int64, rank)
	for i := range cuts {
		edges := make([]int64, n)
		for k := range edges {
			edges[k] = 10 + random.Int64N(20)
		}
		cuts[i], shape[i] = grid.Edges(edges...), extent
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func benchmarkPlan(b *testing.B, source, target *grid.Grid, size, memory int64) {
	b.ReportAllocs()
	for b.Loop() {
		plan, err := blocks.New(source, target, size, memory, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(plan.Stages)), "stages")
	}
}

// BenchmarkListed plans between axes of a million listed edges.
func BenchmarkListed(b *testing.B) {
	b.Run("axis", func(b *testing.B) { benchmarkPlan(b, listed(b, 1, 1), listed(b, 1, 2), 4, 1e9) })
	b.Run("axes", func(b *testing.B) { benchmarkPlan(b, listed(b, 2, 1), listed(b, 2, 2), 4, 1e6) })
	b.Run("stages", func(b *testing.B) { benchmarkPlan(b, listed(b, 2, 1), listed(b, 2, 2), 4, 4000) })
}

// BenchmarkRegular plans the classic case, from maps to series.
func BenchmarkRegular(b *testing.B) {
	shape := []int64{8760, 721, 1440}
	source, err := grid.New(shape, grid.Chunks(1, 721, 1440)...)
	if err != nil {
		b.Fatal(err)
	}
	target, err := grid.New(shape, grid.Chunks(8760, 10, 10)...)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkPlan(b, source, target, 4, 64e6)
}
