// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"fmt"

	"varve.dev/zarr/grid"
)

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
