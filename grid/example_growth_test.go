// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
)

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
