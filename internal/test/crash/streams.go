// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"slices"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
)

func init() { crashCases = append(crashCases, crashStreams...) }

// streamed returns a change that streams rows, continuing the numbers of the array. Each
// element of rows is a number of rows to write; a negative one is followed by a
// checkpoint.
func streamed(opt *zarr.StreamOptions, strategy codec.Strategy, rows ...int32) func(context.Context, *zarr.Location) error {
	return func(ctx context.Context, h *zarr.Location) error {
		a, err := h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1, Shards: zarr.Shards{Strategy: strategy}})
		if err != nil {
			return err
		}
		s, err := a.Stream(ctx, 0, opt)
		if err != nil {
			return err
		}
		plane := int32(fixture.Count(a.Shape()[1:]))
		for _, n := range rows {
			err := zarr.WritePlanes(ctx, s, fixture.Numbers(int32(s.Next())*plane+1, max(n, -n)*plane))
			if err == nil && n < 0 {
				err = s.Checkpoint(ctx)
			}
			if err != nil {
				return err
			}
		}
		return s.Close(ctx)
	}
}

// reaches expects the numbers from 1 on, up to each of the extents in order.
func reaches(extents ...int64) func(fixture.State) []fixture.State {
	return func(old fixture.State) []fixture.State {
		var all []fixture.State
		for _, n := range extents {
			shape := append([]int64{n}, old.Shape[1:]...)
			all = append(all, fixture.State{Shape: shape, Data: fixture.Numbers(1, int32(fixture.Count(shape)))})
		}
		return all
	}
}

// crashStreams are streams of every kind. A crash loses only rows that were not
// published.
var crashStreams = []crashCase{
	{name: "stream", spec: fixture.ShardsOf8(0), run: streamed(nil, codec.Rewrite, slices.Repeat([]int32{1}, 18)...), expect: reaches(8, 16, 18)},
	{name: "stream behind part of a shard", spec: fixture.ShardsOf8(5), run: streamed(nil, codec.Rewrite, 2, 3, 3), expect: reaches(8, 13)},
	{name: "stream with checkpoints", spec: fixture.ShardsOf8(5), run: streamed(nil, codec.Rewrite, -2, 4, -1), expect: reaches(7, 8, 12)},
	{name: "stream with checkpoints, appending to shards", spec: fixture.ShardsOf8(5), run: streamed(nil, codec.Append, -2, 4, -1), expect: reaches(7, 8, 12)},
	{name: "stream seldom", spec: fixture.ShardsOf8(3), run: streamed(&zarr.StreamOptions{Every: 12}, codec.Rewrite, slices.Repeat([]int32{1}, 20)...), expect: reaches(16, 23)},
	{name: "stream without room", spec: fixture.ShardsOf8(0), run: streamed(&zarr.StreamOptions{Budget: 8}, codec.Rewrite, slices.Repeat([]int32{1}, 9)...), expect: reaches(2, 4, 6, 8, 9)},
	{name: "stream at intervals", spec: fixture.ShardsOf8(3), run: streamed(&zarr.StreamOptions{Interval: time.Hour}, codec.Rewrite, append(slices.Repeat([]int32{1}, 24), -4, 9)...), expect: reaches(8, 31, 40)},
	{name: "stream to regular chunks", spec: fixture.Every(6, 4), run: streamed(nil, codec.Rewrite, slices.Repeat([]int32{1}, 7)...), expect: reaches(8, 12, 13)},
	{name: "stream to edges", spec: fixture.Edges(1, 2, 3), run: streamed(nil, codec.Rewrite, 2, 2, -1, 3), expect: reaches(9, 11, 12, 14)},
	{name: "stream to shards side by side", spec: zarr.Spec{
		Shape: []int64{3, 4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(4), grid.Every(2)}, InnerChunks: []grid.Cut{grid.Every(2), grid.Every(2)},
	}, run: streamed(nil, codec.Rewrite, 1, 1, 1, -1, 1), expect: reaches(4, 7, 8)},
}
