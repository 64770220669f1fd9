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
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// days returns an array of n elements, 1 to n, in chunks of one, in a store.
func days(t *testing.T, s store.Store, n int32) *zarr.Array {
	t.Helper()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(slices.Repeat([]int64{1}, int(n))...), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, n))
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func compact(t *testing.T, a *zarr.Array, n int64) {
	t.Helper()
	if r, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: n}, nil); err != nil || !r.Changed {
		t.Fatalf("%+v (%v)", r, err)
	}
}

func TestVacuum(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 4)
	compact(t, a, 2)
	// Within the grace, nothing goes.
	r, err := rechunk.Vacuum(t.Context(), a, nil)
	if err != nil || len(r.Items) != 1 || r.Items[0].Kept == "" || r.Items[0].Values != 4 || time.Until(r.Items[0].Due) < 23*time.Hour {
		t.Fatalf("%+v (%v)", r, err)
	}
	reads(t, s, 1, 2, 3, 4)
	none := &rechunk.VacuumOptions{Grace: -1, DryRun: true}
	if r, err = rechunk.Vacuum(t.Context(), a, none); err != nil || r.Freed() != 68 || !strings.Contains(keys(t, s), "a/c/3") {
		t.Fatalf("%+v (%v) %s", r, err, keys(t, s))
	}
	none.DryRun = false
	if r, err = rechunk.Vacuum(t.Context(), a, none); err != nil || r.Freed() != 68 {
		t.Fatalf("%+v (%v)", r, err)
	}
	if is, want := keys(t, s), "a/0 a/1 a/zarr.json zarr.json"; is != want {
		t.Errorf("left %s, want %s", is, want)
	}
	reads(t, s, 1, 2, 3, 4)
	if err := rechunk.Revert(t.Context(), a); !errors.Is(err, rechunk.ErrNoRevert) {
		t.Errorf("revert after a vacuum: %v", err)
	}
}

// disturbed returns a store in which another program sets an attribute of an array before
// each of the first three conditional writes, which it counts.
func disturbed(t *testing.T, inner stepping.ObjectStore, a *zarr.Array, n *int) stepping.ObjectStore {
	return stepping.Conditional(inner, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name != "PutIf" || *n == 3 {
			return nil
		}
		*n++
		return a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return fmt.Appendf(nil, `{"n": %d}`, *n), nil })
	}})
}

// TestVacuumDisturbed changes the document while a vacuum deletes. The vacuum tries again
// until it has deleted what it reports.
func TestVacuumDisturbed(t *testing.T) {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a := days(t, inner, 4)
	compact(t, a, 2)
	n := 0
	s := disturbed(t, inner, a, &n)
	b, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := rechunk.Vacuum(t.Context(), b, &rechunk.VacuumOptions{Grace: -1})
	if err != nil || len(r.Items) != 1 || r.Items[0].Values != 4 {
		t.Fatalf("%+v (%v)", r, err)
	}
	if is, want := keys(t, inner), "a/0 a/1 a/zarr.json zarr.json"; is != want {
		t.Errorf("left %s, want %s", is, want)
	}
}

// TestRotation rechunks an array until its chunk keys are all in use, and again after a
// vacuum. An array of rank 1 has three sets of keys.
func TestRotation(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 8)
	compact(t, a, 2)
	compact(t, a, 4)
	_, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 8}, nil)
	if !errors.Is(err, rechunk.ErrNoKeys) {
		t.Fatal(err)
	}
	if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
	compact(t, a, 8)
	reads(t, s, fixture.Numbers(1, 8)...)
}

