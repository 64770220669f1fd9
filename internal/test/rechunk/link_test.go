// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// document2 is a document of format 2 whose chunks have the keys 0, 1 and so on.
const document2 = `{"zarr_format":2,"shape":[8],"chunks":[1],"dtype":"<i4","fill_value":0,"order":"C","filters":null,"compressor":null}`

// kept is an array whose first grid is superseded, and stays because of document2.
func kept(t *testing.T, s store.Store) *zarr.Array {
	t.Helper()
	spec := fixture.Edges(1, 1, 1, 1, 1, 1, 1, 1)
	spec.KeyEncoding = metadata.V2Dot
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 8))
	}
	if err != nil {
		t.Fatal(err)
	}
	fixture.Put(t, s, "a/.zarray", document2)
	return a
}

var noGrace = &rechunk.VacuumOptions{Grace: -1}

// grids counts the records of superseded grids.
func grids(t *testing.T, s store.Store) int {
	t.Helper()
	return strings.Count(keys(t, s), "a/__varve/grids/") - strings.Count(keys(t, s), ".since") - strings.Count(keys(t, s), ".chunks")
}

// TestLinks keeps the first grid of an array while later ones are vacuumed. It stays for
// the reason that is true, and can go at any time.
func TestLinks(t *testing.T) {
	s := memtest.New()
	a := kept(t, s)
	for _, n := range []int64{2, 4, 8} {
		compact(t, a, n)
		for range 2 {
			r, err := rechunk.Vacuum(t.Context(), a, noGrace)
			if err != nil || !strings.Contains(keys(t, s), " a/7 ") {
				t.Fatalf("%+v (%v) %s", r, err, keys(t, s))
			}
			for _, i := range r.Items {
				if i.Kept != "" && !strings.Contains(i.Kept, ".zarray") {
					t.Fatalf("kept: %s", i.Kept)
				}
			}
		}
		if is := grids(t, s); is > 2 { // that of the first grid, and a link
			t.Errorf("%d records: %s", is, keys(t, s))
		}
	}
	if err := rechunk.Revert(t.Context(), a); !errors.Is(err, rechunk.ErrNoRevert) {
		t.Errorf("revert after a vacuum: %v", err)
	}
	if _, err := store.Write(t.Context(), s, store.Delete(store.MustKey("a/.zarray")), store.Sync); err != nil {
		t.Fatal(err)
	}
	if r, err := rechunk.Vacuum(t.Context(), a, noGrace); err != nil || len(r.Items) != 1 || r.Items[0].Kept != "" || r.Items[0].Values != 8 {
		t.Fatalf("%+v (%v)", r, err)
	}
	if is, want := keys(t, s), "a/c/0 a/zarr.json zarr.json"; is != want {
		t.Errorf("left %s, want %s", is, want)
	}
	reads(t, s, fixture.Numbers(1, 8)...)
}

// TestVacuumCrash stops a vacuum at every operation. The next one completes it, and the
// grid that is to stay stays for the reason that is true.
func TestVacuumCrash(t *testing.T) {
	fixture.Sequential(t)
	for fate, end := range fates {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			at := 0
			for vacuumCrash(t, at, end) {
				at++
			}
			t.Logf("%d operations", at)
			if at < 20 {
				t.Errorf("only %d operations", at)
			}
		})
	}
}

func vacuumCrash(t *testing.T, at int, end func(*stepping.Stepper) bool) bool {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a := kept(t, &handle{inner})
	compact(t, a, 2)
	compact(t, a, 4)
	if _, err := rechunk.Vacuum(t.Context(), a, noGrace); err != nil { // makes a link
		t.Fatal(err)
	}
	compact(t, a, 8)
	vacuum := func(s store.Store) (*rechunk.VacuumReport, error) {
		b, err := zarr.At(&handle{s.(stepping.ObjectStore)}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
		if err != nil {
			return nil, err
		}
		return rechunk.Vacuum(t.Context(), b, noGrace)
	}
	stepper := stepping.NewStepper(inner)
	defer stepper.Close()
	stepper.Start(func(s store.Store) error { _, err := vacuum(s); return err })
	for range at {
		if _, done := stepper.Step(0); done {
			return false
		}
	}
	if done := end(stepper); !done {
		stepper.Finish(func(int) int { return 0 }, 0)
	}
	r, err := vacuum(inner)
	if err != nil || len(r.Items) == 0 {
		t.Fatalf("again after operation %d: %+v (%v)\n%s", at, r, err, stepper.Trace())
	}
	for _, i := range r.Items {
		if i.Kept != "" && !strings.Contains(i.Kept, ".zarray") {
			t.Fatalf("operation %d: kept: %s\n%s", at, i.Kept, stepper.Trace())
		}
	}
	if is := keys(t, inner); strings.Contains(is, "a/c.") || !strings.Contains(is, "a/7 ") || grids(t, inner) > 2 || strings.Contains(is, "clock") {
		t.Fatalf("operation %d leaves %s\n%s", at, is, stepper.Trace())
	}
	if _, err := inner.Write(t.Context(), store.Delete(store.MustKey("a/.zarray")), store.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := vacuum(inner); err != nil {
		t.Fatal(err)
	}
	if is, want := keys(t, inner), "a/c/0 a/zarr.json zarr.json"; is != want {
		t.Fatalf("operation %d: left %s, want %s", at, is, want)
	}
	reads(t, inner, fixture.Numbers(1, 8)...)
	return true
}
