// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// changed makes a hierarchy, calls then, and changes the hierarchy in all ways that a
// Sync treats differently. It returns the elements of each array before and after.
func changed(t testing.TB, s store.Store, then func()) (before, after map[string][]int32) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a := trees.Numbered(t, zarr.At(s, "grown"), 4)
	b := trees.Numbered(t, zarr.At(s, "rechunked"), 6)
	c := trees.Numbered(t, zarr.At(s, "trimmed"), 5)
	trees.Numbered(t, zarr.At(s, "deleted"), 4)
	d := trees.Numbered(t, zarr.At(s, "filled"), 4)
	names := []string{"deleted", "filled", "grown", "new", "rechunked", "trimmed"}
	before = allElements(t, s, names)
	then()
	must(zarr.Append(t.Context(), a, 0, trees.Counting(4, 3), nil))
	_, err := rechunk.Do(t.Context(), b, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3)}}, nil)
	must(err)
	must(c.MakeRectilinear(t.Context(), &zarr.RectilinearOptions{Trim: true}))
	must(zarr.At(s, "deleted").Delete(t.Context(), &zarr.Options{Write: true}))
	must(zarr.Write(t.Context(), d, selection.Box{{0, 2}}, []int32{-1, -1})) // fill values: no chunk
	trees.Numbered(t, zarr.At(s, "new"), 2)
	return before, allElements(t, s, names)
}

// allElements returns the elements of the arrays that are there.
func allElements(t testing.TB, s store.Store, names []string) map[string][]int32 {
	t.Helper()
	all := map[string][]int32{}
	for _, name := range names {
		if found, err := store.Exists(t.Context(), s, store.MustKey(name+"/zarr.json")); err != nil {
			t.Fatal(err)
		} else if found {
			all[name] = elements(t, zarr.At(s, name))
		}
	}
	return all
}

// checkStopped checks what an interrupted Sync has left: each array has the shape of
// before or after and elements of either, or is missing, which the note must explain.
func checkStopped(t *testing.T, where string, to store.Store, before, after map[string][]int32) {
	t.Helper()
	begun, err := transfer.Unfinished(t.Context(), zarr.At(to, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deleted", "filled", "grown", "new", "rechunked", "trimmed"} {
		was, is := before[name], after[name]
		a, err := zarr.At(to, name).OpenArray(t.Context(), nil)
		if errors.Is(err, fs.ErrNotExist) {
			if !begun && was != nil && is != nil {
				t.Fatalf("%s: %s is missing, and nothing says why", where, name)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", where, name, err)
		}
		v, err := zarr.Read[int32](t.Context(), a, nil)
		if err != nil {
			t.Fatalf("%s: %s: %v", where, name, err)
		}
		if n := len(v.Data); n != len(was) && n != len(is) {
			t.Fatalf("%s: %s has %v", where, name, v.Data)
		}
		for i, x := range v.Data {
			if !(i < len(was) && x == was[i]) && !(i < len(is) && x == is[i]) {
				t.Fatalf("%s: %s has %v, of %v and %v", where, name, v.Data, was, is)
			}
		}
		if same := slices.Equal(v.Data, was) || slices.Equal(v.Data, is); !same && !begun {
			t.Fatalf("%s: %s has %v, and nothing says why", where, name, v.Data)
		}
	}
}

// finishSync syncs again, and compares all values.
func finishSync(t *testing.T, where string, src, to store.Store) {
	t.Helper()
	if _, err := transfer.Sync(t.Context(), zarr.At(src, ""), zarr.At(to, ""), &transfer.SyncOptions{Delete: true}); err != nil {
		t.Fatalf("%s: again: %v", where, err)
	}
	want, got := described(t, zarr.At(src, "")), trees.Values(t, to, "")
	trees.TrimDocuments(want)
	trees.TrimDocuments(got)
	if d := trees.Differ(want, got); d != "" {
		t.Fatalf("%s: again: %s", where, d)
	}
	if begun, err := transfer.Unfinished(t.Context(), zarr.At(to, "")); begun || err != nil {
		t.Fatalf("%s: it is unfinished (%v)", where, err)
	}
}

// TestSyncStopped stops a Sync before each of its file system operations, as a kill does,
// into a new place and over an older state.
func TestSyncStopped(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	src := memtest.New()
	image := memtest.New() // of the state before
	before, after := changed(t, src, func() { mustSync(t, src, image) })
	for _, older := range []bool{false, true} {
		was := before
		if !older {
			was = nil
		}
		for n := int64(0); ; n++ {
			disk := vfs.NewDisk()
			if older {
				mustSync(t, image, fixture.FileStore(disk))
			}
			stop, stopped := vfs.StopAt(n)
			o := &transfer.SyncOptions{Delete: true, Options: zarr.Options{Concurrency: 1}}
			_, err := transfer.Sync(t.Context(), zarr.At(src, ""), zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), ""), o)
			if !stopped() {
				t.Logf("%d operations", n)
				if err != nil || n < 100 {
					t.Fatalf("%d operations: %v", n, err)
				}
				break
			}
			where, to := fmt.Sprintf("older is %v, operation %d", older, n), fixture.FileStore(disk)
			checkStopped(t, where, to, was, after)
			finishSync(t, where, src, to)
		}
	}
}