// TestGraceOfRechunking rechunks an array more often than it has sets of chunk keys, each
// time with a grace. Before that, superseded grids go that are older.
func TestGraceOfRechunking(t *testing.T) {
	for name, s := range map[string]store.Store{
		"memory": memtest.New(), "files": fixture.FileStore(vfs.NewDisk()), "without locks": &handle{stepping.Conditional(memtest.New(), stepping.Hooks{})},
	} {
		t.Run(name, func(t *testing.T) {
			a := days(t, s, 8)
			again := func(n int64, grace time.Duration) (*rechunk.Report, error) {
				return rechunk.Do(t.Context(), a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(n)}}, &rechunk.Options{Grace: grace})
			}
			for n := range int64(7) {
				r, err := again(2+n%5, -1)
				if err != nil || (r.Freed > 0) != (n > 0) {
					t.Fatalf("round %d: %+v (%v)", n, r, err)
				}
				reads(t, s, fixture.Numbers(1, 8)...)
			}
			if _, err := again(2, time.Hour); err != nil { // the grid before stays
				t.Fatal(err)
			}
			if _, err := again(3, time.Hour); !errors.Is(err, rechunk.ErrNoKeys) {
				t.Errorf("within the grace: %v", err)
			}
			if err := rechunk.Revert(t.Context(), a); err != nil {
				t.Error(err)
			}
			// What has the grid already is not vacuumed.
			if r, err := again(3, -1); err != nil || r.Changed || r.Freed > 0 {
				t.Errorf("no change: %+v (%v)", r, err)
			}
			reads(t, s, fixture.Numbers(1, 8)...)
		})
	}
}

func TestRevert(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 4)
	compact(t, a, 2)
	if err := a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(`{"title": "kept"}`), nil }); err != nil {
		t.Fatal(err)
	}
	if err := rechunk.Revert(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if n := a.Grid().Chunks()[0]; n != 4 || !strings.Contains(string(a.Attributes()), "kept") {
		t.Errorf("%d chunks, %s", n, a.Attributes())
	}
	reads(t, s, 1, 2, 3, 4)
	compact(t, a, 4) // the keys of the reverted grid are still in use
	if err := zarr.Write(t.Context(), a, selection.BoxOf(grid.Box{{Start: 0, Stop: 1}}), []int32{9}); err != nil {
		t.Fatal(err)
	}
	if err := rechunk.Revert(t.Context(), a); !errors.Is(err, rechunk.ErrNoRevert) {
		t.Errorf("revert after a write: %v", err)
	}
	if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
	reads(t, s, 9, 2, 3, 4)
	if is := keys(t, s); strings.Contains(is, "a/c/") || strings.Contains(is, "a/0") || strings.Contains(is, "__varve") {
		t.Errorf("left %s", is)
	}
}

// TestForeignDocument puts back the document of before, as a program does that opened the
// array before it was rechunked. A vacuum then deletes nothing.
func TestForeignDocument(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 4)
	old, _, err := s.Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	compact(t, a, 2)
	fixture.Put(t, s, "a/zarr.json", string(old))
	before := keys(t, s)
	r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
	if err != nil || len(r.Items) == 0 || !strings.Contains(r.Items[0].Kept, "older document") {
		t.Fatalf("%+v (%v)", r, err)
	}
	if is := keys(t, s); is != before {
		t.Errorf("left %s, want %s", is, before)
	}
}

// TestOtherEdgesSince gives a rechunked array edges that it never had before: by
// shrinking and growing, and by listing its edges. It still descends from the superseded
// grid, which a vacuum deletes. A writer that opened it before writes again.
func TestOtherEdgesSince(t *testing.T) {
	for name, c := range map[string]struct {
		rechunk rechunk.Request
		change  func(a *zarr.Array) error
	}{
		"trimmed": {rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(3, 1)}}, func(a *zarr.Array) error {
			return errors.Join(a.Resize(t.Context(), []int64{2}, &zarr.ResizeOptions{Shrink: grid.TrimExact}), zarr.Append(t.Context(), a, 0, []int32{3, 4}, nil))
		}},
		"unlocked": {rechunk.Regularization{Chunk: []int64{3}}, func(a *zarr.Array) error { return a.MakeRectilinear(t.Context(), nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := memtest.New()
			a := days(t, s, 4)
			stale, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
			if err == nil {
				_, err = rechunk.Do(t.Context(), a, c.rechunk, nil)
			}
			if err == nil {
				err = c.change(a)
			}
			if err == nil {
				err = zarr.Write(t.Context(), stale, selection.BoxOf(grid.Box{{Start: 1, Stop: 2}}), []int32{9})
			}
			if err != nil {
				t.Fatal(err)
			}
			reads(t, s, 1, 9, 3, 4)
			r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
			if err != nil || len(r.Items) == 0 || slices.ContainsFunc(r.Items, func(i rechunk.VacuumItem) bool { return i.Kept != "" }) {
				t.Errorf("%+v (%v)", r, err)
			}
			if left := keys(t, s); strings.Contains(left, "__varve") {
				t.Errorf("left %s", left)
			}
			reads(t, s, 1, 9, 3, 4)
		})
	}
}

