package main

import (
	"testing"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memory"
)

// TestSlabToWrite checks that what is written at a time ends where inner chunks do, so that none is encoded twice, as long as that
// does not take more memory than there may be.
func TestSlabToWrite(t *testing.T) {
	for _, c := range []struct {
		shape, shards, chunks []int64
		want                  int64
	}{
		{[]int64{1 << 33}, nil, []int64{1 << 20}, slabBytes},
		{[]int64{1 << 33}, nil, []int64{500_000_000}, 500_000_000},
		{[]int64{1 << 33}, []int64{1 << 30}, []int64{1 << 28}, 1 << 28},
		{[]int64{1 << 33}, []int64{1 << 33}, []int64{1 << 26}, slabBytes},
		{[]int64{1 << 15, 1 << 15}, nil, []int64{1 << 13, 1 << 13}, 1 << 28},           // all four side by side
		{[]int64{1 << 20, 1 << 20}, nil, []int64{1 << 14, 1 << 14}, 1 << 28},           // which here would be 16 GiB
		{[]int64{1 << 40}, nil, []int64{1 << 31}, slabBytes},                           // more than the limit: it is written in parts
		{[]int64{9, 9, 1 << 28}, nil, []int64{1, 1, 1 << 28}, 1 << 28},                 // one is a layer
		{[]int64{1 << 12, 1 << 14, 4}, nil, []int64{1 << 12, 1 << 12, 4}, 1 << 28},     // the whole array
		{[]int64{1 << 20, 1 << 8}, []int64{1 << 20, 1 << 8}, []int64{1, 1}, slabBytes}, // next to nothing each
	} {
		spec := zarr.Spec{Shape: c.shape, Type: dtype.Of[uint8]()}
		for _, n := range c.chunks {
			spec.Chunks = append(spec.Chunks, grid.Every(n))
		}
		if c.shards != nil {
			spec.Chunks, spec.InnerChunks = nil, spec.Chunks
			for _, n := range c.shards {
				spec.Chunks = append(spec.Chunks, grid.Every(n))
			}
		}
		a, err := zarr.On(memory.New()).CreateArray(t.Context(), "", spec, &zarr.CreateOptions{Options: zarr.Options{Limits: zarr.Limits{InnerChunks: 1 << 30}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Select(nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := slabToWrite(new(cobra.Command), a, r, a.Type()); n != c.want {
			t.Errorf("%+v: %d bytes", c, n)
		}
	}
}
