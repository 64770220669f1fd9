// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/regrid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
	"varve.dev/zarr/test/fixture"
)

// TestAnyTail merges the last chunks of drawn arrays in place, again and again, with
// writes and appends in between. The values stay, for the array, for one that is opened
// afterwards, and for one that was opened before.
func TestAnyTail(t *testing.T) {
	merges := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := drawArray(rt)
		if len(d.shape) == 0 {
			return
		}
		before, err := zarr.At(d.store, "a").OpenArray(rt.Context(), nil)
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(rt, "merges") {
			if d.mergeTail(rt) {
				merges++
			}
			d.check(rt, d.array, "the array")
			d.check(rt, before, "a reader that opened before")
			after, err := zarr.At(d.store, "a").OpenArray(rt.Context(), &zarr.Options{Write: true})
			if err != nil {
				rt.Fatal(err)
			}
			d.check(rt, after, "a reader that opened after")
			d.write(rt, after)
			d.check(rt, before, "a reader, after a write")
			if rapid.Bool().Draw(rt, "vacuum") {
				if _, err := regrid.Vacuum(rt.Context(), d.array, &regrid.VacuumOptions{Grace: -1}); err != nil {
					rt.Fatal(err)
				}
				d.check(rt, before, "a reader, after a vacuum")
			}
			d.grow(rt, after)
			if err := errors.Join(before.Refresh(rt.Context()), d.array.Refresh(rt.Context())); err != nil {
				rt.Fatal(err)
			}
		}
		for f, err := range d.array.CheckShards(rt.Context(), nil) {
			rt.Fatalf("%v (%v)", f, err)
		}
	})
	if merges == 0 {
		t.Error("nothing was merged")
	}
}

// mergeTail merges the last chunks along a drawn axis, if there are several.
func (d *drawn) mergeTail(t *rapid.T) bool {
	axis := rapid.IntRange(0, len(d.shape)-1).Draw(t, "axis")
	a := d.array.Grid().Axis(axis)
	if a.Chunks() < 2 || a.Cells() != a.Chunks() {
		return false
	}
	first := rapid.Int64Range(0, a.Chunks()-2).Draw(t, "first")
	var runs []grid.Run
	sum := int64(0)
	for k := range a.Chunks() {
		if c, _ := a.Cell(k); k < first {
			runs = append(runs, grid.Run{Length: c.Edge, Count: 1})
		} else {
			sum += c.Edge
		}
	}
	request := regrid.Compaction{Axis: axis, Edges: append(runs, grid.Run{Length: sum, Count: 1})}
	r, err := regrid.Do(t.Context(), d.array, request, inPlace)
	if err != nil || !r.Changed {
		t.Fatalf("%+v: %+v (%v)", request, r, err)
	}
	if r.Staged.Cloned != 0 {
		t.Fatalf("chunks that stay were copied: %+v", r.Staged)
	}
	again, err := regrid.Do(t.Context(), d.array, request, inPlace)
	if err != nil || again.Changed {
		t.Fatalf("a second time: %+v (%v)", again, err)
	}
	return true
}

// grow appends planes of the value 5 along the first axis, where that keeps whole inner
// chunks.
func (d *drawn) grow(t *rapid.T, a *zarr.Array) {
	n := int64(1)
	if d.inner != nil {
		n = d.inner[0]
	}
	size := n
	for _, k := range d.shape[1:] {
		size *= k
	}
	if size == 0 {
		return
	}
	values := slices.Repeat([]int32{5}, int(size))
	err := zarr.Append(t.Context(), a, 0, values, nil)
	if errors.Is(err, zarr.ErrInvalidArgument) {
		return // the new shard would end within an inner chunk
	}
	if err != nil {
		t.Fatal(err)
	}
	d.shape = slices.Clone(d.shape)
	d.shape[0] += n
	d.data = append(d.data, values...)
}

// TestInPlaceLate stores a chunk for the grid before a merge, after an append has used
// its key again. The writer learns that it has overwritten the appended elements.
func TestInPlaceLate(t *testing.T) {
	inner := storetest.Conditional(memstore.New(), storetest.Hooks{})
	days(t, inner, 5)
	done := false
	s := storetest.Conditional(inner, storetest.Hooks{Before: func(_ context.Context, op storetest.Op) error {
		if done || op.Key.String() != "a/c/3" || !strings.HasPrefix(op.Name, "Put") {
			return nil
		}
		done = true
		b, err := zarr.At(&named{inner, "other"}, "other/a").OpenArray(t.Context(), &zarr.Options{Write: true})
		if err != nil {
			return err
		}
		mergeTail(t, b, 2, 5)
		return zarr.Append(t.Context(), b, 0, []int32{6}, nil)
	}})
	a, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	err = zarr.Write(t.Context(), a, grid.Box{{Start: 3, Stop: 4}}, []int32{9})
	if !done || !errors.Is(err, zarr.ErrCorrupt) || !strings.Contains(err.Error(), "a/c/3") {
		t.Errorf("%v, want %v", err, zarr.ErrCorrupt)
	}
}

