// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// TestStaleEncodedWrite writes encoded bytes through an array that was opened before it
// got other codecs. The bytes would be decoded wrongly.
func TestStaleEncodedWrite(t *testing.T) {
	s := memtest.New()
	spec := fixture.Edges(2, 2)
	spec.Codecs = fixture.Plain()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 4))
	}
	if err != nil {
		t.Fatal(err)
	}
	stale, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := stale.ReadEncodedChunk(t.Context(), []int64{0})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Do(t.Context(), a, rechunk.Rechunking{Codecs: []metadata.Extension{codec.Bytes("big")}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := stale.WriteEncodedChunk(t.Context(), []int64{0}, raw); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("encoded write: %v", err)
	}
	reads(t, s, 1, 2, 3, 4)
}

// TestStaleInnerWrite writes an inner chunk through an array that was opened before it
// got other inner chunks.
func TestStaleInnerWrite(t *testing.T) {
	s := memtest.New()
	spec := fixture.Edges(8, 8)
	spec.InnerChunks = grid.Chunks(2)
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	stale, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		_, err = rechunk.Do(t.Context(), a, rechunk.Rechunking{Chunks: rechunk.Cuts(spec.Chunks), Inner: rechunk.Cuts{grid.Every(4)}}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := stale.Inner().WriteChunk(t.Context(), []int64{1}, make([]byte, 8)); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("inner write: %v", err)
	}
}

// TestOvertakenWrite stops a write before it stores a chunk. Meanwhile the array is cut,
// grows and is rechunked. The values are written again, to the new grid.
func TestOvertakenWrite(t *testing.T) {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a, err := zarr.At(inner, "a").CreateArray(t.Context(), fixture.Edges(2, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	overtake := sync.OnceValue(func() error {
		err := a.Resize(t.Context(), []int64{1}, &zarr.ResizeOptions{Shrink: grid.TrimExact})
		if err == nil {
			err = zarr.Append(t.Context(), a, 0, []int32{2, 3, 4}, nil)
		}
		if err == nil {
			_, err = rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 4}, nil)
		}
		return err
	})
	s := stepping.Conditional(inner, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name == "Put" && op.Key.String() == "a/c/0" {
			return overtake()
		}
		return nil
	}})
	slow, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Write(t.Context(), slow, selection.BoxOf(grid.Box{{Start: 0, Stop: 2}}), []int32{9, 8})
	}
	if err != nil {
		t.Fatal(err)
	}
	reads(t, inner, 9, 8, 3, 4)
}

// TestHostileClaims reads claims that no version of Varve writes. Only Abandon deletes
// the claim, and nothing else is deleted.
func TestHostileClaims(t *testing.T) {
	for _, claim := range []string{`null`, `{"id": "", "keys": 1}`, `{"id": "../../../../x", "keys": 1}`, `{"id": "0123456789abcdef", "keys": 77}`, `{"id": 5}`, `[`} {
		s := memtest.New()
		a := days(t, s, 4)
		before := keys(t, s)
		fixture.Put(t, s, "a/__varve/regrid.json", claim)
		claimed := keys(t, s)
		if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 2}, nil); !errors.Is(err, zarr.ErrInvalidMetadata) {
			t.Errorf("%s: compact: %v", claim, err)
		}
		if is := keys(t, s); is != claimed {
			t.Errorf("%s: the refused compact left %s", claim, is)
		}
		if err := rechunk.Abandon(t.Context(), a, nil); err != nil {
			t.Errorf("%s: abandon: %v", claim, err)
		}
		if is := keys(t, s); is != before {
			t.Errorf("%s: left %s", claim, is)
		}
	}
}

// TestTooLarge asks for chunks beyond the memory. That leaves no claim behind.
func TestTooLarge(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 40)
	_, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 40}, &rechunk.Options{Memory: 64})
	if !errors.Is(err, zarr.ErrLimit) || !strings.Contains(err.Error(), "suffices") {
		t.Errorf("%v", err)
	}
	compact(t, a, 2)
}

