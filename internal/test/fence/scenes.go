// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

// action is what one program does to the array. model returns the content after it, and
// false if the action is impossible; it is nil for a reader.
type action struct {
	name  string
	do    func(ctx context.Context, a *zarr.Array, saw func(zarr.Block[int32])) error
	model func(content) (content, bool)
	plain bool // does not change the document; after an error its outcome is unknown
}

func appends(axis int, data ...int32) action {
	return action{name: fmt.Sprint("append ", data), do: func(ctx context.Context, a *zarr.Array, _ func(zarr.Block[int32])) error {
		return zarr.Append(ctx, a, axis, data, nil)
	}, model: func(c content) (content, bool) { return c.appended(axis, data) }}
}

func resizes(opt *zarr.ResizeOptions, shape ...int64) action {
	return action{name: fmt.Sprint("resize to ", shape), do: func(ctx context.Context, a *zarr.Array, _ func(zarr.Block[int32])) error {
		return a.Resize(ctx, shape, opt)
	}, model: func(c content) (content, bool) { return c.resized(shape...), true }}
}

func writes(at int64, data ...int32) action {
	end := at + int64(len(data))
	return action{name: fmt.Sprintf("write %d at %d", data, at), plain: true, do: func(ctx context.Context, a *zarr.Array, _ func(zarr.Block[int32])) error {
		return zarr.Write(ctx, a, selection.Box{{at, end}}, data)
	}, model: func(c content) (content, bool) {
		if end > c.shape[0] {
			return c, false
		}
		c.rows = slices.Clone(c.rows)
		copy(c.rows[at:], data)
		return c, true
	}}
}

func annotates(attrs string) action {
	return action{name: "attributes " + attrs, do: func(ctx context.Context, a *zarr.Array, _ func(zarr.Block[int32])) error {
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(attrs), nil })
	}, model: func(c content) (content, bool) { c.attrs = attrs; return c, true }}
}

func reads(times int) action {
	return action{name: fmt.Sprint("read ", times), do: func(ctx context.Context, a *zarr.Array, saw func(zarr.Block[int32])) error {
		for range times {
			b, err := zarr.Read[int32](ctx, a, nil)
			if err != nil {
				return err
			}
			saw(b)
		}
		return nil
	}}
}

// scene is an array and several programs that use it concurrently.
type scene struct {
	name    string
	spec    zarr.Spec
	was     []int32
	left    map[string]int // chunks that a crashed program left: key and number of elements
	actions []action
}

// set stores the array, and the leftover chunks, in a new store.
func (s *scene) set(inner storetest.ObjectStore) error {
	ctx := context.Background()
	spec := s.spec
	spec.Codecs = fixture.Plain()
	a, err := zarr.At(inner, "a").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{Concurrency: 1}})
	if err == nil && len(s.was) > 0 {
		err = zarr.Write(ctx, a, nil, s.was)
	}
	if err == nil {
		err = publishAgain(ctx, a) // adds the newline of a fence
	}
	for key, n := range s.left {
		left := make([]byte, 4*n)
		for i := range left {
			left[i] = 0xee
		}
		_, putErr := inner.Put(ctx, store.MustKey("a/"+key), left, store.Flush)
		err = errors.Join(err, putErr)
	}
	return err
}

