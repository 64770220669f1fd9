// SPDX-License-Identifier: Apache-2.0

package lattice_test

import (
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/lattice"
)

// An axis of shards accepts a length that fits, or says which lengths would.
func ExampleFittingLengths() {
	shards, err := grid.NewAxis(95, grid.Edges(60, 40))
	if err != nil {
		panic(err)
	}
	grown, err := shards.Grown(95+12, grid.AppendOne())
	if err != nil {
		panic(err)
	}
	if grown.MultipleOf(10) != nil {
		below, above := lattice.FittingLengths(shards, 12, 10)
		fmt.Println("12 elements do not fit inner chunks of 10;", below, "or", above, "do")
	}
	grown, err = shards.Grown(95+12, lattice.RoundedUp(grid.AppendOne(), 10))
	if err != nil {
		panic(err)
	}
	c, _ := grown.Cell(2)
	fmt.Println("rounded up,", c.Logical, "of", c.Edge, "are in the last shard", grown.MultipleOf(10))
	// Output:
	// 12 elements do not fit inner chunks of 10; 5 or 15 do
	// rounded up, 7 of 10 are in the last shard <nil>
}