func mustSync(t *testing.T, from, to store.Store) {
	t.Helper()
	if _, err := transfer.Sync(t.Context(), zarr.At(from, ""), zarr.At(to, ""), nil); err != nil {
		t.Fatal(err)
	}
}

// TestSyncPowerCut stops the machine at operations on the file system of a Sync over an
// older state, and checks the images that a power cut may leave.
func TestSyncPowerCut(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	src, image := memtest.New(), memtest.New()
	before, after := changed(t, src, func() { mustSync(t, src, image) })
	images := 0
	step := int64(fixture.Soaked(t, 1, 12))
	for n := int64(0); ; n += 12 / min(step, 12) {
		disk := vfs.NewDisk()
		mustSync(t, image, fixture.FileStore(disk))
		stop, stopped := vfs.StopAt(n)
		o := &transfer.SyncOptions{Delete: true, Options: zarr.Options{Concurrency: 1}}
		_, err := transfer.Sync(t.Context(), zarr.At(src, ""), zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), ""), o)
		if !stopped() {
			if err != nil || images < 300 {
				t.Fatalf("%d images: %v", images, err)
			}
			return
		}
		for label, left := range disk.Images(uint64(n), 1) {
			images++
			where := fmt.Sprintf("operation %d, %s", n, label)
			checkStopped(t, where, fixture.FileStore(left), before, after)
			finishSync(t, where, src, fixture.FileStore(left))
		}
	}
}

// TestSyncInterrupted stops a Sync before every operation of an object store, or after
// it, which loses the answer.
func TestSyncInterrupted(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	src := memtest.New()
	image := memtest.New()
	before, after := changed(t, src, func() { mustSync(t, src, image) })
	for _, lost := range []bool{false, true} {
		for k := int64(0); ; k++ {
			left := memtest.New()
			mustSync(t, image, fixture.Conditional(left))
			h, stopped := fixture.StopAt(k, lost)
			o := &transfer.SyncOptions{Delete: true, Options: zarr.Options{Concurrency: 1}}
			_, err := transfer.Sync(t.Context(), zarr.At(src, ""), zarr.At(stepping.Conditional(left, h), ""), o)
			if !stopped() {
				t.Logf("%d operations", k)
				if err != nil || k < 50 {
					t.Fatalf("%d operations: %v", k, err)
				}
				break
			}
			where, to := fmt.Sprintf("lost is %v, operation %d", lost, k), fixture.Conditional(left)
			checkStopped(t, where, to, before, after)
			finishSync(t, where, src, to)
		}
	}
}
