// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

const (
	claimA  = `{"id": "00000000000000aa", "operation": "rechunk", "fingerprint": "f", "keys": 1, "by": {"pid": 7, "host": "h", "since": "2026-01-02T03:04:05Z"}}`
	ofA     = "a/__varve/scratch/00000000000000aa/0/c/1"
	mergedA = "a/__varve/merged/00000000000000aa/c/1"
	ofB     = "a/__varve/scratch/00000000000000bb/1/c/2"
)

// TestScratch vacuums scratch that belongs to no claim. That of a claim is deleted when
// the claim is given up.
func TestScratch(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 4)
	before := keys(t, s)
	for key, value := range map[string]string{
		"a/__varve/regrid.json": claimA, ofA: "aaaa", ofB: "bb",
		"a/__varve/regrid/00000000000000bb/1": "b", "a/__varve/scratch/readme": "of another program",
	} {
		fixture.Put(t, s, key, value)
	}
	for _, dry := range []bool{true, false} {
		r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{DryRun: dry})
		want := []rechunk.VacuumItem{
			{Kind: "records", Keys: "__varve/regrid/00000000000000bb/1", Values: 1, Bytes: 1},
			{Kind: "scratch", Keys: strings.TrimPrefix(ofB, "a/"), Values: 1, Bytes: 2},
		}
		if err != nil || !reflect.DeepEqual(r.Items, want) {
			t.Fatalf("%+v (%v), want %+v", r.Items, err, want)
		}
	}
	if is := keys(t, s); strings.Contains(is, "bb") || !strings.Contains(is, ofA) || !strings.Contains(is, "readme") {
		t.Errorf("left %s", is)
	}
	if err := rechunk.Abandon(t.Context(), a, &rechunk.Options{TakeOver: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Write(t.Context(), s, store.Delete(store.MustKey("a/__varve/scratch/readme")), store.Sync); err != nil {
		t.Fatal(err)
	}
	if is := keys(t, s); is != before {
		t.Errorf("left %s, want %s", is, before)
	}
}

// TestScratchOfALaterClaim begins a rechunk just after a vacuum has read the claim.
// What the rechunk stores stays.
func TestScratchOfALaterClaim(t *testing.T) {
	inner := memtest.New()
	days(t, inner, 4)
	begun := false
	s := stepping.Conditional(stepping.Conditional(inner, stepping.Hooks{}), stepping.Hooks{After: func(op stepping.Op, err error) error {
		if op.Name == "Get" && op.Key.String() == "a/__varve/regrid.json" && !begun {
			begun = true
			fixture.Put(t, inner, "a/__varve/regrid.json", claimA)
			fixture.Put(t, inner, ofA, "aaaa")
			fixture.Put(t, inner, mergedA, "aaaa")
		}
		return err
	}})
	a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		_, err = rechunk.Vacuum(t.Context(), a, nil)
	}
	if err != nil || !begun {
		t.Fatal(begun, err)
	}
	if is := keys(t, inner); !strings.Contains(is, ofA) || !strings.Contains(is, mergedA) {
		t.Errorf("left %s", is)
	}
}

// TestRecordOfALaterClaim stores the record of a rechunk while a vacuum deletes. The
// vacuum does not remove it, because that rechunk will be published.
func TestRecordOfALaterClaim(t *testing.T) {
	inner := memtest.New()
	compact(t, days(t, inner, 4), 2)
	_, name, _ := strings.Cut(keys(t, inner), "a/__varve/grids/000000-")
	record, _, err := inner.Get(t.Context(), store.MustKey("a/__varve/grids/000000-"+name[:16]+".json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// It leads from the present grid back to the keys that are just deleted.
	later := strings.NewReplacer(name[:16], "00000000000000bb", `"number":0`, `"number":1`, `"from":`, `"to":`, `"to":`, `"from":`).Replace(string(record))
	s := stepping.Conditional(stepping.Conditional(inner, stepping.Hooks{}), stepping.Hooks{After: func(op stepping.Op, err error) error {
		if op.Name == "DeleteIf" && op.Key.String() == "a/c/0" {
			fixture.Put(t, inner, "a/__varve/grids/000001-00000000000000bb.json", later)
		}
		return err
	}})
	a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		_, err = rechunk.Vacuum(t.Context(), a, noGrace)
	}
	if is, want := keys(t, inner), "a/0 a/1 a/__varve/grids/000001-00000000000000bb.json a/zarr.json zarr.json"; err != nil || is != want {
		t.Errorf("left %s (%v), want %s", is, err, want)
	}
}

// TestClaimMessages says what runs or ran, and what helps, in one line. Processes that
// share the tasks of a rechunk may be between two of them, so it is not given up.
func TestClaimMessages(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 4)
	fixture.Put(t, s, "a/__varve/regrid.json", strings.Replace(claimA, "{", `{"shared": true, `, 1))
	_, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 2}, nil)
	if want := "a rechunk whose tasks several processes share; the same rechunk finishes it, rechunk.Abandon gives it up"; !errors.Is(err, rechunk.ErrClaimed) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("shared: %v", err)
	}
	fixture.Put(t, s, "a/__varve/regrid.json", claimA)
	err = rechunk.Revert(t.Context(), a)
	for _, part := range []string{"process 7 on h (rechunk) since 2026-01-0", "the same rechunk finishes it, rechunk.Abandon gives it up"} {
		if !errors.Is(err, rechunk.ErrClaimed) || !strings.Contains(err.Error(), part) || len(err.Error()) > 200 {
			t.Errorf("%v\nlacks %q", err, part)
		}
	}
	// This store has locks, which show that the process does not run.
	b, err := zarr.At(&handle{stepping.Conditional(s, stepping.Hooks{})}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := rechunk.Abandon(t.Context(), b, nil); !errors.Is(err, rechunk.ErrClaimed) || !strings.Contains(err.Error(), "may still run") {
		t.Errorf("abandon without locks: %v", err)
	}
}

