// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// client is a program that uses the array "a" of a store.
type client func(ctx context.Context, a *zarr.Array) error

// compacting merges the chunks of the array by twos.
func compacting(ctx context.Context, a *zarr.Array) error {
	_, err := rechunk.Do(ctx, a, rechunk.Compaction{UpTo: 2}, nil)
	return err
}

// regularizing gives all chunks three elements.
func regularizing(ctx context.Context, a *zarr.Array) error {
	_, err := rechunk.Do(ctx, a, rechunk.Regularization{Chunk: []int64{3}}, nil)
	return err
}

// concurrently runs one client after the other.
func concurrently(first, second client) client {
	return func(ctx context.Context, a *zarr.Array) error {
		return errors.Join(first(ctx, a), second(ctx, a))
	}
}

// writing writes one element.
func writing(at int64, value int32) client {
	return func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.BoxOf(grid.Box{{Start: at, Stop: at + 1}}), []int32{value})
	}
}

// appending appends elements.
func appending(values ...int32) client {
	return func(ctx context.Context, a *zarr.Array) error { return zarr.Append(ctx, a, 0, values, nil) }
}

// handle is the store of one client. As drivers of their own, handles do not share the
// locks of this process.
type handle struct{ stepping.ObjectStore }

// stallTime is the longest time that a run may take. Keys of two clients may share a lock
// of this process by chance, so clients may wait for each other. Such a run is discarded.
const stallTime = 3 * time.Second

// scene is clients that start with an array of the elements 1 to n, in chunks of one.
type scene struct {
	n       int32
	clients []client
	edges   []int64 // of the chunks, if they are others
	regular bool    // the grid is regular
	removed bool    // a client removes the array
	// want returns the elements after the clients that succeeded, given which did.
	want func(done []bool) []int32
	// oneOf, if not nil, takes the place of want, if several results are right.
	oneOf func(done []bool) [][]int32
}

// play runs the clients on an array in an empty store, with a choice of the order of
// their operations. It returns nil if the run was discarded.
func (s scene) play(t *testing.T, inner stepping.ObjectStore, interrupts int, choose func(n int) int) (trace stepping.Trace) {
	edges := s.edges
	if edges == nil {
		edges = slices.Repeat([]int64{1}, int(s.n))
	}
	spec := fixture.Edges(edges...)
	if s.regular {
		spec = fixture.Every(int64(s.n), 1)
	}
	a, err := zarr.At(inner, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, s.n))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), stallTime)
	defer cancel()
	stepper := stepping.NewStepper(inner)
	defer stepper.Close()
	for i, c := range s.clients {
		stepper.Start(func(s store.Store) error {
			a, err := zarr.At(&named{s.(stepping.ObjectStore), fmt.Sprint("client", i)}, fmt.Sprint("client", i, "/a")).OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
			if err != nil {
				return err
			}
			return c(ctx, a)
		})
	}
	stepper.Finish(choose, interrupts)
	if ctx.Err() != nil {
		return nil
	}
	done := make([]bool, len(s.clients))
	for i := range s.clients {
		err := stepper.Err(i)
		// Where there is another array by now, nothing tells what became of a write.
		gone := s.removed && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, zarr.ErrOutcomeUnknown))
		if done[i] = err == nil; err != nil && !errors.Is(err, zarr.ErrConflict) && !gone {
			t.Fatalf("client %d: %v\n%s", i, err, stepper.Trace())
		}
	}
	after, err := zarr.At(inner, "a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](t.Context(), after, nil)
	if s.oneOf != nil {
		if want := s.oneOf(done); err != nil || !slices.ContainsFunc(want, func(w []int32) bool { return slices.Equal(got.Data, w) }) {
			t.Fatalf("the elements are %v (%v), want one of %v; done %v\n%s", got.Data, err, want, done, stepper.Trace())
		}
		return stepper.Trace()
	}
	if want := s.want(done); err != nil || !slices.Equal(got.Data, want) {
		t.Fatalf("the elements are %v (%v), want %v; done %v\n%s", got.Data, err, want, done, stepper.Trace())
	}
	return stepper.Trace()
}

// unlocking makes the regular grid one with listed edges.
func unlocking(ctx context.Context, a *zarr.Array) error { return a.MakeRectilinear(ctx, nil) }

// recreating replaces the node by an array of two elements.
func recreating(ctx context.Context, a *zarr.Array) error {
	is, err := a.Location().CreateArray(ctx, fixture.Edges(2), &zarr.CreateOptions{Overwrite: true, Options: zarr.Options{Concurrency: 1}})
	if err != nil {
		return err
	}
	return zarr.Write(ctx, is, nil, []int32{77, 78})
}

// scenes are rechunks beside other clients. What a writer was told is written stays
// written.
var scenes = map[string]scene{
	"region": {n: 4, clients: []client{compacting, writing(1, 99)}, want: func(done []bool) []int32 {
		if done[1] {
			return []int32{1, 99, 3, 4}
		}
		return nil // a lone writer never fails
	}},
	"append": {n: 4, clients: []client{compacting, appending(5)}, want: func(done []bool) []int32 {
		if done[1] {
			return []int32{1, 2, 3, 4, 5}
		}
		return nil
	}},
	"two rechunks": {n: 4, clients: []client{compacting, regularizing}, want: func([]bool) []int32 { return []int32{1, 2, 3, 4} }},
	"region twice": {n: 4, clients: []client{compacting, concurrently(writing(1, 98), writing(1, 99))}, want: func(done []bool) []int32 {
		if done[1] {
			return []int32{1, 99, 3, 4}
		}
		return nil
	}},
	"unlock": {n: 4, regular: true, clients: []client{regularizing, unlocking}, want: func([]bool) []int32 { return []int32{1, 2, 3, 4} }},
	"recreated": {n: 2, removed: true, clients: []client{compacting, recreating}, want: func(done []bool) []int32 {
		if done[1] {
			return []int32{77, 78}
		}
		return nil // nobody keeps a new node from being created
	}},
}
