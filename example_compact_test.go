// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"fmt"
	"log"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// Changing inner chunks by appending leaves unused bytes in a shard. Compacting removes
// them.
func ExampleArray_CompactShards() {
	ctx := context.Background()
	a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{8}, Type: dtype.Int64, Chunks: grid.Chunks(8), InnerChunks: grid.Chunks(2),
		Codecs: fixture.Plain(),
	}, &zarr.CreateOptions{Options: zarr.Options{Shards: zarr.Shards{Strategy: codec.Append}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, part := range []selection.Box{{{0, 8}}, {{1, 2}}, {{5, 6}}} {
		if err := zarr.Fill(ctx, a, part, int64(7)); err != nil {
			log.Fatal(err)
		}
	}
	if shard, err := a.CheckShard(ctx, []int64{0}, nil); err == nil {
		fmt.Printf("%d of %d bytes unused, %d faults\n", shard.Dead, shard.Bytes, len(shard.Faults))
	}
	report, err := a.CompactShards(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d shards rewritten: %d bytes became %d\n", report.Changed, report.Shards, report.Before, report.After)
	// Output:
	// 32 of 164 bytes unused, 0 faults
	// 1 of 1 shards rewritten: 164 bytes became 132
}

// Check reports the faults of stored shards, shard by shard.
func ExampleArray_CheckShards() {
	ctx := context.Background()
	s := memstore.New()
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{8}, Type: dtype.Int64, Chunks: grid.Chunks(8), InnerChunks: grid.Chunks(2),
	}, nil)
	if err == nil {
		err = zarr.Fill(ctx, a, nil, int64(7))
	}
	if err == nil {
		err = fixture.FlipByte(s, "c/0", 3) // a simulated disk error
	}
	if err != nil {
		log.Fatal(err)
	}
	for fault, err := range a.CheckShards(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(fault.Key, fault.Inner, fault.Off)
	}
	// Output:
	// c/0 [[0]] 0
}
