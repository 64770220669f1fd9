// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"errors"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec/sharding"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/regrid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/test/fixture"
)

// inPlace are the options of a re-gridding in place.
var inPlace = &regrid.Options{InPlace: true}

// tail returns a request that merges the chunks of one element from index p on, in an
// array of n of them.
func tail(p, n int64) regrid.Compaction {
	edges := []grid.Run{{Length: 1, Count: p}, {Length: n - p, Count: 1}}
	if p == 0 {
		edges = edges[1:]
	}
	return regrid.Compaction{Edges: edges}
}

// mergeTail merges the chunks from index p on in place.
func mergeTail(t *testing.T, a *zarr.Array, p, n int64) *regrid.Report {
	t.Helper()
	r, err := regrid.Do(t.Context(), a, tail(p, n), inPlace)
	if err != nil || !r.Changed {
		t.Fatalf("%+v (%v)", r, err)
	}
	return r
}

// TestInPlace merges the last chunks in place: only the merged chunk is written, and what
// it replaces stays until a vacuum.
func TestInPlace(t *testing.T) {
	s := memstore.New()
	a := days(t, s, 5)
	before, err := zarr.At(s, "a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]store.Version{}
	for _, key := range []string{"a/c/0", "a/c/1", "a/c/3", "a/c/4"} {
		info, err := store.Stat(t.Context(), s, store.MustKey(key))
		if err != nil {
			t.Fatal(err)
		}
		versions[key] = info.Version
	}
	p, err := regrid.NewPlan(t.Context(), a, tail(2, 5), inPlace)
	if err != nil || p.Strategy != "in-place" || p.Guarantee != "loud-failure" || p.Encoded != 1 || p.Cloned != 0 || p.Kept != 2 || p.Dropped != 2 {
		t.Fatalf("%+v (%v)", p, err)
	}
	if r := mergeTail(t, a, 2, 5); r.Staged.Encoded != 1 || r.Staged.Cloned != 0 {
		t.Errorf("%+v", r)
	}
	for key, was := range versions {
		if info, err := store.Stat(t.Context(), s, store.MustKey(key)); err != nil || info.Version != was {
			t.Errorf("%s was written (%v)", key, err)
		}
	}
	reads(t, s, 1, 2, 3, 4, 5)
	if got, err := zarr.Read[int32](t.Context(), before, nil); err != nil || got.Data[4] != 5 {
		t.Errorf("a reader that opened before reads %v (%v)", got.Data, err)
	}
	if err := regrid.Revert(t.Context(), a); !errors.Is(err, regrid.ErrNoRevert) {
		t.Errorf("revert: %v", err)
	}
	again, err := regrid.Do(t.Context(), a, tail(2, 5), inPlace)
	if err != nil || again.Changed {
		t.Errorf("a second time: %+v (%v)", again, err)
	}
	r, err := regrid.Vacuum(t.Context(), a, nil)
	if err != nil || len(r.Items) != 2 || r.Freed() != 0 || r.Items[0].Kind != "beyond" || r.Items[1].Kind != "merged" || time.Until(r.Items[0].Due) < 23*time.Hour {
		t.Fatalf("%+v (%v)", r, err)
	}
	if _, err = regrid.Vacuum(t.Context(), a, &regrid.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
	if is, want := keys(t, s), "a/c/0 a/c/1 a/c/2 a/zarr.json zarr.json"; is != want {
		t.Errorf("left %s, want %s", is, want)
	}
	reads(t, s, 1, 2, 3, 4, 5)
}

// TestInPlaceAppend appends after a merge: the keys of merged chunks are used again.
func TestInPlaceAppend(t *testing.T) {
	s := memstore.New()
	a := days(t, s, 5)
	before, err := zarr.At(s, "a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	mergeTail(t, a, 2, 5)
	if err := zarr.Append(t.Context(), a, 0, []int32{6}, nil); err != nil {
		t.Fatal(err)
	}
	reads(t, s, 1, 2, 3, 4, 5, 6)
	got, err := zarr.Read[int32](t.Context(), before, grid.Box{{Start: 3, Stop: 4}})
	if err != nil || got.Data[0] != 4 {
		t.Errorf("a reader that opened before reads %v (%v)", got.Data, err)
	}
	if _, err := regrid.Vacuum(t.Context(), a, &regrid.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
	reads(t, s, 1, 2, 3, 4, 5, 6)
}

// TestInPlaceRefused checks what cannot be done in place, and that nothing changes.
func TestInPlaceRefused(t *testing.T) {
	s := memstore.New()
	a := days(t, s, 6)
	before := keys(t, s)
	for _, r := range []regrid.Request{
		regrid.Compaction{UpTo: 2}, regrid.Compaction{UpTo: 3, LeaveTail: 3}, regrid.Regularization{Chunk: []int64{4}},
		regrid.Rechunking{Inner: regrid.Cuts(fixture.Every(6, 1).Chunks)},
	} {
		for _, do := range []func() error{
			func() error { _, err := regrid.Do(t.Context(), a, r, inPlace); return err },
			func() error { _, err := regrid.NewPlan(t.Context(), a, r, inPlace); return err },
		} {
			if err := do(); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "leave out Options.InPlace") {
				t.Errorf("%+v: %v", r, err)
			}
		}
	}
	if _, err := regrid.Do(t.Context(), a, regrid.Compaction{UpTo: 2}, &regrid.Options{Offline: true}); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("offline: %v", err)
	}
	if is := keys(t, s); is != before {
		t.Errorf("left %s, want %s", is, before)
	}
}

// TestInPlaceUnguarded refuses shards whose index has no checksum: an old reader would
// take a merged shard for an old one.
func TestInPlaceUnguarded(t *testing.T) {
	for _, checked := range []bool{false, true} {
		s := memstore.New()
		spec := fixture.Edges(2, 2, 2, 2)
		c := sharding.Configuration{Inner: []grid.Cut{grid.Every(1)}, Codecs: fixture.Plain()}
		if !checked {
			c.IndexCodecs = fixture.Plain()
		}
		spec.Codecs = []metadata.Extension{fixture.Must(sharding.Extension(c))}
		a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 8))
		}
		if err != nil {
			t.Fatal(err)
		}
		request := regrid.Compaction{Edges: []grid.Run{{Length: 2, Count: 1}, {Length: 6, Count: 1}}}
		r, err := regrid.Do(t.Context(), a, request, inPlace)
		if checked && (err != nil || r.Staged.Arranged != 1 || r.Staged.BytesDecoded != 0) {
			t.Errorf("%+v (%v)", r, err)
		}
		if !checked && (!errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "no checksum")) {
			t.Errorf("without a checksum: %v", err)
		}
		reads(t, s, fixture.Numbers(1, 8)...)
	}
}