// TestInPlaceLateCrash stops a writer that has overwritten a merged chunk before it
// notices. A vacuum restores the merged chunk, long before its grace is over, and leaves
// a chunk that is damaged in another way.
func TestInPlaceLateCrash(t *testing.T) {
	fixture.Sequential(t)
	inner := storetest.Conditional(memstore.New(), storetest.Hooks{})
	days(t, inner, 5)
	merged, crashed, errCrashed := false, false, errors.New("the program has crashed")
	s := storetest.Conditional(inner, storetest.Hooks{
		Before: func(_ context.Context, op storetest.Op) error {
			if crashed {
				return errCrashed
			}
			if !merged && op.Key.String() == "a/c/2" && strings.HasPrefix(op.Name, "Put") {
				merged = true
				b, err := zarr.At(&named{inner, "other"}, "other/a").OpenArray(t.Context(), &zarr.Options{Write: true})
				if err != nil {
					return err
				}
				mergeTail(t, b, 2, 5)
			}
			return nil
		},
		After: func(op storetest.Op, err error) error {
			crashed = crashed || merged && op.Key.String() == "a/c/2"
			return err
		},
	})
	a, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(t.Context(), a, grid.Box{{Start: 2, Stop: 3}}, []int32{9}); !crashed || !errors.Is(err, errCrashed) {
		t.Fatalf("%v, want %v", err, errCrashed)
	}
	b, err := zarr.At(&handle{inner}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.Read[int32](t.Context(), b, nil); !errors.Is(err, zarr.ErrCorrupt) {
		t.Fatalf("the chunk was not overwritten: %v", err)
	}
	for _, dry := range []bool{true, false} {
		report, err := regrid.Vacuum(t.Context(), b, &regrid.VacuumOptions{DryRun: dry})
		if err != nil || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "a/c/2") {
			t.Errorf("%+v (%v)", report, err)
		}
	}
	reads(t, inner, 1, 2, 3, 4, 5)
	if _, err := store.Put(t.Context(), inner, store.MustKey("a/c/2"), []byte("damaged"), store.Flush); err != nil {
		t.Fatal(err)
	}
	if report, err := regrid.Vacuum(t.Context(), b, nil); err != nil || len(report.Notes) != 0 {
		t.Errorf("%+v (%v)", report, err)
	}
	if _, err := zarr.Read[int32](t.Context(), b, nil); !errors.Is(err, zarr.ErrCorrupt) {
		t.Errorf("a damaged chunk was replaced: %v", err)
	}
}

// TestInPlaceAbandon gives up a merge that stopped just before its publication. Nothing
// is left of it, although its record was stored.
func TestInPlaceAbandon(t *testing.T) {
	fixture.Sequential(t)
	inner := storetest.Conditional(memstore.New(), storetest.Hooks{})
	days(t, inner, 5)
	before, crashed, errCrashed := keys(t, inner), false, errors.New("the program has crashed")
	s := storetest.Conditional(inner, storetest.Hooks{
		Before: func(context.Context, storetest.Op) error {
			if crashed {
				return errCrashed
			}
			return nil
		},
		After: func(op storetest.Op, err error) error {
			crashed = crashed || strings.HasSuffix(op.Key.String(), ".chunks") && op.Name == "Put"
			return err
		},
	})
	a, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := regrid.Do(t.Context(), a, tail(2, 5), inPlace); !crashed || !errors.Is(err, errCrashed) {
		t.Fatalf("%v, want %v", err, errCrashed)
	}
	if is := keys(t, inner); !strings.Contains(is, "__varve/grids/") || !strings.Contains(is, "__varve/merged/") {
		t.Fatalf("it stopped too early: %s", is)
	}
	b, err := zarr.At(&handle{inner}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = regrid.Abandon(t.Context(), b, &regrid.Options{TakeOver: true})
	}
	if is := keys(t, inner); err != nil || is != before {
		t.Errorf("left %s (%v), want %s", is, err, before)
	}
	reads(t, inner, 1, 2, 3, 4, 5)
}
