// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// tens is the range of ten elements of [opened], whose chunks are those of the elements
// before once the first ten are dropped.
var tens = grid.Box{{Start: 10, Stop: 20}}

// opened stores an array of the elements 0 to 39 in chunks of ten, in shards if inner is
// set, and opens it twice: for the caller, and for another program.
func opened(t *testing.T, inner bool) (s store.Store, a, other *zarr.Array) {
	t.Helper()
	s = memstore.New()
	a, other = openedIn(t, s, inner)
	return s, a, other
}

// openedIn is [opened] in a store.
func openedIn(t *testing.T, s store.Store, inner bool) (a, other *zarr.Array) {
	t.Helper()
	spec := fixture.Edges(10, 10, 10, 10)
	if inner {
		spec.InnerChunks = grid.Chunks(5)
	}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(0, 40))
	}
	if err == nil {
		a, err = zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	}
	if err == nil {
		other, err = zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, other
}

// moved drops or inserts ten elements at the beginning.
func moved(t *testing.T, a *zarr.Array, drop bool) {
	t.Helper()
	r := rechunk.Request(rechunk.Insertion{From: given([]int64{10}, fixture.Numbers(-10, 10))})
	if drop {
		r = rechunk.Removal{Range: grid.Interval{Stop: 10}}
	}
	if _, err := rechunk.Do(t.Context(), a, r, nil); err != nil {
		t.Fatal(err)
	}
}

// lastKey returns the key of the last chunk.
func lastKey(a *zarr.Array) (key string) {
	for c := range a.Chunks() {
		key = c.Key
	}
	return key
}

// vacuumNow deletes superseded grids at once.
func vacuumNow(t *testing.T, a *zarr.Array) {
	t.Helper()
	if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
}

// changesByIndex are calls that change elements which they name by indices.
var changesByIndex = map[string]func(ctx context.Context, a *zarr.Array) error{
	"Write": func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.BoxOf(tens), make([]int32, 10))
	},
	"WriteAs": func(ctx context.Context, a *zarr.Array) error {
		return zarr.WriteAs(ctx, a, selection.BoxOf(tens), make([]int64, 10))
	},
	"WriteBytes": func(ctx context.Context, a *zarr.Array) error {
		return a.WriteBytes(ctx, selection.BoxOf(tens), make([]byte, 40))
	},
	"Fill": func(ctx context.Context, a *zarr.Array) error {
		return zarr.Fill(ctx, a, selection.BoxOf(tens), int32(0))
	},
	"a last part": func(ctx context.Context, a *zarr.Array) error {
		return zarr.Fill(ctx, a, selection.BoxOf(grid.Box{{Start: 29, Stop: 30}}), int32(0))
	},
	"WriteChunk": func(ctx context.Context, a *zarr.Array) error { return a.WriteChunk(ctx, []int64{1}, make([]byte, 40)) },
	"WriteEncodedChunk": func(ctx context.Context, a *zarr.Array) error {
		b, err := a.ReadEncodedChunk(ctx, []int64{2})
		if err != nil {
			return err
		}
		return a.WriteEncodedChunk(ctx, []int64{1}, b)
	},
	"an inner chunk": func(ctx context.Context, a *zarr.Array) error {
		if a.Inner() == nil {
			return zarr.ErrConflict // there is none
		}
		return a.Inner().WriteChunk(ctx, []int64{1}, make([]byte, 20))
	},
	"Resize": func(ctx context.Context, a *zarr.Array) error { return a.Resize(ctx, []int64{38}, nil) },
	"a removal": func(ctx context.Context, a *zarr.Array) error {
		_, err := rechunk.Do(ctx, a, rechunk.Removal{Range: tens[0]}, nil)
		return err
	},
	"a plan of a removal": func(ctx context.Context, a *zarr.Array) error {
		_, err := rechunk.NewPlan(ctx, a, rechunk.Removal{Range: tens[0]}, nil)
		return err
	},
	"a region": func(ctx context.Context, a *zarr.Array) error {
		r := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(5)}, Region: tens}
		_, err := rechunk.Do(ctx, a, r, &rechunk.Options{Into: zarr.At(memstore.New(), "b")})
		return err
	},
}

// TestChangesAfterMove changes elements by indices, in an array that was opened before
// another program moved its elements. Nothing changes, also in a second try.
func TestChangesAfterMove(t *testing.T) {
	for name, change := range changesByIndex {
		for i := range 8 {
			inner, drop, gone := i&1 > 0, i&2 > 0, i&4 > 0
			t.Run(fmt.Sprint(name, inner, drop, gone), func(t *testing.T) {
				s, a, other := opened(t, inner)
				if moved(t, other, drop); gone {
					vacuumNow(t, other)
				}
				want := values(t, s, "a")
				for range 2 {
					err := change(t.Context(), a)
					// What is not stored any more cannot be read first.
					if !errors.Is(err, zarr.ErrConflict) && !(gone && name == "WriteEncodedChunk") {
						t.Errorf("%v", err)
					}
				}
				if is := values(t, s, "a"); !slices.Equal(is, want) {
					t.Errorf("%v", is)
				}
			})
		}
	}
}

