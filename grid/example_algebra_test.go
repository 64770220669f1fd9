// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"fmt"

	"varve.dev/zarr/grid"
)

// Each process of an ocean model has its own domain, which is larger at the border. If
// the domains are the chunks, all processes can write at the same time. Fewer processes
// can share the domains without two of them writing to one chunk.
func ExampleGrid_SafeWrites() {
	domains := grid.Edges(10, 8, 8, 8, 10)
	g, err := grid.New([]int64{44, 44}, domains, domains)
	if err != nil {
		panic(err)
	}
	all, err := g.SafeWrites(grid.BoxOf(g.Shape()), 25)
	if err != nil {
		panic(err)
	}
	for _, rank := range []int{0, 7, 24} {
		fmt.Println("rank", rank, "of", len(all), "writes", all[rank])
	}
	interior := grid.Box{{10, 34}, {10, 34}}
	four, err := g.SafeWrites(interior, 4)
	if err != nil {
		panic(err)
	}
	for rank, piece := range four {
		fmt.Println("rank", rank, "of", len(four), "writes", piece)
	}
	// Output:
	// rank 0 of 25 writes [{0 10} {0 10}]
	// rank 7 of 25 writes [{10 18} {18 26}]
	// rank 24 of 25 writes [{34 44} {34 44}]
	// rank 0 of 4 writes [{10 18} {10 18}]
	// rank 1 of 4 writes [{10 18} {18 34}]
	// rank 2 of 4 writes [{18 26} {10 34}]
	// rank 3 of 4 writes [{26 34} {10 34}]
}

// The ensembles of a forecast have had different sizes over the years. Joined along one
// axis, the members of each forecast are one chunk, and none is padded.
func ExampleGrid_Concat() {
	archive := func(forecasts, members int64) *grid.Grid {
		g, err := grid.New([]int64{forecasts * members, 721, 1440}, grid.Runs(grid.Run{Length: members, Count: forecasts}), grid.Every(721), grid.Every(1440))
		if err != nil {
			panic(err)
		}
		return g
	}
	g, err := archive(1040, 11).Concat(0, archive(365, 31), archive(2, 51))
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Shape(), g.Chunks())
	fmt.Printf("%s\n", g.AppendConfiguration(nil))
	// Output:
	// [22857 721 1440] [1407 1 1]
	// {"kind": "inline", "chunk_shapes": [[[11, 1040], [31, 365], [51, 2]], 721, 1440]}
}

// A copy from fortnights to months proceeds by the cells of their refinement.
func ExampleGrid_Refine() {
	fortnights, err := grid.New([]int64{59}, grid.Every(14))
	if err != nil {
		panic(err)
	}
	months, err := grid.New([]int64{59}, grid.Edges(31, 28))
	if err != nil {
		panic(err)
	}
	both, err := fortnights.Refine(months)
	if err != nil {
		panic(err)
	}
	for c := range both.All() {
		from, _, _ := fortnights.Locate(c.Start)
		to, _, _ := months.Locate(c.Start)
		fmt.Println(c.Box(), "from", from, "to", to)
	}
	// Output:
	// [{0 14}] from [0] to [0]
	// [{14 28}] from [1] to [0]
	// [{28 31}] from [2] to [0]
	// [{31 42}] from [2] to [1]
	// [{42 56}] from [3] to [1]
	// [{56 59}] from [4] to [1]
}

// An array of the region that a user asks for has the existing chunks, clipped.
func ExampleGrid_Restrict() {
	g, err := grid.New([]int64{60, 100}, grid.Edges(10, 20, 30), grid.Every(25))
	if err != nil {
		panic(err)
	}
	r, err := g.Restrict(grid.Box{{5, 35}, {25, 90}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v %s\n", r.Shape(), r.AppendConfiguration(nil))
	whole, err := g.Align(grid.Box{{5, 35}, {25, 90}})
	if err != nil {
		panic(err)
	}
	fmt.Println(whole)
	// Output:
	// [30 65] {"kind": "inline", "chunk_shapes": [[5, 20, 5], 25]}
	// [{0 60} {25 100}]
}

// Small chunks are merged up to a length. Then history is added before them.
func ExampleAxis_MergedUpTo() {
	a, err := grid.NewAxis(12, grid.Edges(1, 1, 1, 1, 5, 1, 1, 1))
	if err != nil {
		panic(err)
	}
	if a, err = a.MergedUpTo(4); err != nil {
		panic(err)
	}
	fmt.Println(a.Sizes())
	if a, err = a.Shifted(10); err != nil {
		panic(err)
	}
	fmt.Println(a.Sizes())
	// Output:
	// [{4 1} {5 1} {3 1}]
	// [{10 1} {4 1} {5 1} {3 1}]
}
