// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
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

// Small chunks are merged up to a length.
func ExampleAxis_MergedUpTo() {
	a, err := grid.NewAxis(12, grid.Edges(1, 1, 1, 1, 5, 1, 1, 1))
	if err != nil {
		panic(err)
	}
	if a, err = a.MergedUpTo(4); err != nil {
		panic(err)
	}
	fmt.Println(a.Sizes())
	// Output:
	// [{4 1} {5 1} {3 1}]
}

// Each day that is appended to a reanalysis is a chunk of its own, so no chunk is written
// twice. At the end of the year its days are merged into one chunk, like those of the
// eighty years before.
func ExampleGrid_Grown() {
	const years = 80
	g, err := grid.New([]int64{365 * years, 721, 1440}, grid.Runs(grid.Run{Length: 365, Count: years}), grid.Every(721), grid.Every(1440))
	if err != nil {
		panic(err)
	}
	for day := range int64(365) {
		if g, err = g.Grown([]int64{365*years + day + 1, 721, 1440}, grid.AppendOne()); err != nil {
			panic(err)
		}
		if day == 2 {
			fmt.Printf("%s\n", g.AppendConfiguration(nil))
		}
	}
	fmt.Printf("%s\n", g.AppendConfiguration(nil))
	g, err = g.Merged(0, grid.Interval{Start: years, Stop: years + 365})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", g.AppendConfiguration(nil))
	// Output:
	// {"kind": "inline", "chunk_shapes": [[[365, 80], [1, 3]], 721, 1440]}
	// {"kind": "inline", "chunk_shapes": [[[365, 80], [1, 365]], 721, 1440]}
	// {"kind": "inline", "chunk_shapes": [[[365, 81]], 721, 1440]}
}

// Climate models write one file per month, in a calendar without leap years. The current
// month is declared at its full length and fills up day by day.
func ExamplePattern() {
	months := []int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	a, err := grid.NewAxis(365, grid.Edges(months...))
	if err != nil {
		panic(err)
	}
	a, err = a.Grown(2*365+10, grid.Pattern(months...))
	if err != nil {
		panic(err)
	}
	c, _ := a.Cell(a.Chunks() - 1)
	fmt.Println(a.Chunks(), "months; of the last,", c.Logical, "days of", c.Edge, "are there")
	month, day, _ := a.Locate(365 + 31 + 28)
	fmt.Println("the 60th day of the second year is in month", month, "at", day)
	// Output:
	// 25 months; of the last, 10 days of 31 are there
	// the 60th day of the second year is in month 14 at 0
}

// Cells are declared before their elements exist, so that many writers know their places.
func ExamplePreplanned() {
	a, err := grid.NewAxis(100, grid.Edges(100))
	if err != nil {
		panic(err)
	}
	plan := grid.Preplanned(grid.Run{Length: 24, Count: 7})
	for _, extent := range []int64{110, 150, 268} {
		if a, err = a.Grown(extent, plan); err != nil {
			panic(err)
		}
		fmt.Println(a.Chunks(), "of", a.Cells(), "cells have elements")
	}
	// Output:
	// 2 of 8 cells have elements
	// 4 of 8 cells have elements
	// 8 of 8 cells have elements
}

// Boundaries can come from any function. Here they are multiples of 112 days, whatever
// edge the axis begins with.
func ExampleByBoundaries() {
	season := grid.ByBoundaries("calendar:112 days", func(at int64) (int64, error) { return (at/112 + 1) * 112, nil })
	a, err := grid.NewAxis(100, grid.Edges(100))
	if err == nil {
		a, err = a.Grown(300, season)
	}
	if err != nil {
		panic(err)
	}
	for r := range a.Edges() {
		fmt.Println(r.Count, "of", r.Length)
	}
	// Output:
	// 1 of 100
	// 1 of 12
	// 2 of 112
}

func ExampleParseGrowth() {
	for _, text := range []string{"pattern:31,28,31", "preplanned:[[365,10]]", "calendar:month", "fixed:0"} {
		g, err := grid.ParseGrowth(text)
		switch {
		case errors.Is(err, grid.ErrCalendar):
			fmt.Println("needs times")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(g)
		}
	}
	// Output:
	// pattern:31,28,31
	// preplanned:[[365,10]]
	// needs times
	// growth fixed:0: invalid chunk grid: edge length must be at least 1, got 0
}