// TestReadsAfterMove reads by indices from an array that was opened before another
// program moved its elements: what they were, or a conflict once that is deleted.
func TestReadsAfterMove(t *testing.T) {
	ctx := t.Context()
	for i := range 4 {
		inner, drop := i&1 > 0, i&2 > 0
		s, a, other := opened(t, inner)
		view, err := a.View(selection.BoxOf(tens))
		if err != nil {
			t.Fatal(err)
		}
		read := func(of zarr.Elements, sel grid.Box) ([]int32, error) {
			if sel == nil {
				b, err := zarr.Read[int32](ctx, of, nil)
				return b.Data, err
			}
			b, err := zarr.Read[int32](ctx, of, selection.BoxOf(sel))
			return b.Data, err
		}
		moved(t, other, drop)
		for of, sel := range map[zarr.Elements]grid.Box{a: tens, view: nil} {
			if got, err := read(of, sel); err != nil || !slices.Equal(got, fixture.Numbers(10, 10)) {
				t.Errorf("%v %v", got, err)
			}
		}
		if c, err := a.ReadChunk(ctx, []int64{1}); err != nil || c[0] != 10 {
			t.Errorf("%v %v", c, err)
		}
		vacuumNow(t, other)
		for of, sel := range map[zarr.Elements]grid.Box{a: tens, view: nil} {
			if got, err := read(of, sel); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("%v %v", got, err)
			}
		}
		if c, err := a.ReadChunk(ctx, []int64{1}); !errors.Is(err, zarr.ErrConflict) {
			t.Errorf("%v %v", c, err)
		}
		// From now on indices mean what they mean in the new document.
		if err := a.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		if got, err := read(a, tens); err != nil || !slices.Equal(got, values(t, s, "a")[10:20]) {
			t.Errorf("%v %v", got, err)
		}
		if got, err := read(view, nil); !errors.Is(err, zarr.ErrConflict) {
			t.Errorf("a view of before: %v %v", got, err)
		}
		if _, err := view.View(nil); !errors.Is(err, zarr.ErrConflict) {
			t.Errorf("a view of it: %v", err)
		}
	}
}

// TestViewsStay writes through views that were made before the array got other chunks,
// and grew, and before elements were moved back.
func TestViewsStay(t *testing.T) {
	ctx := t.Context()
	s, a, other := opened(t, false)
	view, err := a.View(selection.BoxOf(tens))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Do(ctx, other, rechunk.Compaction{UpTo: 20}, nil); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(ctx, other, 0, []int32{40}, nil); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func() error{
		func() error { return zarr.Fill(ctx, view, nil, int32(7)) },
		func() error { return a.Refresh(ctx) },
		func() error { return zarr.Fill(ctx, view, nil, int32(8)) },
		func() error { return zarr.Append(ctx, a, 0, []int32{41}, nil) },
		func() error { return zarr.Fill(ctx, view, nil, int32(9)) },
	} {
		if err := change(); err != nil {
			t.Error(err)
		}
	}
	want := slices.Concat(fixture.Numbers(0, 10), slices.Repeat([]int32{9}, 10), fixture.Numbers(20, 22))
	if is := values(t, s, "a"); !slices.Equal(is, want) {
		t.Errorf("%v", is)
	}
	if err := other.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	moved(t, other, true)
	if err := rechunk.Revert(ctx, other); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Fill(ctx, view, nil, int32(6)); err != nil {
		t.Errorf("after a revert: %v", err)
	}
	copy(want[10:20], slices.Repeat([]int32{6}, 10))
	if is := values(t, s, "a"); !slices.Equal(is, want) {
		t.Errorf("after a revert: %v", is)
	}
}

// TestAppendsAfterMove appends to an array that was opened before another program moved
// its elements. Appends name no elements. But a view that was made before does.
func TestAppendsAfterMove(t *testing.T) {
	ctx := t.Context()
	for _, gone := range []bool{false, true} {
		s, a, other := opened(t, false)
		view, err := a.View(selection.BoxOf(tens))
		if err != nil {
			t.Fatal(err)
		}
		if moved(t, other, true); gone {
			vacuumNow(t, other)
		}
		if err := zarr.Append(ctx, a, 0, []int32{40}, nil); err != nil {
			t.Fatal(err)
		}
		if err := zarr.Fill(ctx, view, nil, int32(7)); !errors.Is(err, zarr.ErrConflict) {
			t.Errorf("a view: %v", err)
		}
		if err := zarr.Fill(ctx, a, selection.BoxOf(grid.Box{{Start: 30, Stop: 31}}), int32(41)); err != nil {
			t.Error(err)
		}
		if is := values(t, s, "a"); !slices.Equal(is, append(fixture.Numbers(10, 30), 41)) {
			t.Errorf("%v", is)
		}
	}
}

