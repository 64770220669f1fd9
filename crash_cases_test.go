package zarr_test

import (
	"bytes"
	"context"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

func openArray(ctx context.Context, h *zarr.Location) (*zarr.Array, error) {
	return h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
}

func numbers(from, n int32) []int32 {
	data := make([]int32, n)
	for i := range data {
		data[i] = from + int32(i)
	}
	return data
}

func edges(n ...int64) zarr.Spec {
	sum := int64(0)
	for _, l := range n {
		sum += l
	}
	return zarr.Spec{Shape: []int64{sum}, Type: dtype.Of[int32](), Chunks: []grid.Cut{grid.Edges(n...)}}
}

func every(extent, step int64) zarr.Spec {
	return zarr.Spec{Shape: []int64{extent}, Type: dtype.Of[int32](), Chunks: []grid.Cut{grid.Every(step)}}
}

// within returns the spec with other extents.
func within(s zarr.Spec, shape ...int64) zarr.Spec {
	s.Shape = shape
	return s
}

// raw returns the spec without a codec that would tell chunks of another shape from their
// own.
func raw(s zarr.Spec) zarr.Spec {
	s.Codecs = plain()
	return s
}

// plane is a spec with two axes of listed edges, of which both reach beyond the array.
func plane() zarr.Spec {
	return zarr.Spec{Shape: []int64{5, 4}, Type: dtype.Of[int32](), Chunks: []grid.Cut{grid.Edges(2, 4, 3), grid.Edges(3, 3)}}
}

func change(do func(ctx context.Context, a *zarr.Array) error) func(context.Context, *zarr.Location) error {
	return func(ctx context.Context, h *zarr.Location) error {
		a, err := openArray(ctx, h)
		if err != nil {
			return err
		}
		return do(ctx, a)
	}
}

// inTurn is a change that makes several.
func inTurn(changes ...func(ctx context.Context, a *zarr.Array) error) func(context.Context, *zarr.Location) error {
	return change(func(ctx context.Context, a *zarr.Array) error {
		for _, do := range changes {
			if err := do(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func resizing(opt *zarr.ResizeOptions, shape ...int64) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error { return a.Resize(ctx, shape, opt) }
}

func appending(data []int32, how grid.Growth) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error {
		return zarr.Append(ctx, a, 0, data, &zarr.AppendOptions{Grow: how})
	}
}

func unlocking(opt *zarr.UnlockOptions) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error { return a.Unlock(ctx, opt) }
}

func resize(n int64) func(context.Context, *zarr.Location) error { return change(resizing(nil, n)) }

func appendTo(data []int32) func(context.Context, *zarr.Location) error {
	return change(appending(data, grid.AppendOne()))
}

// appendFrom appends what a source has, one chunk at a time.
func appendFrom(data []int32) func(context.Context, *zarr.Location) error {
	return func(ctx context.Context, h *zarr.Location) error {
		a, err := h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1, Budget: 1})
		if err != nil {
			return err
		}
		return a.AppendFrom(ctx, 0, zarr.SourceAt(bytes.NewReader(int32Bytes(data)), int64(len(data))), nil)
	}
}

// resized is what an array of one axis holds when its extent is changed.
func resized(n int) func(old []int32) ([]int64, []int32) {
	return func(old []int32) ([]int64, []int32) {
		return []int64{int64(n)}, append(slices.Clone(old[:min(n, len(old))]), make([]int32, max(0, n-len(old)))...)
	}
}

// becomes expects another shape, with a grid unless that is "".
func becomes(grid string, shape ...int64) func(state) []state {
	return func(old state) []state { return []state{old.resized(shape...).cut(grid)} }
}

// appended expects more elements behind those that are there, and a grid unless that is
// "".
func appended(data []int32, grid string) func(state) []state {
	return func(old state) []state {
		return []state{{[]int64{old.shape[0] + int64(len(data))}, slices.Concat(old.data, data), grid}}
	}
}

// holds expects elements that are given, in an array of one axis.
func holds(data ...int32) func(state) []state {
	return func(state) []state { return []state{{shape: []int64{int64(len(data))}, data: data}} }
}

// list is the configuration of a grid of one axis.
func list(edges string) string { return `{"kind": "inline", "chunk_shapes": [` + edges + `]}` }

// months is a policy of daily data from 1 February 2023 on, for chunks of months.
func months() grid.Growth {
	s := must(calendar.ParseSteps("2023-02-01", "1d", "standard"))
	return grid.ByBoundaries("calendar:month", s.Buckets(calendar.Month).Next)
}

// crashCases are changes of every kind that this package makes.
var crashCases = slices.Concat(crashCreations, crashGrowths, crashShrinks, crashUnlocks)

var crashCreations = []crashCase{
	{name: "create", run: func(ctx context.Context, h *zarr.Location) error {
		_, err := h.At("g/a").CreateArray(ctx, edges(1, 2, 3), nil)
		return err
	}, expect: func(state) []state { return []state{{shape: []int64{6}, data: make([]int32, 6)}} }},
	{name: "write", spec: edges(1, 2, 3), loose: true, run: change(func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.Box{{0, 5}}, numbers(101, 5))
	}), expect: holds(101, 102, 103, 104, 105, 6)},
	{name: "overwrite", spec: edges(1, 2, 3), gone: true, run: func(ctx context.Context, h *zarr.Location) error {
		_, err := h.At("g/a").CreateArray(ctx, every(5, 4), &zarr.CreateOptions{Overwrite: true})
		return err
	}, expect: func(state) []state { return []state{{shape: []int64{5}, data: make([]int32, 5)}} }},
	{name: "delete", spec: edges(1, 2, 3), run: func(ctx context.Context, h *zarr.Location) error {
		return h.At("g").Delete(ctx, &zarr.Options{Write: true})
	}, expect: func(state) []state { return []state{{}} }},
	{name: "attributes", spec: every(6, 4), run: change(func(ctx context.Context, a *zarr.Array) error {
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"units": "K"}`), nil })
	}), expect: func(old state) []state { return []state{old} }},
}

var crashGrowths = []crashCase{
	{name: "append to edges", spec: edges(1, 2, 3), run: appendTo(numbers(7, 4)), expect: appended(numbers(7, 4), list("[1, 2, 3, 4]"))},
	{name: "append fill value", spec: edges(1, 2, 3), run: appendTo(make([]int32, 2)), expect: appended(make([]int32, 2), "")},
	{name: "append to regular chunks", spec: every(6, 4), run: appendTo(numbers(7, 7)), expect: appended(numbers(7, 7), "")},
	{name: "append to edges that reach beyond", spec: within(edges(1, 4, 2), 3), run: appendTo(numbers(4, 6)),
		expect: appended(numbers(4, 6), list("[1, 4, [2, 2]]"))},
	{name: "append and repeat the last edge", spec: edges(1, 2, 3), run: change(appending(numbers(7, 4), grid.RepeatLast())),
		expect: appended(numbers(7, 4), list("[1, 2, [3, 3]]"))},
	{name: "append edges of one length", spec: within(edges(1, 4), 4), run: change(appending(numbers(5, 6), grid.Fixed(2))),
		expect: appended(numbers(5, 6), list("[1, 4, [2, 3]]"))},
	{name: "append a pattern", spec: edges(1, 2), run: change(appending(numbers(4, 7), grid.Pattern(2, 1, 1))),
		expect: appended(numbers(4, 7), list("[1, [2, 2], [1, 2], 2, 1]"))},
	{name: "append to a plan", spec: edges(1, 2), run: change(appending(numbers(4, 4), grid.Preplanned(grid.Run{Length: 3, Count: 4}))),
		expect: appended(numbers(4, 4), list("[1, 2, [3, 4]]"))},
	{name: "append by months", spec: edges(28), run: change(appending(numbers(29, 40), months())),
		expect: appended(numbers(29, 40), list("[28, 31, 30]"))},
	{name: "append within a month, and on", spec: within(edges(28), 20), run: inTurn(appending(numbers(21, 3), months()), appending(numbers(24, 9), months())),
		expect: func(old state) []state {
			some := state{[]int64{23}, numbers(1, 23), list("[28]")}
			return []state{some, {[]int64{32}, numbers(1, 32), list("[28, 31]")}}
		}},
	{name: "append from a source in boxes", spec: within(edges(1, 4, 2), 3), run: appendFrom(numbers(4, 9)),
		expect: appended(numbers(4, 9), list("[1, 4, 2, 5]"))},
	{name: "append from a source to regular chunks", spec: every(6, 4), run: appendFrom(numbers(7, 7)), expect: appended(numbers(7, 7), "")},
	{name: "grow", spec: every(6, 4), run: resize(11), expect: becomes("", 11)},
	{name: "grow edges", spec: edges(1, 2, 3), run: resize(9), expect: becomes(list("[1, 2, [3, 2]]"), 9)},
	{name: "grow by a pattern", spec: within(edges(1, 4), 3), run: change(resizing(&zarr.ResizeOptions{Grow: []grid.Growth{grid.Pattern(2, 3)}}, 9)),
		expect: becomes(list("[1, 4, 2, 3]"), 9)},
	{name: "grow over what an append left", spec: edges(1, 2), run: inTurn(
		appending(numbers(4, 5), grid.Fixed(2)), resizing(nil, 3), resizing(nil, 7)),
		expect: func(old state) []state {
			more := appended(numbers(4, 5), "")(old)[0]
			return []state{more, old.resized(3), old.resized(7)}
		}},
}

var crashShrinks = []crashCase{
	{name: "shrink", spec: edges(1, 2, 3), run: resize(2), expect: becomes(list("[1, 2, 3]"), 2)},
	{name: "shrink regular chunks", spec: every(9, 4), run: resize(3), expect: becomes("", 3)},
	{name: "shrink to nothing", spec: every(9, 4), run: resize(0), expect: becomes("", 0)},
	{name: "trim edges", spec: edges(1, 4, 2, 3), run: change(resizing(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 3)),
		expect: becomes(list("[1, 4]"), 3)},
	{name: "trim edges and stay", spec: within(edges(1, 4, 2, 3), 5), run: change(resizing(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 5)),
		expect: becomes(list("[1, 4]"), 5)},
	{name: "trim exactly", spec: edges(1, 4, 2, 3), run: change(resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 3)),
		expect: becomes(list("[1, 2]"), 3)},
	{name: "trim exactly, raw", spec: raw(edges(1, 4, 2)), run: change(resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 2)),
		expect: becomes(list("[[1, 2]]"), 2)},
	{name: "trim exactly to nothing", spec: edges(3, 2), run: change(resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 0)),
		expect: becomes("", 0)},
	{name: "trim exactly and stay", spec: within(edges(1, 4, 2), 4), run: change(resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 4)),
		expect: becomes(list("[1, 3]"), 4)},
	{name: "trim a plane exactly", spec: plane(), run: change(resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 4, 4)),
		expect: becomes(list("[[2, 2]], [3, 1]"), 4, 4)},
	{name: "trim one axis and grow the other", spec: plane(), run: change(resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 3, 7)),
		expect: becomes(list("[2, 1], [[3, 2], 1]"), 3, 7)},
	{name: "trim exactly and append", spec: edges(1, 4), run: inTurn(
		resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 3), appending(numbers(50, 2), grid.AppendOne())),
		expect: func(old state) []state {
			return []state{old.resized(3), {[]int64{5}, []int32{1, 2, 3, 50, 51}, list("[1, [2, 2]]")}}
		}},
	{name: "trim exactly, drop and append again", spec: edges(1, 4), run: inTurn(
		resizing(&zarr.ResizeOptions{Shrink: grid.TrimExact}, 3), resizing(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 1),
		appending(numbers(50, 2), grid.AppendOne())),
		expect: func(old state) []state {
			return []state{old.resized(3), old.resized(1), {[]int64{3}, []int32{1, 50, 51}, list("[1, 2]")}}
		}},
	{name: "shrink and keep what is stale", spec: edges(1, 2, 3), run: change(resizing(&zarr.ResizeOptions{KeepStale: true}, 2)),
		expect: becomes("", 2)},
	{name: "old values come back", spec: edges(1, 2, 3), run: inTurn(
		resizing(&zarr.ResizeOptions{KeepStale: true}, 2), resizing(&zarr.ResizeOptions{KeepStale: true}, 6)),
		expect: func(old state) []state {
			return []state{old.resized(2), {shape: []int64{6}, data: []int32{1, 2, 3, 0, 0, 0}}}
		}},
	{name: "shrink and grow", spec: edges(1, 2, 3), run: inTurn(resizing(nil, 5), appending(numbers(50, 1), grid.AppendOne())),
		expect: func(old state) []state {
			return []state{old.resized(5), {shape: []int64{6}, data: []int32{1, 2, 3, 4, 5, 50}}}
		}},
}

var crashUnlocks = []crashCase{
	{name: "unlock", spec: every(6, 4), run: change(unlocking(nil)), expect: becomes(list("[[4, 2]]"), 6)},
	{name: "unlock and append", spec: every(6, 4), run: inTurn(unlocking(nil), appending(numbers(7, 4), grid.AppendOne())),
		expect: func(old state) []state {
			return []state{old.cut(list("[[4, 2]]")), appended(numbers(7, 4), list("[[4, 2], 2]"))(old)[0]}
		}},
	{name: "unlock and trim", spec: every(6, 4), run: change(unlocking(&zarr.UnlockOptions{Trim: true})), expect: becomes(list("[4, 2]"), 6)},
	{name: "unlock and trim, raw", spec: raw(every(9, 4)), run: change(unlocking(&zarr.UnlockOptions{Trim: true})),
		expect: becomes(list("[[4, 2], 1]"), 9)},
	{name: "unlock an axis of a plane and trim it", spec: zarr.Spec{
		Shape: []int64{5, 3}, Type: dtype.Of[int32](), Chunks: []grid.Cut{grid.Every(3), grid.Every(2)},
	}, run: change(unlocking(&zarr.UnlockOptions{Axes: []int{0}, Trim: true})), expect: becomes(list("[3, 2], 2"), 5, 3)},
}