func ExampleAxis_Shrunk() {
	a, err := grid.NewAxis(50, grid.Edges(10, 20, 30, 40))
	if err != nil {
		panic(err)
	}
	for _, how := range []grid.Shrink{grid.KeepEdges, grid.TrimEdges, grid.TrimExact} {
		b, err := a.Shrunk(25, how)
		if err != nil {
			panic(err)
		}
		fmt.Println(how, b.Cells(), "cells cover", b.Covered())
	}
	// Output:
	// keep-edges 4 cells cover 100
	// trim-edges 2 cells cover 30
	// trim-exact 2 cells cover 25
}

// An ocean on a HEALPix grid keeps only the cells over water, sorted by their parent cell
// in a coarser grid. With one chunk per parent, one request reads a parent.
func ExampleGroups() {
	var parents []int64
	for p := range int64(76) {
		cells := int64(4096) // the whole parent is water
		switch {
		case p == 75:
			cells = 867
		case p >= 50:
			cells = 23 + 54*(p-50)
		}
		for range cells {
			parents = append(parents, 100+p)
		}
	}
	cut, err := grid.Groups(parents)
	if err != nil {
		panic(err)
	}
	g, err := grid.New([]int64{int64(len(parents))}, cut)
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Shape(), "cells in", g.Chunks(), "chunks")
	c, _ := g.Chunk([]int64{50})
	fmt.Println("parent", parents[c.Start[0]], "is", c.Box())
	// Output:
	// [222442] cells in [76] chunks
	// parent 150 is [{204800 204823}]
}

// The human genome has 24 chromosomes of very different lengths (GRCh38). As chunks of
// one axis they need no padding. Their sum does not fit into 32 bits.
func ExampleCounts() {
	chromosomes := []int64{
		248956422, 242193529, 198295559, 190214555, 181538259, 170805979, 159345973, 145138636, 138394717, 133797422, 135086622, 133275309,
		114364328, 107043718, 101991189, 90338345, 83257441, 80373285, 58617616, 64444167, 46709983, 50818468, 156040895, 57227415,
	}
	cut, bases, err := grid.Counts(chromosomes)
	if err != nil {
		panic(err)
	}
	g, err := grid.New([]int64{bases}, cut)
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Chunks(), "chromosomes of", bases, "bases")
	chunk, within, err := g.Locate([]int64{3_000_000_000})
	if err != nil {
		panic(err)
	}
	fmt.Println("base 3000000000 is in chunk", chunk, "at", within)
	padded := int64(len(chromosomes)) * g.Axis(0).Longest(grid.Interval{Start: 0, Stop: 24})
	fmt.Printf("in chunks of one length it would take %.0f %% more\n", 100*float64(padded-bases)/float64(bases))
	// Output:
	// [24] chromosomes of 3088269832 bases
	// base 3000000000 is in chunk [22] at [124998478]
	// in chunks of one length it would take 93 % more
}

// Chunks of at most 8 MiB for hourly maps in float32.
func ExampleTarget() {
	chunk, err := grid.Target([]int64{8760, 721, 1440}, 4, 8<<20)
	if err != nil {
		panic(err)
	}
	fmt.Println(chunk, 4*chunk[0]*chunk[1]*chunk[2], "bytes")
	// Output:
	// [131 121 131] 8305924 bytes
}

func ExampleGrid_String() {
	days, _ := grid.New([]int64{365, 721}, grid.Every(30), grid.Every(721))
	months, _ := grid.New([]int64{365, 721}, grid.Edges(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), grid.Edges(360, 361))
	fmt.Println(days)
	fmt.Println(months)
	// Output:
	// (365, 721) in chunks of (30, 721)
	// (365, 721) in chunks of ([31 28 31 30 31 30 …], [360 361])
}

// An axis of shards accepts a length that fits, or says which lengths would.
func ExampleAxis_FittingLengths() {
	shards, err := grid.NewAxis(95, grid.Edges(60, 40))
	if err != nil {
		panic(err)
	}
	grown, err := shards.Grown(95+12, grid.AppendOne())
	if err != nil {
		panic(err)
	}
	if grown.MultipleOf(10) != nil {
		below, above := shards.FittingLengths(12, 10)
		fmt.Println("12 elements do not fit inner chunks of 10;", below, "or", above, "do")
	}
	grown, err = shards.Grown(95+12, grid.AppendOne().RoundedUp(10))
	if err != nil {
		panic(err)
	}
	c, _ := grown.Cell(2)
	fmt.Println("rounded up,", c.Logical, "of", c.Edge, "are in the last shard", grown.MultipleOf(10))
	// Output:
	// 12 elements do not fit inner chunks of 10; 5 or 15 do
	// rounded up, 7 of 10 are in the last shard <nil>
}
