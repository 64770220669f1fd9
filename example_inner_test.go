// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// Two shards of different lengths have inner chunks of two elements, which are read one
// by one.
func ExampleArray_Inner() {
	ctx := context.Background()
	a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{10}, Type: dtype.Uint8, Codecs: fixture.Plain(),
		Chunks: []grid.Cut{grid.Edges(6, 4)}, InnerChunks: grid.Chunks(2),
	}, nil)
	if err == nil {
		err = zarr.Write(ctx, a, selection.Box{{2, 4}}, []uint8{7, 8})
	}
	if err != nil {
		log.Fatal(err)
	}
	inner := a.Inner()
	for c, err := range inner.Chunks() {
		if err != nil {
			log.Fatal(err)
		}
		data, err := inner.ReadEncodedChunk(ctx, c.Index)
		fmt.Println(c.Index, data, errors.Is(err, fs.ErrNotExist))
	}
	// Output:
	// [0] [] true
	// [1] [7 8] false
	// [2] [] true
	// [3] [] true
	// [4] [] true
}
