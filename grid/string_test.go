// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"fmt"

	"varve.dev/zarr/grid"
)

func ExampleGrid_String() {
	days, _ := grid.New([]int64{365, 721}, grid.Every(30), grid.Every(721))
	months, _ := grid.New([]int64{365, 721}, grid.Edges(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), grid.Edges(360, 361))
	fmt.Println(days)
	fmt.Println(months)
	// Output:
	// (365, 721) in chunks of (30, 721)
	// (365, 721) in chunks of ([31 28 31 30 31 30 …], [360 361])
}
