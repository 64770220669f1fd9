// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"context"
	"fmt"
	"log"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// This keeps chunks of many days beside an array of chunks of a day.
func ExampleFollow() {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	days, err := h.At("days").CreateArray(ctx, zarr.Spec{
		Type: dtype.Int16, Shape: []int64{3, 4}, Chunks: []grid.Cut{grid.Every(1), grid.Every(4)},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	layout := rechunk.Rechunking{Chunks: grid.Chunks(365, 2)}
	for day := range int16(2) {
		report, err := rechunk.Follow(ctx, days, layout, &rechunk.Options{Into: h.At("by-place")})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.Strategy)
		if err := zarr.Append(ctx, days, 0, []int16{day, day, day, day}, nil); err != nil {
			log.Fatal(err)
		}
	}
	places, err := h.At("by-place").OpenArray(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(days.Shape(), places.Shape(), places.Grid())
	for _, a := range []*zarr.Array{days, places} {
		of, err := rechunk.Followed(ctx, a)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s follows %q\n", a.Path(), of)
	}
	// Output:
	// copy-publish
	// append
	// [5 4] [4 4] (4, 4) in chunks of (365, 2)
	// days follows ""
	// by-place follows "./days"
}