// TestConsolidatedCopy keeps a superseded grid that consolidated metadata describes.
func TestConsolidatedCopy(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 4)
	root, err := zarr.At(s, "").OpenGroup(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = root.Consolidate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	stale, _, err := s.Get(t.Context(), store.MustKey("zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	compact(t, a, 2)
	fresh, _, _ := s.Get(t.Context(), store.MustKey("zarr.json"), store.Request{}, nil)
	if slices.Equal(stale, fresh) {
		t.Error("the consolidated metadata was not refreshed")
	}
	fixture.Put(t, s, "zarr.json", string(stale))
	r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
	if err != nil || len(r.Items) != 1 || !strings.Contains(r.Items[0].Kept, "consolidated") {
		t.Fatalf("%+v (%v)", r, err)
	}
}

func TestFormat2(t *testing.T) {
	s := memtest.New()
	spec := fixture.AsV2(zarr.Spec{Shape: []int64{4, 4}, Type: fixture.Edges(1).Type, Chunks: grid.Chunks(1, 2)})
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 16))
	}
	if err != nil {
		t.Fatal(err)
	}
	compact(t, a, 2)
	reads(t, s, fixture.Numbers(1, 16)...)
	b, err := zarr.At(s, "a").OpenArray(t.Context(), nil)
	if err != nil || b.Format() != 2 || b.Spec().KeyEncoding != metadata.V2Slash {
		t.Errorf("%v %v", b, err)
	}
}

func TestAbandon(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 4)
	before := keys(t, s)
	// A chunk that cannot be decoded ends the rechunk.
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey("a/c/3"), []byte("x")), store.Flush); err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 2}, nil); !errors.Is(err, zarr.ErrCorrupt) {
		t.Fatal(err)
	}
	if err := rechunk.Abandon(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	if is := keys(t, s); is != before {
		t.Errorf("left %s, want %s", is, before)
	}
}

// TestAbandonDisturbed changes the document while an unfinished rechunk is given up in a
// store without locks. What was staged is deleted all the same.
func TestAbandonDisturbed(t *testing.T) {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a := days(t, inner, 8)
	before := keys(t, inner)
	fixture.Put(t, inner, "a/c/7", "x") // a chunk that cannot be decoded ends the rechunk
	one, err := zarr.At(inner, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
	if err == nil {
		_, err = rechunk.Do(t.Context(), one, rechunk.Compaction{UpTo: 2}, nil)
	}
	if !errors.Is(err, zarr.ErrCorrupt) {
		t.Fatal(err)
	}
	if keys(t, inner) == before {
		t.Fatal("nothing was staged")
	}
	n := 0
	s := disturbed(t, inner, a, &n)
	b, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = rechunk.Abandon(t.Context(), b, &rechunk.Options{TakeOver: true})
	}
	if err != nil || n != 3 {
		t.Fatalf("after %d changes: %v", n, err)
	}
	if is := keys(t, inner); is != before {
		t.Errorf("left %s, want %s", is, before)
	}
}