// TestTooManyRecords resumes a rechunk with more records than the memory has room
// for.
func TestTooManyRecords(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 4)
	damaged := []byte("x")
	if _, err := s.Write(t.Context(), store.Put(store.MustKey("a/c/3"), damaged), store.Flush); err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 2}, nil); !errors.Is(err, zarr.ErrCorrupt) {
		t.Fatal(err)
	}
	claim, _, err := s.Get(t.Context(), store.MustKey("a/__varve/regrid.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, id, _ := strings.Cut(string(claim), `"id":"`)
	// Many records of one chunk: 18 bytes each, and about 80 in memory.
	records := "varve staging 1\n" + strings.Repeat("\x00"+"\x00"+strings.Repeat("f", 16), 1<<16)
	for _, name := range []string{"1", "2", "3", "4"} {
		fixture.Put(t, s, "a/__varve/regrid/"+id[:16]+"/"+name, records)
	}
	_, err = rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 2}, &rechunk.Options{Memory: 1 << 20})
	if !errors.Is(err, zarr.ErrLimit) || !strings.Contains(err.Error(), "Options.Memory") {
		t.Errorf("%v", err)
	}
	if err := rechunk.Abandon(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	if is := keys(t, s); strings.Contains(is, "__varve") {
		t.Errorf("left %s", is)
	}
}

// TestTooManyGrids reads records of superseded grids that are too large in sum.
func TestTooManyGrids(t *testing.T) {
	s := memtest.New()
	compact(t, days(t, s, 4), 2)
	_, name, _ := strings.Cut(keys(t, s), "a/__varve/grids/000000")
	name, _, _ = strings.Cut(name, ".")
	record, _, err := s.Get(t.Context(), store.MustKey("a/__varve/grids/000000"+name+".json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 9 {
		is := strings.Replace(string(record), `"number":0`, fmt.Sprintf(`"number":%d`, n), 1)
		fixture.Put(t, s, fmt.Sprintf("a/__varve/grids/%06d%s.json", n, name), is+strings.Repeat(" ", 100_000))
	}
	for limit, want := range map[int64]error{1 << 16: codec.ErrLimit, 1 << 20: nil} {
		a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Limits: zarr.Limits{Document: limit}})
		if err == nil {
			_, err = rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{DryRun: true})
		}
		if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), "rechunk.Vacuum") {
			t.Errorf("limit %d: %v, want %v", limit, err, want)
		}
	}
}

// TestAbortedJournals vacuums the journals of transactions that were rolled back, after
// the grace. Journals that may be replayed stay.
func TestAbortedJournals(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 4)
	fixture.Put(t, s, "a/__varve/together-1.json", `{"aborted":true}`)
	fixture.Put(t, s, "a/__varve/together-2.json", `{"parts":[{"path":".","was":"x","document":"y"}]}`)
	fixture.Put(t, s, "a/__varve/aside/other.json", `{"aborted":true}`)
	r, err := rechunk.Vacuum(t.Context(), a, nil)
	if err != nil || len(r.Items) != 1 || r.Items[0].Kept == "" || r.Items[0].Kind != "journal" {
		t.Fatalf("%+v (%v)", r, err)
	}
	r, err = rechunk.Vacuum(t.Context(), a, noGrace)
	if err != nil || len(r.Items) != 1 || r.Items[0].Kept != "" || r.Freed() != 16 {
		t.Fatalf("%+v (%v)", r, err)
	}
	if is := keys(t, s); strings.Contains(is, "together-1") || !strings.Contains(is, "together-2") || !strings.Contains(is, "other.json") {
		t.Errorf("left %s", is)
	}
}

// TestNoParents says that an array without groups above may have copies of its document
// elsewhere.
func TestNoParents(t *testing.T) {
	s := memtest.New()
	a, err := zarr.At(s, "").CreateArray(t.Context(), fixture.Edges(1, 1, 1, 1), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 4))
	}
	if err != nil {
		t.Fatal(err)
	}
	// There is nothing to delete yet.
	if r, err := rechunk.Vacuum(t.Context(), a, noGrace); err != nil || len(r.Notes) != 0 {
		t.Errorf("%+v (%v)", r, err)
	}
	compact(t, a, 2)
	if r, err := rechunk.Vacuum(t.Context(), a, noGrace); err != nil || len(r.Items) != 1 || len(r.Notes) != 1 {
		t.Errorf("%+v (%v)", r, err)
	}
}