// TestInPlaceSparse merges chunks of which some are not stored.
func TestInPlaceSparse(t *testing.T) {
	for mask := range 16 {
		s := memstore.New()
		a := days(t, s, 4)
		want := fixture.Numbers(1, 4)
		for i := range int64(4) {
			if mask&(1<<i) == 0 {
				continue
			}
			want[i] = 0
			if err := zarr.Write(t.Context(), a, grid.Box{{Start: i, Stop: i + 1}}, []int32{0}); err != nil {
				t.Fatal(err)
			}
		}
		mergeTail(t, a, 1, 4)
		reads(t, s, want...)
		if _, err := regrid.Vacuum(t.Context(), a, &regrid.VacuumOptions{Grace: -1}); err != nil {
			t.Fatal(err)
		}
		reads(t, s, want...)
		if is := keys(t, s); strings.Contains(is, "__varve") || strings.Contains(is, "c/2") {
			t.Errorf("%b: left %s", mask, is)
		}
	}
}

// TestOffline replaces all chunks of an array of format 2 with one axis, which has one
// set of chunk keys.
func TestOffline(t *testing.T) {
	for _, sizes := range [][2]int64{{1, 2}, {2, 1}, {2, 3}, {3, 2}, {4, 1}, {1, 9}} {
		s := memstore.New()
		spec := fixture.AsV2(zarr.Spec{Shape: []int64{7}, Type: fixture.Edges(1).Type, Chunks: []grid.Cut{grid.Every(sizes[0])}})
		a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
		want := []int32{1, 2, 0, 0, 5, 6, 0}
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, want)
		}
		if err != nil {
			t.Fatal(err)
		}
		r := regrid.Regularization{Chunk: []int64{sizes[1]}}
		if _, err := regrid.Do(t.Context(), a, r, nil); !errors.Is(err, regrid.ErrNoKeys) || !strings.Contains(err.Error(), "Options.Offline") {
			t.Errorf("%v: %v", sizes, err)
		}
		p, err := regrid.NewPlan(t.Context(), a, r, &regrid.Options{Offline: true})
		if err != nil || p.Strategy != "in-place" || p.Guarantee != "offline" && sizes[1] != 9 {
			t.Errorf("%v: %+v (%v)", sizes, p, err)
		}
		report, err := regrid.Do(t.Context(), a, r, &regrid.Options{Offline: true})
		if err != nil || !report.Changed {
			t.Fatalf("%v: %+v (%v)", sizes, report, err)
		}
		reads(t, s, want...)
		if _, err := regrid.Vacuum(t.Context(), a, &regrid.VacuumOptions{Grace: -1}); err != nil {
			t.Fatal(err)
		}
		reads(t, s, want...)
		if is := keys(t, s); strings.Contains(is, "__varve") {
			t.Errorf("%v: left %s", sizes, is)
		}
	}
}

// TestNoKeysUntil checks that the error says when chunk keys will be free, and what frees
// some now. A plan says the same, and is made nevertheless.
func TestNoKeysUntil(t *testing.T) {
	s := memstore.New()
	a := days(t, s, 8)
	compact(t, a, 2)
	compact(t, a, 4)
	_, err := regrid.Do(t.Context(), a, regrid.Compaction{UpTo: 8}, nil)
	day := time.Now().UTC().Add(regrid.DefaultGrace).Format("2006-01-02")
	for _, part := range []string{day, "regrid.Vacuum with a grace of 0s (or Options.Grace) frees it now", "nothing can show that none is left"} {
		if !errors.Is(err, regrid.ErrNoKeys) || !strings.Contains(err.Error(), part) {
			t.Errorf("%v\nlacks %s", err, part)
		}
	}
	for grace, free := range map[time.Duration]bool{0: false, time.Hour: false, -1: true} {
		p, err := regrid.NewPlan(t.Context(), a, regrid.Compaction{UpTo: 8}, &regrid.Options{Grace: grace})
		if err != nil || !p.Changes || p.Encoded != 1 || errors.Is(p.Blocked, regrid.ErrNoKeys) == free {
			t.Errorf("a plan with the grace %v: %+v (%v)", grace, p, err)
		}
	}
	mergeTail(t, a, 0, 8)
}
