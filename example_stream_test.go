// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"fmt"
	"log"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// A microscope delivers planes one by one. A shard has 32 planes, in inner chunks of 8,
// and is stored once, when it is complete. A checkpoint makes incomplete shards visible.
func ExampleArray_Stream() {
	ctx := context.Background()
	a := created(ctx, zarr.Spec{
		Shape: []int64{0, 256, 256}, Type: dtype.Uint16,
		Chunks:      grid.Chunks(32, 256, 256),
		InnerChunks: grid.Chunks(8, 64, 64),
	})
	s, err := a.Stream(ctx, 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	for z := range 75 {
		plane := make([]uint16, 256*256)
		plane[0] = uint16(z)
		if err := zarr.WritePlanes(ctx, s, plane); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("written", s.Stats().Written, "visible", s.Stats().Published, a.Shape())
	if err := s.Checkpoint(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("written", s.Stats().Written, "visible", s.Stats().Published, a.Shape())
	if err := s.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// written 75 visible 64 [64 256 256]
	// written 75 visible 75 [75 256 256]
}

// A model writes to an axis with listed edges. The rest at the end gets an edge of its
// own, rounded up to whole inner chunks.
func ExampleStream_Close() {
	ctx := context.Background()
	a := created(ctx, zarr.Spec{
		Shape: []int64{100, 6}, Type: dtype.Float32,
		Chunks: []grid.Cut{grid.Edges(60, 40), grid.Every(6)}, InnerChunks: grid.Chunks(10, 6),
	})
	s, err := a.Stream(ctx, 0, &zarr.StreamOptions{Every: 50, RoundUp: true})
	if err != nil {
		log.Fatal(err)
	}
	for range 75 {
		if err := zarr.WritePlanes(ctx, s, make([]float32, 6)); err != nil {
			log.Fatal(err)
		}
	}
	if err := s.Close(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v %s\n", a.Shape(), a.Grid().AppendConfiguration(nil))
	// Output: [175 6] {"kind": "inline", "chunk_shapes": [[60, 40, 50, 30], 6]}
}
