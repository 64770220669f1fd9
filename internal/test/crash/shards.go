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
	"varve.dev/zarr/selection"
)

// shards returns the spec with shards: its chunks are cut into inner chunks of n
// elements along every axis.
func shards(s zarr.Spec, n int64) zarr.Spec {
	for range s.Shape {
		s.InnerChunks = append(s.InnerChunks, grid.Every(n))
	}
	return s
}

// inShards returns a change that makes several changes in order, with a strategy.
func inShards(how codec.Strategy, changes ...func(ctx context.Context, a *zarr.Array) error) func(context.Context, *zarr.Location) error {
	return func(ctx context.Context, h *zarr.Location) error {
		a, err := h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1, Shards: zarr.Shards{Strategy: how}})
		for _, do := range changes {
			if err != nil {
				return err
			}
			err = do(ctx, a)
		}
		return err
	}
}

// putting returns a write of consecutive numbers, starting with v, to an array of one
// axis.
func putting(from, to int64, v int32) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.Box{{from, to}}, fixture.Numbers(v, int32(to-from)))
	}
}

// shardCases are changes of sharded arrays with a strategy.
func shardCases(name string, how codec.Strategy) []crashCase {
	trim := &zarr.ResizeOptions{Shrink: grid.TrimExact}
	list := func(n ...int64) zarr.Spec { return shards(fixture.Edges(n...), 1) }
	cases := []crashCase{
		{name: "write an inner chunk", spec: shards(fixture.Every(14, 8), 2), again: true, run: inShards(how, putting(2, 4, 100)),
			expect: func(old fixture.State) []fixture.State { return []fixture.State{old.Put(2, 4, 100)} }},
		{name: "write an element", spec: shards(fixture.Every(14, 8), 2), again: true, run: inShards(how, putting(3, 4, 100)),
			expect: func(old fixture.State) []fixture.State { return []fixture.State{old.Put(3, 4, 100)} }},
		{name: "write an element, raw", spec: shards(fixture.Raw(fixture.Every(14, 8)), 2), again: true, run: inShards(how, putting(3, 4, 100)),
			expect: func(old fixture.State) []fixture.State { return []fixture.State{old.Put(3, 4, 100)} }},
		{name: "write in two shards", spec: shards(fixture.Every(14, 8), 2), loose: true, run: inShards(how, putting(5, 11, 100)),
			expect: func(old fixture.State) []fixture.State { return []fixture.State{old.Put(5, 11, 100)} }},
		{name: "write twice", spec: shards(fixture.Every(14, 8), 2), again: true, run: inShards(how, putting(2, 4, 100), putting(3, 6, 200)),
			expect: func(old fixture.State) []fixture.State {
				return []fixture.State{old.Put(2, 4, 100), old.Put(2, 4, 100).Put(3, 6, 200)}
			}},
		{name: "write at the border", spec: shards(fixture.Every(14, 8), 2), again: true, run: inShards(how, putting(11, 14, 100)),
			expect: func(old fixture.State) []fixture.State { return []fixture.State{old.Put(11, 14, 100)} }},
		{name: "write the fill value to a shard", spec: shards(fixture.Every(14, 8), 2), again: true, run: inShards(how, func(ctx context.Context, a *zarr.Array) error {
			return zarr.Fill[int32](ctx, a, selection.Box{{0, 8}}, 0)
		}), expect: func(old fixture.State) []fixture.State {
			to := old.Put(0, 0, 0)
			clear(to.Data[:8])
			return []fixture.State{to}
		}},
		{name: "append to a shard", spec: shards(fixture.Every(11, 8), 2), run: inShards(how, fixture.Appending(fixture.Numbers(50, 9), grid.AppendOne())), expect: appended(fixture.Numbers(50, 9), "")},
		{name: "append to listed shards", spec: list(4, 2), run: inShards(how, fixture.Appending(fixture.Numbers(50, 3), grid.AppendOne())), expect: appended(fixture.Numbers(50, 3), "")},
		{name: "shrink within a shard", spec: shards(fixture.Every(14, 8), 2), run: inShards(how, fixture.Resizing(nil, 5)), expect: becomes("", 5)},
		{name: "shrink between inner chunks", spec: shards(fixture.Every(14, 8), 2), run: inShards(how, fixture.Resizing(nil, 12)), expect: becomes("", 12)},
		{name: "shrink and grow", spec: shards(fixture.Every(14, 8), 2), run: inShards(how, fixture.Resizing(nil, 5), fixture.Resizing(nil, 12)),
			expect: func(old fixture.State) []fixture.State {
				return []fixture.State{old.Resized(5), old.Resized(5).Resized(12)}
			}},
		{name: "grow", spec: shards(fixture.Every(11, 8), 2), run: inShards(how, fixture.Resizing(nil, 20)), expect: becomes("", 20)},
		{name: "trim listed shards exactly", spec: list(1, 4, 3), run: inShards(how, fixture.Resizing(trim, 3)), expect: becomes("", 3)},
		{name: "trim exactly and append", spec: list(1, 4), run: inShards(how, fixture.Resizing(trim, 3), fixture.Appending(fixture.Numbers(50, 2), grid.AppendOne())),
			expect: func(old fixture.State) []fixture.State {
				return []fixture.State{old.Resized(3), {Shape: []int64{5}, Data: []int32{1, 2, 3, 50, 51}}}
			}},
		{name: "trim a plane of shards", spec: shards(fixture.Plane(), 1), run: inShards(how, fixture.Resizing(trim, 4, 4)), expect: becomes("", 4, 4)},
		{name: "unlock and trim shards", spec: shards(fixture.Every(6, 4), 1), run: inShards(how, fixture.Unlocking(&zarr.RectilinearOptions{Trim: true})), expect: becomes("", 6)},
		{name: "change and compact", spec: shards(fixture.Every(14, 8), 2), again: true, run: inShards(how, putting(2, 4, 100), func(ctx context.Context, a *zarr.Array) error {
			_, err := a.CompactShards(ctx, nil)
			return err
		}), expect: func(old fixture.State) []fixture.State { return []fixture.State{old.Put(2, 4, 100)} }},
	}
	for i := range cases {
		cases[i].name = name + ": " + cases[i].name
	}
	return cases
}

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
			err := zarr.WritePlanes(ctx, s, fixture.Numbers(int32(s.Stats().Written)*plane+1, max(n, -n)*plane))
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
		Shape: []int64{3, 4}, Type: dtype.Int32, Chunks: grid.Chunks(4, 2), InnerChunks: grid.Chunks(2, 2),
	}, run: streamed(nil, codec.Rewrite, 1, 1, 1, -1, 1), expect: reaches(4, 7, 8)},
}
