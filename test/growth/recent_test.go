// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
	"varve.dev/zarr/test/fixture"
)

// recorded is a store of conditional writes that records its requests.
type recorded struct {
	storetest.ObjectStore
	mu       sync.Mutex
	requests []string
}

func newRecorded() *recorded {
	r := new(recorded)
	r.ObjectStore = storetest.Conditional(memstore.New(), storetest.Hooks{Before: func(_ context.Context, op storetest.Op) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, op.String())
		return nil
	}})
	return r
}

// take returns the requests since the last call, sorted.
func (r *recorded) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.requests)
	defer func() { r.requests = nil }()
	return strings.Join(r.requests, ", ")
}

// TestRecentDocument appends to an array again and again. Only the first time, and after
// another program has changed the array, there are requests for a pointer and for the
// document.
func TestRecentDocument(t *testing.T) {
	s := newRecorded()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	add := func(a *zarr.Array, v int32) string {
		t.Helper()
		s.take()
		if err := zarr.Append(t.Context(), a, 0, []int32{v}, nil); err != nil {
			t.Fatal(err)
		}
		return s.take()
	}
	const pointer = "Get a/__varve/pending.json, "
	for k, want := range []string{
		pointer + "Get a/zarr.json, Get zarr.json, PutIf a/c/1, PutIf a/zarr.json",
		"Get zarr.json, PutIf a/c/2, PutIf a/zarr.json",
		"Get zarr.json, PutIf a/c/3, PutIf a/zarr.json",
	} {
		if is := add(a, int32(k)); is != want {
			t.Errorf("append %d: %s, want %s", k, is, want)
		}
	}
	other, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	// Opening has looked for a pointer.
	if is := add(other, 3); strings.HasPrefix(is, pointer) {
		t.Errorf("after opening: %s", is)
	}
	if is := add(a, 4); !strings.HasPrefix(is, pointer) {
		t.Errorf("after another program: %s", is)
	}
	// There was a conflict, so the next document is read.
	if is := add(a, 5); strings.HasPrefix(is, pointer) || !strings.Contains(is, "Get a/zarr.json") {
		t.Errorf("alone again: %s", is)
	}
	if is := add(a, 6); strings.Contains(is, "Get a/zarr.json") {
		t.Errorf("alone for a while: %s", is)
	}
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if want := []int32{0, 0, 1, 2, 3, 4, 5, 6}; err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("%v (%v), want %v", got.Data, err, want)
	}
}

// TestRecentStale changes an array with a document that is known, after another program
// has changed it. Nobody sees that the known one is out of date.
func TestRecentStale(t *testing.T) {
	appended := []int32{0, 1, 2}
	for name, c := range map[string]struct {
		act  func(ctx context.Context, a *zarr.Array) error
		want []int32
		err  error
	}{
		"append": {func(ctx context.Context, a *zarr.Array) error {
			return zarr.Append(ctx, a, 0, []int32{3}, nil)
		}, []int32{0, 1, 2, 3}, nil},
		"expected": {func(ctx context.Context, a *zarr.Array) error {
			return zarr.Append(ctx, a, 0, []int32{3}, &zarr.AppendOptions{Expect: []int64{3}})
		}, []int32{0, 1, 2, 3}, nil},
		"not expected": {func(ctx context.Context, a *zarr.Array) error {
			return zarr.Append(ctx, a, 0, []int32{3}, &zarr.AppendOptions{Expect: []int64{2}})
		}, appended, zarr.ErrConflict},
		"nothing to do": {func(ctx context.Context, a *zarr.Array) error {
			return a.Resize(ctx, []int64{2}, &zarr.ResizeOptions{Shrink: grid.TrimExact})
		}, []int32{0, 1}, nil},
		"refreshed": {func(ctx context.Context, a *zarr.Array) error {
			if err := a.Refresh(ctx); err != nil {
				return err
			}
			if err := a.Resize(ctx, []int64{3}, nil); err != nil { // it has this extent
				return err
			}
			return zarr.Append(ctx, a, 0, []int32{3}, nil)
		}, []int32{0, 1, 2, 3}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecorded()
			a, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(1), nil)
			if err == nil {
				err = zarr.Append(t.Context(), a, 0, []int32{1}, nil)
			}
			other, openErr := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
			if err = errors.Join(err, openErr); err == nil {
				err = zarr.Append(t.Context(), other, 0, []int32{2}, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.act(t.Context(), a); !errors.Is(err, c.err) {
				t.Errorf("%v, want %v", err, c.err)
			}
			if shape := a.Shape()[0]; c.err == nil && shape != int64(len(c.want)) {
				t.Errorf("the array has %d elements, want %d", shape, len(c.want))
			}
			if err := other.Refresh(t.Context()); err != nil {
				t.Error(err)
			}
			got, err := zarr.Read[int32](t.Context(), other, nil)
			if err != nil || !slices.Equal(got.Data, c.want) {
				t.Errorf("%v (%v), want %v", got.Data, err, c.want)
			}
		})
	}
}