// TestAppendsWhenKeysComeAround appends to an array that was opened before another
// program moved its elements so often that the chunks have the keys of before again. The
// records of the moves are deleted. A view that was made before means other elements,
// also where the clock of the store is an hour slow.
func TestAppendsWhenKeysComeAround(t *testing.T) {
	ctx := t.Context()
	for name, s := range map[string]store.Store{
		"one clock": memstore.New(), "a service": inMemory(), "a slow clock": &skewed{ObjectStore: inMemory(), by: -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			a, other := openedIn(t, s, false)
			view, err := a.View(selection.BoxOf(tens))
			if err != nil {
				t.Fatal(err)
			}
			key := lastKey(a)
			for range 4 {
				// Once opened anew it does not compare times, which services round.
				if other, err = zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true}); err != nil {
					t.Fatal(err)
				}
				moved(t, other, false)
				vacuumNow(t, other)
			}
			if is := lastKey(other); !strings.HasPrefix(is, key[:len("a/c/")]) {
				t.Fatalf("the keys did not come around: %s, %s", key, is)
			}
			if err := zarr.Append(ctx, a, 0, []int32{40}, nil); err != nil {
				t.Fatal(err)
			}
			if err := zarr.Fill(ctx, view, nil, int32(7)); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("a view: %v", err)
			}
			if got, err := zarr.Read[int32](ctx, view, nil); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("a view: %v %v", got.Data, err)
			}
		})
	}
}

// TestOwnMoves moves elements by the array itself, and back. Views of before mean other
// elements.
func TestOwnMoves(t *testing.T) {
	ctx := t.Context()
	_, a, _ := opened(t, false)
	for _, move := range []func(){
		func() { moved(t, a, true) },
		func() {
			if err := rechunk.Revert(ctx, a); err != nil {
				t.Fatal(err)
			}
		},
	} {
		view, err := a.View(selection.BoxOf(tens))
		if err != nil {
			t.Fatal(err)
		}
		move()
		if err := zarr.Fill(ctx, view, nil, int32(7)); !errors.Is(err, zarr.ErrConflict) {
			t.Errorf("a view of before: %v", err)
		}
	}
}

// TestChunkAfterCompaction reads a chunk by its index once it is merged and deleted.
func TestChunkAfterCompaction(t *testing.T) {
	_, a, other := opened(t, false)
	if _, err := rechunk.Do(t.Context(), other, rechunk.Compaction{UpTo: 20}, nil); err != nil {
		t.Fatal(err)
	}
	vacuumNow(t, other)
	if c, err := a.ReadChunk(t.Context(), []int64{1}); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("%v %v", c, err)
	}
	if got, err := zarr.Read[int32](t.Context(), a, selection.BoxOf(tens)); err != nil || !slices.Equal(got.Data, fixture.Numbers(10, 10)) {
		t.Errorf("%v %v", got.Data, err)
	}
}

// TestStreamAfterMove moves elements and appends others, so that the array has the shape
// and the chunks of before. A stream that was opened before does not continue it.
func TestStreamAfterMove(t *testing.T) {
	ctx := t.Context()
	s, a, other := opened(t, false)
	stream, err := a.Stream(ctx, 0, &zarr.StreamOptions{Every: 10})
	if err == nil {
		err = zarr.WritePlanes(ctx, stream, fixture.Numbers(50, 5))
	}
	if err != nil {
		t.Fatal(err)
	}
	moved(t, other, true)
	if err := zarr.Append(ctx, other, 0, fixture.Numbers(40, 10), nil); err != nil {
		t.Fatal(err)
	}
	if err := stream.Close(ctx); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("stream: %v", err)
	}
	if is := values(t, s, "a"); !slices.Equal(is, fixture.Numbers(10, 40)) {
		t.Errorf("%v", is)
	}
}

// TestPlanAfterMove executes the state of a plan after elements were moved: the elements
// that it names would be others.
func TestPlanAfterMove(t *testing.T) {
	ctx := t.Context()
	for _, gone := range []bool{false, true} {
		_, a, other := opened(t, false)
		into := &rechunk.Options{Into: zarr.At(memstore.New(), "b")}
		region := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(5)}, Region: tens}
		for _, c := range []struct {
			request rechunk.Request
			opt     *rechunk.Options
		}{{rechunk.Removal{Range: tens[0]}, nil}, {region, into}} {
			p, err := rechunk.NewPlan(ctx, a, c.request, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := p.State.Changes(ctx, a, p.Fingerprint, c.opt); text != "" || err != nil {
				t.Errorf("before: %s %v", text, err)
			}
			if err := other.Refresh(ctx); err != nil {
				t.Fatal(err)
			}
			if moved(t, other, true); gone {
				vacuumNow(t, other)
			}
			if err := a.Refresh(ctx); err != nil {
				t.Fatal(err)
			}
			if text, err := p.State.Changes(ctx, a, p.Fingerprint, c.opt); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("after: %s %v", text, err)
			}
		}
	}
}