// scenes are sets of concurrent programs. Each program appends other elements.
var scenes = []scene{
	{name: "edges", spec: fixture.Edges(2, 1), was: fixture.Numbers(1, 3), actions: []action{appends(0, 101, 102), appends(0, 201), appends(0, 301, 302, 303)}},
	{name: "edges over leftovers", spec: fixture.Edges(2, 1), was: fixture.Numbers(1, 3), left: map[string]int{"c/2": 2, "c/3": 1},
		actions: []action{appends(0, 101, 102), appends(0, 201), appends(0, 301, 302)}},
	{name: "two chunks each", spec: fixture.Every(4, 2), was: fixture.Numbers(1, 4), left: map[string]int{"c/3": 2},
		actions: []action{appends(0, 101, 102, 103), appends(0, 201, 202, 203), appends(0, 301, 302, 303, 304)}},
	{name: "part of a chunk", spec: fixture.Every(6, 4), was: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), appends(0, 201), appends(0, 301, 302)}},
	{name: "part of a chunk that is not stored", spec: fixture.Every(6, 4), was: []int32{1, 2, 3, 4, 0, 0},
		actions: []action{appends(0, 101, 102, 103), appends(0, 201), appends(0, 301, 302)}},
	{name: "the same elements", spec: fixture.Every(6, 4), was: fixture.Numbers(1, 6), actions: []action{appends(0, 7, 7, 7), appends(0, 7, 7, 7), appends(0, 7, 7, 7)}},
	{name: "the same chunk", spec: fixture.Edges(2, 1), was: fixture.Numbers(1, 3), actions: []action{appends(0, 7, 7), appends(0, 7, 7), appends(0, 301)}},
	{name: "a grower", spec: fixture.Every(6, 4), was: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102), resizes(nil, 15), appends(0, 301)}},
	{name: "a grower of edges", spec: fixture.Edges(2, 1), was: fixture.Numbers(1, 3), actions: []action{appends(0, 101, 102), resizes(nil, 6), appends(0, 301)}},
	{name: "a shrinker", spec: fixture.Every(6, 4), was: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), resizes(nil, 5), appends(0, 301)}},
	{name: "a shrinker of edges", spec: fixture.Edges(2, 1, 2), was: fixture.Numbers(1, 5), actions: []action{appends(0, 101, 102), resizes(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 2), appends(0, 301)}},
	{name: "there and back", spec: fixture.Every(6, 4), was: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), resizes(nil, 8), resizes(nil, 6)}},
	{name: "attributes", spec: fixture.Every(6, 4), was: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), annotates(`{"k":1}`), appends(0, 301)}},
	{name: "a writer at the border", spec: fixture.Every(6, 4), was: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), writes(5, 77), appends(0, 301)}},
	{name: "a writer of all of the last chunk", spec: fixture.Every(6, 4), was: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), writes(4, 77, 78), appends(0, 301)}},
	{name: "fill values where nothing is stored", spec: fixture.Every(6, 4), was: []int32{1, 2, 3, 4, 0, 0},
		actions: []action{appends(0, 0, 0, 0), appends(0, 201), appends(0, 0)}},
	{name: "a writer of fill values at the border", spec: fixture.Every(6, 4), was: []int32{1, 2, 3, 4, 0, 6},
		actions: []action{appends(0, 0), writes(5, 0), appends(0, 301)}},
	{name: "a reader", spec: fixture.Every(6, 4), was: fixture.Numbers(1, 6), actions: []action{appends(0, 101, 102, 103), reads(2), resizes(nil, 5)}},
	{name: "a reader of edges", spec: fixture.Edges(2, 1, 2), was: fixture.Numbers(1, 5),
		actions: []action{resizes(&zarr.ResizeOptions{Shrink: grid.TrimEdges}, 2), reads(2), appends(0, 101, 102)}},
	{name: "two axes", spec: board(4, 4), was: fixture.Numbers(1, 16), actions: []action{appends(0, fixture.Numbers(101, 16)...), appends(1, fixture.Numbers(201, 16)...)}},
	{name: "two axes, little stored", spec: board(4, 4), was: append(fixture.Numbers(1, 1), make([]int32, 15)...),
		actions: []action{appends(0, fixture.Numbers(101, 16)...), appends(1, fixture.Numbers(201, 16)...)}},
	{name: "two axes and a grower", spec: board(4, 4), was: append(make([]int32, 12), fixture.Numbers(1, 4)...),
		actions: []action{appends(0, fixture.Numbers(101, 4)...), resizes(nil, 7, 7), appends(1, fixture.Numbers(201, 4)...)}},
}

// board is the spec of a rectangle in chunks of three by three.
func board(rows, columns int64) zarr.Spec {
	s := fixture.Every(rows, 3)
	s.Shape, s.Chunks = []int64{rows, columns}, []grid.Cut{grid.Every(3), grid.Every(3)}
	return s
}
