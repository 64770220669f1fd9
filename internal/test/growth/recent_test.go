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
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
)

// recorded is a store of conditional writes that records its requests.
type recorded struct {
	stepping.ObjectStore
	mu       sync.Mutex
	requests []string
}

func newRecorded() *recorded {
	r := new(recorded)
	r.ObjectStore = stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
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
// another program has changed the array, there is a request for a pointer. In the second
// case there is one for the note of moves too, because views name elements by indices.
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
		"Get a/zarr.json, Get zarr.json, PutIf a/c/2, PutIf a/zarr.json",
		"Get a/zarr.json, Get zarr.json, PutIf a/c/3, PutIf a/zarr.json",
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
	if is := add(other, 3); strings.Contains(is, pointer) {
		t.Errorf("after opening: %s", is)
	}
	const note = "Get a/__varve/grids/vacuumed-moves, "
	if is, want := add(a, 4), note+pointer+"Get a/zarr.json, Get zarr.json, PutIf a/c/5, PutIf a/zarr.json"; is != want {
		t.Errorf("after another program: %s, want %s", is, want)
	}
	if is := add(a, 5); strings.Contains(is, pointer) {
		t.Errorf("alone again: %s", is)
	}
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if want := []int32{0, 0, 1, 2, 3, 4, 5}; err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("%v (%v), want %v", got.Data, err, want)
	}
}

// TestReplacedMeanwhile appends after another program has replaced the array by a longer
// one without chunks. What is appended is nowhere else in the new array.
func TestReplacedMeanwhile(t *testing.T) {
	s := newRecorded()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(1), nil)
	if err == nil {
		err = zarr.Append(t.Context(), a, 0, []int32{1}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(1, 1, 1, 1), &zarr.CreateOptions{Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(t.Context(), a, 0, []int32{5}, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](t.Context(), b, nil)
	if want := []int32{0, 0, 0, 0, 5}; err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("%v (%v), want %v", got.Data, err, want)
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
func slow(late *time.Duration) stepping.ObjectStore {
	return stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(context.Context, stepping.Op) error {
		time.Sleep(*late)
		return nil
	}})
}

// TestTrips appends to an array three groups down, in a store without locks that takes
// a while for every request. A second append reads the document, stores the chunk and the
// document, and looks at all groups at once.
func TestTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := time.Duration(0)
		a, err := zarr.At(slow(&late), "e/f/g/a").CreateArray(t.Context(), fixture.Raw(fixture.Edges(1, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		late = time.Second / 10
		for k, want := range []time.Duration{5, 4, 4} {
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
		if trips := time.Since(begin) / late; trips > 18 {
			t.Errorf("%d round trips, want 18", trips)
		}
	})
}