// TestCleared shrinks an array while a rechunk is staged. The staged chunks beyond
// the new extent do not reappear when the array grows again.
func TestCleared(t *testing.T) {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a := days(t, inner, 6)
	s := stepping.Conditional(inner, stepping.Hooks{After: func(op stepping.Op, err error) error {
		if op.Name == "Put" && strings.Contains(op.Key.String(), "__varve/regrid/") { // the first block is staged
			_ = a.Resize(t.Context(), []int64{1}, nil)
		}
		return err
	}})
	b, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
	if err == nil {
		_, err = rechunk.Do(t.Context(), b, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(2)}}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if is := keys(t, inner); strings.Contains(is, "a/1 ") || strings.Contains(is, "a/2 ") {
		t.Errorf("left %s", is)
	}
	if err := b.Resize(t.Context(), []int64{6}, nil); err != nil {
		t.Fatal(err)
	}
	reads(t, inner, 1, 0, 0, 0, 0, 0)
}

// TestVacuumKeeps deletes superseded chunks in a store without locks, while another
// program writes one of them. That one stays, and the report says so.
func TestVacuumKeeps(t *testing.T) {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	written := store.MustKey("a/c/1")
	s := stepping.Conditional(inner, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		if op.Name == "DeleteIf" && op.Key == written {
			_, err := inner.Write(ctx, store.Put(written, []byte("theirs")), store.Flush)
			return err
		}
		return nil
	}})
	a := days(t, s, 4)
	compact(t, a, 2)
	r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
	if err != nil || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "1 of these values stay, such as a/c/1:") {
		t.Errorf("%+v (%v)", r, err)
	}
	if is, want := keys(t, s), "a/c/1"; !strings.Contains(is, want) || strings.Contains(is, "a/c/0") {
		t.Errorf("left %s, want %s", is, want)
	}
}

// TestVacuumMark vacuums after a rechunk that was killed between its publication and
// its end: the object that kept the directory of its lock goes, unless it is in use.
func TestVacuumMark(t *testing.T) {
	s := fixture.FileStore(vfs.NewDisk())
	a := days(t, s, 4)
	key := store.MustKey("a/__varve/regrid/running.json")
	left := func() bool {
		if _, err := store.Write(t.Context(), s, store.Put(key, []byte("{}")), store.Flush); err != nil {
			t.Fatal(err)
		}
		if _, err := rechunk.Vacuum(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		return fixture.Must(store.Exists(t.Context(), s, key))
	}
	if left() {
		t.Error("the mark is left")
	}
	if _, err := store.Write(t.Context(), s, store.Put(key, []byte("{}")), store.Flush); err != nil {
		t.Fatal(err)
	}
	unlock, err := store.Lock(t.Context(), s, key.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if !left() {
		t.Error("the mark of a running rechunk is gone")
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
}

// TestNoKeysGrace compares when an array without free chunk keys says that the first ones
// will be free: for the grace of the request, if it has one.
func TestNoKeysGrace(t *testing.T) {
	a := days(t, memtest.New(), 8)
	compact(t, a, 2)
	compact(t, a, 4)
	free := func(grace time.Duration) time.Time {
		_, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 8}, &rechunk.Options{Grace: grace})
		if !errors.Is(err, rechunk.ErrNoKeys) {
			t.Fatalf("grace %v: %v", grace, err)
		}
		_, text, _ := strings.Cut(err.Error(), "the first until ")
		text, _, _ = strings.Cut(text, ";")
		return fixture.Must(time.Parse(time.RFC3339, text))
	}
	day := free(0)
	for _, grace := range []time.Duration{6 * time.Hour, 100 * time.Hour} {
		if got, want := free(grace).Sub(day), grace-rechunk.DefaultGrace; got != want {
			t.Errorf("with a grace of %v, keys are free %v later than without, want %v", grace, got, want)
		}
	}
}

// TestMovesWithoutLocks drops three times without a grace, in a store whose clock is
// accurate to two seconds. A drop that the one before prevents says that it may.
func TestMovesWithoutLocks(t *testing.T) {
	s := &handle{stepping.Conditional(memtest.New(), stepping.Hooks{})}
	days(t, s, 8)
	for range 3 {
		b := fixture.Must(zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true}))
		_, err := rechunk.Do(t.Context(), b, rechunk.Removal{Range: grid.Interval{Stop: 1}}, &rechunk.Options{Grace: -1})
		if err != nil && (!errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "in a store without locks, less than 2 seconds before")) {
			t.Error(err)
		}
	}
}
