// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/regrid"
	"varve.dev/zarr/store/storetest"
	"varve.dev/zarr/test/fixture"
)

// merging merges the last chunks of the array in place.
func merging(ctx context.Context, a *zarr.Array) error {
	_, err := regrid.Do(ctx, a, regrid.Compaction{UpTo: 3}, inPlace)
	if errors.Is(err, zarr.ErrUnsupported) {
		return nil // after two appends it would no longer be a merge of the tail alone
	}
	return err
}

// writingAll writes all elements of a range.
func writingAll(from int64, values ...int32) client {
	return func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, grid.Box{{Start: from, Stop: from + int64(len(values))}}, values)
	}
}

// reading reads all elements, and accepts them if they are among the wanted ones.
func reading(t *testing.T, want ...[]int32) client {
	return func(ctx context.Context, a *zarr.Array) error {
		got, err := zarr.Read[int32](ctx, a, nil)
		if err == nil && !slices.ContainsFunc(want, func(w []int32) bool { return slices.Equal(w, got.Data) }) {
			t.Errorf("a reader sees %v", got.Data)
		}
		return err
	}
}

// TestInPlaceInterleavings enumerates the orders of the operations of a merge of the last
// chunks in place and of other programs, with up to two interrupts.
func TestInPlaceInterleavings(t *testing.T) {
	fixture.Sequential(t)
	written := func(at int, value ...int32) func([]bool) []int32 {
		return func(done []bool) []int32 {
			want := fixture.Numbers(1, 5)
			copy(want[at:], value)
			if !done[1] {
				return nil // a lone writer never fails
			}
			return want
		}
	}
	edges := []int64{3, 1, 1}
	for name, s := range map[string]scene{
		"kept":     {clients: []client{merging, writing(1, 99)}, want: written(1, 99)},
		"replaced": {clients: []client{merging, writing(3, 99)}, want: written(3, 99)},
		"dropped":  {clients: []client{merging, writing(4, 99)}, want: written(4, 99)},
		"cleared":  {clients: []client{merging, writing(3, 0)}, want: written(3, 0)},
		"several":  {clients: []client{merging, writingAll(2, 97, 98, 99)}, want: written(2, 97, 98, 99)},
		"part": {edges: []int64{2, 2, 1}, clients: []client{func(ctx context.Context, a *zarr.Array) error {
			_, err := regrid.Do(ctx, a, regrid.Compaction{Edges: []grid.Run{{Length: 2, Count: 1}, {Length: 3, Count: 1}}}, inPlace)
			return err
		}, writing(3, 99)}, want: written(3, 99)},
		"append": {clients: []client{merging, appending(6)}, want: func(done []bool) []int32 {
			if done[1] {
				return fixture.Numbers(1, 6)
			}
			return nil
		}},
		"reader": {clients: []client{merging, reading(t, fixture.Numbers(1, 5))}, want: written(0)},
		"appending reader": {clients: []client{both(merging, appending(6)), reading(t, fixture.Numbers(1, 5), fixture.Numbers(1, 6))}, want: func(done []bool) []int32 {
			if done[0] && done[1] {
				return fixture.Numbers(1, 6)
			}
			return nil
		}},
		"flip": {clients: []client{merging, regularizing}, want: func([]bool) []int32 { return fixture.Numbers(1, 5) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.n = 5
			if s.edges == nil {
				s.edges = edges
			}
			runs := storetest.Explore(func(choose func(n int) int) bool {
				s.play(t, inMemory(), 2, choose)
				return !t.Failed()
			})
			t.Logf("%d runs", runs)
		})
	}
}
