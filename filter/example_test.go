// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"context"
	"fmt"
	"log"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// A table of six days in chunks of two. What the condition keeps of each chunk is a chunk
// of the result.
func ExampleDo() {
	ctx, h := context.Background(), zarr.At(memstore.New(), "")
	rows := func(name string, attributes any, values []int32) {
		a, err := h.At("stations/"+name).CreateArray(ctx, zarr.Spec{
			Shape: []int64{6}, Type: dtype.Int32, Chunks: grid.Chunks(2), DimensionNames: []string{"time"}, Attributes: attributes,
		}, nil)
		if err == nil {
			err = zarr.Write(ctx, a, nil, values)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	rows("time", map[string]string{"units": "days since 2019-12-30"}, []int32{0, 1, 2, 3, 4, 5})
	rows("station", nil, []int32{7, 7, 7, 8, 7, 7})
	where, err := filter.Parse(`time >= 2020-01-01 and station == 7`)
	if err != nil {
		log.Fatal(err)
	}
	report, err := filter.Do(ctx, h.At("stations"), h.At("recent"), filter.Request{Where: where}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d rows: %d chunks copied, %d encoded, %d dropped\n", report.Kept, report.Rows, report.Copied, report.Encoded, report.Dropped)
	a, err := h.At("recent/time").OpenArray(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	days, err := zarr.Read[int32](ctx, a, nil)
	fmt.Println(days.Data, a.Grid().Axis(0).Sizes(), err)
	// Output:
	// 3 of 6 rows: 2 chunks copied, 2 encoded, 2 dropped
	// [2 4 5] [{1 1} {2 1}] <nil>
}
