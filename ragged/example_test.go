// SPDX-License-Identifier: Apache-2.0

package ragged_test

import (
	"context"
	"fmt"
	"log"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/ragged"
	"varve.dev/zarr/store/memstore"
)

func Example() {
	ctx := context.Background()
	s, err := ragged.Create(ctx, zarr.At(memstore.New(), "drifters"), []ragged.Field{
		{Name: "lat", Type: dtype.Float32},
		{Name: "id", Type: dtype.Int32, PerRow: true},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	// Two appends of trajectories, and of none.
	for i := range int32(2) {
		err := s.Append(ctx, []int64{2, 0, 1}, ragged.Values("lat", []float32{1, 2, 3}), ragged.Values("id", []int32{i, 10 + i, 20 + i}))
		if err != nil {
			log.Fatal(err)
		}
	}
	// Each append is a block of rows: one chunk of every array.
	for first, end := range s.Blocks() {
		lat, err := ragged.Read[float32](ctx, s, "lat", first, end)
		fmt.Println(first, end, lat, err)
	}
	// Output:
	// 0 3 [[1 2] [] [3]] <nil>
	// 3 6 [[1 2] [] [3]] <nil>
}