// TestRecentReserved appends after another program has reserved the region and has
// written a part of it. The part stays.
func TestRecentReserved(t *testing.T) {
	for name, spec := range map[string]zarr.Spec{"listed": fixture.Edges(2), "regular": fixture.Every(2, 2)} {
		t.Run(name, func(t *testing.T) {
			s := newRecorded()
			a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Append(t.Context(), a, 0, []int32{1, 2}, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			other, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			r, err := other.Reserve(t.Context(), 0, 2, 2)
			if err == nil {
				err = zarr.WritePart(t.Context(), r, 0, []int32{3, 4})
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := zarr.Append(t.Context(), a, 0, []int32{9, 9}, nil); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("append: %v", err)
			}
			if err = zarr.WritePart(t.Context(), r, 1, []int32{5, 6}); err == nil {
				err = r.Publish(t.Context())
			}
			if err == nil {
				err = a.Refresh(t.Context())
			}
			got, readErr := zarr.Read[int32](t.Context(), a, nil)
			if want := []int32{0, 0, 1, 2, 3, 4, 5, 6}; errors.Join(err, readErr) != nil || !slices.Equal(got.Data, want) {
				t.Errorf("%v (%v), want %v", got.Data, errors.Join(err, readErr), want)
			}
		})
	}
}

// slow returns a store without locks that takes as long as *late for every request.
func slow(late *time.Duration) storetest.ObjectStore {
	return storetest.Conditional(memstore.New(), storetest.Hooks{Before: func(context.Context, storetest.Op) error {
		time.Sleep(*late)
		return nil
	}})
}

// TestTrips appends to an array three groups down, in a store without locks that takes
// a while for every request. A second append stores the chunk and the document, and looks
// at all groups at once.
func TestTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := time.Duration(0)
		a, err := zarr.At(slow(&late), "e/f/g/a").CreateArray(t.Context(), fixture.Raw(fixture.Edges(1, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		late = time.Second / 10
		for k, want := range []time.Duration{5, 3, 3, 5} {
			if k == 3 {
				time.Sleep(3 * time.Second) // the document is not known any more
			}
			begin := time.Now()
			if err := zarr.Append(t.Context(), a, 0, []int32{5}, nil); err != nil {
				t.Fatal(err)
			}
			if trips := time.Since(begin) / late; trips != want {
				t.Errorf("append %d: %d round trips, want %d", k, trips, want)
			}
		}
	})
}

// TestGroupTrips appends to six arrays of a group, in a store without locks that takes a
// second for every request. Requests that do not depend on each other are made at once.
func TestGroupTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := time.Duration(0)
		s := slow(&late)
		g, err := zarr.At(s, "g").CreateGroup(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var adds []zarr.Addition
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			if _, err := g.At(name).CreateArray(t.Context(), fixture.Raw(fixture.Edges(1, 1)), nil); err != nil {
				t.Fatal(err)
			}
			adds = append(adds, zarr.Add(name, 0, []int32{5}, nil))
		}
		late = time.Second
		begin := time.Now()
		if err := g.Append(t.Context(), adds...); err != nil {
			t.Fatal(err)
		}
		if trips := time.Since(begin) / late; trips > 17 {
			t.Errorf("%d round trips, want 17", trips)
		}
	})
}
