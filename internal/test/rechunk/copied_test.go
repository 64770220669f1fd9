// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// consolidated calls test with a group of the arrays a and b, with consolidated metadata,
// in a store with locks and in one without.
func consolidated(t *testing.T, test func(t *testing.T, s store.Store)) {
	for name, locks := range map[string]bool{"locks": true, "no locks": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := store.Store(memtest.New())
				if !locks {
					s = stepping.Conditional(memtest.New(), stepping.Hooks{})
				}
				g, err := zarr.At(s, "").CreateGroup(t.Context(), nil, nil)
				for i, name := range names {
					if err != nil {
						break
					}
					spec := fixture.Edges(1, 1, 1, 1, 1, 1)
					spec.DimensionNames = []string{"time"}
					spec.Codecs = plainCodecs // others keep channels that belong to no bubble
					var a *zarr.Array
					if a, err = zarr.At(s, name).CreateArray(t.Context(), spec, nil); err == nil {
						err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1+10*int32(i), 6))
					}
				}
				if err == nil {
					err = g.Consolidate(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				test(t, s)
			})
		})
	}
}

// plainCodecs compress nothing.
var plainCodecs = []metadata.Extension{{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}}

// window moves the window of both arrays by one element, and deletes the superseded grids
// of before, so that chunk keys are used again.
func window(t *testing.T, s store.Store) {
	t.Helper()
	g, err := zarr.At(s, "").OpenGroup(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		var add []zarr.Addition
		for _, name := range names {
			was := values(t, s, name)
			add = append(add, zarr.Addition{Path: name, From: given([]int64{1}, []int32{was[len(was)-1] + 1})})
		}
		err = g.Append(t.Context(), add...)
	}
	if err != nil {
		t.Fatal(err)
	}
	moveAll(t, s, dropping(0, 1)...)
}

// moveAll rechunks both arrays, and deletes superseded grids first.
func moveAll(t *testing.T, s store.Store, requests ...rechunk.Request) {
	t.Helper()
	err := zarr.ErrConflict
	// Without locks, a move of just before may be taken for one meanwhile, in each array.
	for try := 0; try < 4 && errors.Is(err, zarr.ErrConflict); try++ {
		_, err = all(t.Context(), s, &rechunk.Options{Grace: -1}, requests...)
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
}

// described returns an array as the consolidated metadata of the root group describes it.
func described(t *testing.T, s store.Store, name string, write bool) *zarr.Array {
	t.Helper()
	g, err := zarr.At(s, "").OpenGroup(t.Context(), &zarr.Options{Write: write})
	if err != nil || g.Metadata().Consolidated == nil {
		t.Fatalf("%v (%v)", g, err)
	}
	for m, err := range g.Members(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Path == name {
			return m.Node.(*zarr.Array)
		}
	}
	t.Fatalf("no array %s", name)
	return nil
}

// keysOf returns the key encoding of an array.
func keysOf(a *zarr.Array) metadata.KeyEncoding {
	return fixture.Must(metadata.ParseKeyEncoding(a.Metadata().ChunkKeyEncoding))
}

// TestConsolidatedWindow moves a window often enough for all chunk keys to be used again.
// Arrays that are opened by consolidated metadata can be read and written by indices.
func TestConsolidatedWindow(t *testing.T) {
	consolidated(t, func(t *testing.T, s store.Store) {
		for k := range int32(8) {
			window(t, s)
			for i, name := range names {
				a := described(t, s, name, false)
				want := fixture.Numbers(2+k+10*int32(i), 6)
				if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, want) {
					t.Fatalf("window %d: %v (%v), want %v", k, got.Data, err, want)
				}
				a = described(t, s, name, true)
				if err := zarr.Write(t.Context(), a, selection.BoxOf(grid.Box{{Start: 1, Stop: 3}}), want[1:3]); err != nil {
					t.Fatalf("window %d: %v", k, err)
				}
			}
		}
	})
}

// TestCopiedBefore opens arrays by consolidated metadata, and moves the window until the
// documents say the same again. What was selected before are other elements by now.
func TestCopiedBefore(t *testing.T) {
	consolidated(t, func(t *testing.T, s store.Store) {
		for range 3 { // so that vacuums have left their notes
			window(t, s)
		}
		again := 0
		for windows := range 5 {
			a, b := described(t, s, "a", true), described(t, s, "a", true)
			for range 1 + windows {
				window(t, s)
			}
			if is := described(t, s, "a", false); keysOf(is) == keysOf(a) && is.Grid().Equal(a.Grid()) {
				again++
			}
			got, err := zarr.Read[int32](t.Context(), a, selection.BoxOf(grid.Box{{Stop: 2}}))
			if !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "consolidate") {
				t.Errorf("read %v (%v)", got.Data, err)
			}
			if err := zarr.Write(t.Context(), b, selection.BoxOf(grid.Box{{Stop: 2}}), []int32{0, 0}); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("write: %v", err)
			}
		}
		if again == 0 {
			t.Error("the documents never said the same")
		}
	})
}

// TestStaleCopy puts back the consolidated metadata of before some moves, as they are if
// programs move elements that do not know of the group. Arrays that it describes are
// refused, unless it says the same as the documents.
func TestStaleCopy(t *testing.T) {
	consolidated(t, func(t *testing.T, s store.Store) {
		root := store.Path{}.MustKey("zarr.json")
		for k := range 12 {
			old, _, err := s.Get(t.Context(), root, store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range k % 4 {
				moveAll(t, s, dropping(0, 1)...)
				if k%3 > 0 { // the extent of before
					moveAll(t, s, inserting(0)...)
				}
			}
			now, _, err := s.Get(t.Context(), root, store.Request{}, nil)
			if err == nil {
				_, err = store.Write(t.Context(), s, store.Put(root, old), store.Flush)
			}
			if err != nil {
				t.Fatal(err)
			}
			want := values(t, s, "a")
			a, present := described(t, s, "a", false), fixture.Must(zarr.At(s, "a").OpenArray(t.Context(), nil))
			same := keysOf(a) == keysOf(present) && a.Grid().Equal(present.Grid())
			got, err := zarr.Read[int32](t.Context(), a, nil)
			if same && (err != nil || !slices.Equal(got.Data, want)) || !same && !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("%d, the same document %t: %v (%v), want %v", k, same, got.Data, err, want)
			}
			if _, err = store.Write(t.Context(), s, store.Put(root, now), store.Flush); err != nil {
				t.Fatal(err)
			}
			moveAll(t, s, inserting(0)...)
		}
	})
}

// TestKeysAgain moves elements of an array that another program has open until its chunk
// keys are used again, and then compacts it. The records of the moves are deleted, and
// the one that is left leads from a grid with the keys that the program knows.
func TestKeysAgain(t *testing.T) {
	s, a, other := opened(t, false)
	do := func(r rechunk.Request) {
		t.Helper()
		if _, err := rechunk.Do(t.Context(), other, r, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := int64(0); i < 2 || keysOf(other) != keysOf(a); i++ {
		if i < 2 {
			do(rechunk.Removal{Range: grid.Interval{Stop: 10}})
		} else {
			do(rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(10+i, 10-i)}})
		}
		vacuumNow(t, other)
	}
	do(rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(10, 9, 1)}})
	got, err := zarr.Read[int32](t.Context(), a, selection.BoxOf(grid.Box{{Stop: 10}}))
	if !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("read %v (%v) of %v", got.Data, err, values(t, s, "a"))
	}
}
