// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

// moveCrashAt is [change.crashAt] for a request that moves planes of an array of the
// elements 1 to 6.
func moveCrashAt(t *testing.T, inner storetest.ObjectStore, m move, at int, end func(*storetest.Stepper) bool) bool {
	a, err := zarr.At(inner, "a").CreateArray(t.Context(), m.spec, nil)
	was, want := fixture.Numbers(1, 6), m.want
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, was)
	}
	if err != nil {
		t.Fatal(err)
	}
	do := func(s store.Store, o *rechunk.Options) error {
		a, err := zarr.At(&handle{s.(storetest.ObjectStore)}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
		if err == nil {
			_, err = rechunk.Do(t.Context(), a, m.request, o)
		}
		return err
	}
	stepper := storetest.NewStepper(inner)
	defer stepper.Close()
	stepper.Start(func(s store.Store) error { return do(s, nil) })
	for range at {
		if _, done := stepper.Step(0); done {
			return false
		}
	}
	if done := end(stepper); !done {
		stepper.Finish(func(int) int { return 0 }, 0)
	}
	is := values(t, inner, "a")
	if !slices.Equal(is, was) && !slices.Equal(is, want) {
		t.Fatalf("operation %d leaves %v\n%s", at, is, stepper.Trace())
	}
	if isOpen(t, inner, "a") || slices.Equal(is, was) {
		if err := do(inner, &rechunk.Options{TakeOver: true}); err != nil {
			t.Fatalf("again after operation %d: %v\n%s", at, err, stepper.Trace())
		}
	}
	reads(t, inner, want...)
	if a, err = zarr.At(inner, "a").OpenArray(t.Context(), &zarr.Options{Write: true}); err == nil {
		_, err = rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
	}
	if err != nil {
		t.Fatalf("vacuum after operation %d: %v\n%s", at, err, stepper.Trace())
	}
	reads(t, inner, want...)
	left := slices.DeleteFunc(strings.Fields(keys(t, inner)), func(name string) bool { return strings.HasSuffix(name, "zarr.json") })
	if int64(len(left)) != a.Grid().Chunks()[0] {
		t.Fatalf("operation %d leaves %v\n%s", at, left, stepper.Trace())
	}
	return true
}

// moving drops or inserts planes of the array.
func moving(r rechunk.Request) client {
	return func(ctx context.Context, a *zarr.Array) error {
		_, err := rechunk.Do(ctx, a, r, nil)
		return err
	}
}

// move is a request that moves planes of an array of the elements 1 to 6, and the
// elements afterwards.
type move struct {
	spec    zarr.Spec
	request rechunk.Request
	want    []int32
}

// moves are requests of both kinds.
var moves = map[string]move{
	"drop":                      {fixture.Edges(2, 2, 2), rechunk.Removal{Range: grid.Interval{Start: 1, Stop: 4}}, []int32{1, 5, 6}},
	"drop from a regular array": {fixture.Every(6, 4), rechunk.Removal{Range: grid.Interval{Start: 1, Stop: 4}}, []int32{1, 5, 6}},
	"insert":                    {fixture.Edges(2, 2, 2), rechunk.Insertion{At: 3, From: given([]int64{2}, []int32{8, 9})}, []int32{1, 2, 3, 8, 9, 4, 5, 6}},
}

// moveScenes are removals and insertions beside other clients. What was appended stays. A
// value that was written is at the plane that had the place when it was written.
func moveScenes() map[string]scene {
	dropping := moving(rechunk.Removal{Range: grid.Interval{Start: 1, Stop: 2}})
	inserting := moving(rechunk.Insertion{At: 1, From: given([]int64{1}, []int32{9}), Identity: "nine"})
	return map[string]scene{
		"append": {n: 4, clients: []client{dropping, appending(5)}, oneOf: func(done []bool) [][]int32 {
			if !done[0] || !done[1] {
				return nil // both always succeed
			}
			return [][]int32{{1, 3, 4, 5}}
		}},
		"append to a regular array": {n: 4, regular: true, clients: []client{dropping, appending(5)}, oneOf: func(done []bool) [][]int32 {
			if !done[0] || !done[1] {
				return nil
			}
			return [][]int32{{1, 3, 4, 5}}
		}},
		"append to an insertion": {n: 3, clients: []client{inserting, appending(5)}, oneOf: func(done []bool) [][]int32 {
			if !done[0] || !done[1] {
				return nil
			}
			return [][]int32{{1, 9, 2, 3, 5}}
		}},
		"region": {n: 4, clients: []client{dropping, writing(2, 99)}, oneOf: func(done []bool) [][]int32 {
			if !done[0] {
				return nil // a lone removal never fails
			}
			list := [][]int32{{1, 99, 4}}
			if done[1] {
				return append(list, []int32{1, 3, 99})
			}
			return append(list, []int32{1, 3, 4})
		}},
		"region before an insertion": {n: 3, clients: []client{inserting, writing(0, 99)}, oneOf: func(done []bool) [][]int32 {
			list := [][]int32{{99, 9, 2, 3}}
			if !done[1] {
				list = append(list, []int32{1, 9, 2, 3})
			}
			return list
		}},
		"two removals": {n: 3, clients: []client{dropping, moving(rechunk.Removal{Range: grid.Interval{Stop: 1}})}, oneOf: func(done []bool) [][]int32 {
			switch {
			case done[0] && done[1]:
				return [][]int32{{2}, {3}}
			case done[0]:
				return [][]int32{{1, 3}}
			}
			return [][]int32{{2, 3}}
		}},
		"compaction": {n: 4, clients: []client{dropping, compacting}, oneOf: func(done []bool) [][]int32 {
			if done[0] {
				return [][]int32{{1, 3, 4}}
			}
			return [][]int32{{1, 2, 3, 4}}
		}},
	}
}
