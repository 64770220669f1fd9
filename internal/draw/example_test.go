// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"fmt"
	"os"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/draw"
)

func ExampleGrid() {
	g, err := grid.New([]int64{60, 100}, grid.Edges(10, 20, 30), grid.Every(25))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(draw.Grid(g, &draw.GridOptions{Names: []string{"y", "x"}}))
	// Output:
	// y ↓  60 = 10, 20, 30
	// x → 100 = 25×4
	//
	//       25      25      25      25
	//    ┏━━━━━━━┯━━━━━━━┯━━━━━━━┯━━━━━━━┓
	// 10 ┃       │       │       │       ┃
	//    ┠───────┼───────┼───────┼───────┨
	// 20 ┃       │       │       │       ┃
	//    ┃       │       │       │       ┃
	//    ┠───────┼───────┼───────┼───────┨
	//    ┃       │       │       │       ┃
	// 30 ┃       │       │       │       ┃
	//    ┃       │       │       │       ┃
	//    ┗━━━━━━━┷━━━━━━━┷━━━━━━━┷━━━━━━━┛
}

func ExampleSizes() {
	years := grid.Runs(grid.Run{Length: 365, Count: 4}, grid.Run{Length: 366, Count: 1}, grid.Run{Length: 1, Count: 10})
	a, err := grid.NewAxis(1836, years)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(draw.Sizes(a))
	// Output: 365×4, 366, 1×10
}

func ExampleSVG() {
	g, err := grid.New([]int64{60, 100}, grid.Edges(10, 20, 30), grid.Every(25))
	if err != nil {
		fmt.Println(err)
		return
	}
	picture := draw.SVG(g, &draw.SVGOptions{Names: []string{"y", "x"}})
	lines := strings.Split(string(picture), "\n")
	fmt.Println(lines[1])
	fmt.Println(lines[2])
	// Output:
	// <title>Chunk grid of 60 × 100 elements</title>
	// <desc>y ↓  60 = 10, 20, 30; x → 100 = 25×4</desc>
}

// The days of spring by month, beside steps of thirty days.
func ExampleSVGRow() {
	steps, err := grid.New([]int64{92}, grid.Every(30))
	if err != nil {
		fmt.Println(err)
		return
	}
	months, err := grid.New([]int64{92}, grid.Edges(31, 30, 31))
	if err != nil {
		fmt.Println(err)
		return
	}
	os.Stdout.Write(draw.SVGRow("Spring",
		draw.Panel{Grid: steps, Options: &draw.SVGOptions{Title: "regular"}},
		draw.Panel{Grid: months, Options: &draw.SVGOptions{Title: "rectilinear"}},
	))
}