// TestResumeGrown interrupts a compaction by months. The array grows, and the same
// compaction continues, with a calendar that tells of more elements.
func TestResumeGrown(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 8)
	months := func(name string, until int64) rechunk.Compaction {
		return rechunk.Compaction{Calendar: &rechunk.Calendar{Name: name, Starts: []int64{0, 3, 6, 9}[:(until+2)/3], Until: until}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := rechunk.Do(ctx, a, months("month", 8), &rechunk.Options{Memory: 1 << 8, Progress: func(rechunk.Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := zarr.Append(t.Context(), a, 0, []int32{9}, nil); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(t.Context(), a, 0, []int32{10}, nil); err != nil {
		t.Fatal(err)
	}
	month, err := rechunk.NewPlan(t.Context(), a, months("month", 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	if year, err := rechunk.NewPlan(t.Context(), a, months("year", 10), nil); err != nil || year.Fingerprint == month.Fingerprint {
		t.Errorf("another calendar: %v", err)
	}
	r, err := rechunk.Do(t.Context(), a, months("month", 10), nil)
	if err != nil || !r.Changed || a.Grid().Chunks()[0] != 4 {
		t.Errorf("%+v (%v) %s", r, err, a)
	}
	reads(t, s, fixture.Numbers(1, 10)...)
}

// TestResumeWithLastKeys interrupts a rechunk that uses the last free keys. It can
// still be planned and resumed, and so can one that gives it up.
func TestResumeWithLastKeys(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 8)
	compact(t, a, 2)
	q := rechunk.Compaction{UpTo: 4}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := rechunk.Do(ctx, a, q, &rechunk.Options{Memory: 1 << 8, Progress: func(rechunk.Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if p, err := rechunk.NewPlan(t.Context(), a, rechunk.Compaction{UpTo: 6}, nil); err != nil || !p.Changes {
		t.Errorf("another plan: %+v (%v)", p, err)
	}
	if p, err := rechunk.NewPlan(t.Context(), a, q, nil); err != nil || !p.Changes {
		t.Errorf("plan: %+v (%v)", p, err)
	}
	compact(t, a, 4)
	reads(t, s, fixture.Numbers(1, 8)...)
}

// TestKeysComeAround stops a write before it stores a chunk, until its grid is
// superseded, and then until that grid is deleted without a grace and the array is
// rechunked to the same keys and edges. The values are gone, and the writer learns that.
// A write that begins after that is not disturbed by the vacuum.
func TestKeysComeAround(t *testing.T) {
	ctx := t.Context()
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a, err := zarr.At(inner, "a").CreateArray(ctx, fixture.Edges(1, 1, 1, 1), nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 4))
	}
	if err != nil {
		t.Fatal(err)
	}
	do := func(requests ...rechunk.Request) {
		for _, r := range requests {
			_, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1})
			if err == nil {
				_, err = rechunk.Do(ctx, a, r, nil)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	var stored atomic.Bool
	var before, after sync.Once
	s := stepping.Conditional(inner, stepping.Hooks{
		Before: func(_ context.Context, op stepping.Op) error {
			switch {
			case op.String() == "Put a/c/0":
				before.Do(func() { do(rechunk.Compaction{UpTo: 2}) })
			case op.String() == "Stat a/zarr.json" && stored.Load():
				after.Do(func() {
					// Each takes the next keys, and the last one those of the beginning.
					do(rechunk.Compaction{UpTo: 4},
						rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(2, 2)}},
						rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(1, 1, 1, 1)}})
				})
			}
			return nil
		},
		After: func(op stepping.Op, err error) error {
			if op.String() == "Put a/c/0" {
				stored.Store(true)
			}
			return err
		},
	})
	slow, err := zarr.At(&handle{s}, "a").OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Write(ctx, slow, selection.BoxOf(grid.Box{{Start: 0, Stop: 2}}), []int32{9, 8})
	}
	if !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("write: %v", err)
	}
	if err := zarr.Write(ctx, slow, selection.BoxOf(grid.Box{{Start: 0, Stop: 2}}), []int32{9, 8}); err != nil {
		t.Error(err)
	}
	reads(t, inner, 9, 8, 3, 4)
}

// statted is a store that calls before before each Stat.
type statted struct {
	filetest.Store
	before func(store.Key)
}

func (s *statted) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	s.before(key)
	return s.Store.Stat(ctx, key)
}

// TestKeysCameAround writes right after a vacuum and a rechunk to the keys of the
// deleted grid, while another program appends. Nothing is wrong with the write: the store
// has one clock, by which the document is younger than the vacuum.
func TestKeysCameAround(t *testing.T) {
	ctx, root := t.Context(), t.TempDir()
	program := func(before func(store.Key)) *zarr.Array {
		t.Helper()
		s, err := filestore.Open(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := zarr.At(&statted{s.(filetest.Store), before}, "a").OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s, err := filestore.Open(root, nil)
	if err == nil {
		_, err = zarr.At(s, "a").CreateArray(ctx, fixture.Edges(1, 1, 1, 1), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	other := program(func(store.Key) {})
	if err := zarr.Write(ctx, other, nil, fixture.Numbers(1, 4)); err != nil {
		t.Fatal(err)
	}
	for _, edges := range [][]int64{{2, 2}, {4}, {2, 2}, {1, 1, 1, 1}} {
		_, err := rechunk.Vacuum(ctx, other, &rechunk.VacuumOptions{Grace: -1})
		if err == nil {
			_, err = rechunk.Do(ctx, other, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(edges...)}}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rechunk.Vacuum(ctx, other, &rechunk.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
	looks := 0
	a := program(func(key store.Key) {
		if key.String() != "a/zarr.json" {
			return
		}
		if looks++; looks == 2 { // the chunk is stored
			if err := zarr.Append(ctx, other, 0, []int32{5}, nil); err != nil {
				t.Error(err)
			}
		}
	})
	if err := zarr.Write(ctx, a, selection.BoxOf(grid.Box{{Start: 0, Stop: 1}}), []int32{9}); err != nil || looks < 2 {
		t.Errorf("%v after %d looks", err, looks)
	}
	reads(t, s, 9, 2, 3, 4, 5)
}
