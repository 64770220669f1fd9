// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// slow is a store that needs a second for each object that it reads. It counts them.
type slow struct {
	listed
	mu    sync.Mutex
	reads map[string]int
	entry time.Duration // for each chunk in a listing
}

func newSlow(s store.Store) *slow {
	return &slow{listed: listed{lossy{Store: s}}, reads: map[string]int{}}
}

func (s *slow) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if strings.Contains(key.String(), "/") {
		time.Sleep(time.Second)
		s.mu.Lock()
		s.reads[key.String()]++
		s.mu.Unlock()
	}
	return s.Store.Get(ctx, key, q, dst)
}

// List needs a time for each chunk.
func (s *slow) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range store.List(ctx, s.Store, dir, how) {
			if dir.String() == "chunks" {
				time.Sleep(s.entry)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// read is how many objects of a folder were read.
func (s *slow) read(folder string) (n int) {
	for name, times := range s.reads {
		if strings.HasPrefix(name, folder+"/") {
			n += times
		}
	}
	return n
}

// bubble runs a test in the time of synctest. The coders of Zstandard, which are made at
// their first use, have to be there before.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	r, _ := created(t)
	commit(t, stage(t, r, "main", "a", 0), "a")
	sound(t, r)
	synctest.Test(t, test)
}

const marksKey = "overwritten/gc.marks"

// copied returns a copy of a store, with its clock.
func copied(t testing.TB, s *dated) *dated {
	t.Helper()
	c := newDated()
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		try(t, err)
		key := store.MustKey(e.Name)
		data, info, err := s.Get(t.Context(), key, store.Request{}, nil)
		try(t, err)
		_, err = store.Write(t.Context(), c.Store, store.Put(key, data), store.Flush)
		try(t, err)
		c.times[key] = info.Modified
	}
	c.clock = s.clock
	return c
}

// layered returns a littered repository whose branch has 24 more commits, each with a
// manifest of its own, and all of it old.
func layered(t testing.TB) *dated {
	t.Helper()
	s := newDated()
	r := littered(t, s)
	for i := range 24 {
		commit(t, stage(t, r, "side", fmt.Sprintf("m%d", i), 100*i), "more")
	}
	s.pass(time.Hour)
	return s
}

// collectFor collects garbage for a time.
func collectFor(t testing.TB, s store.Store, limit time.Duration) *icechunk.GarbageReport {
	t.Helper()
	report, err := opened(t, s).CollectGarbage(t.Context(), &icechunk.GarbageOptions{OlderThan: -1, For: limit})
	try(t, err)
	return report
}

// TestMarks collects garbage in many runs whose time is too short for all. They read
// nothing twice that the first runs have read whole, and leave what one run leaves.
func TestMarks(t *testing.T) {
	defer icechunk.LimitMarks(5, 1000)()
	bubble(t, func(t *testing.T) {
		s := layered(t)
		whole := copied(t, s)
		one := collectFor(t, whole, 0)
		all, runs := newSlow(s), 1
		for collectFor(t, all, 4500*time.Millisecond).Stopped {
			if runs++; runs > 40 {
				t.Fatal("it gets no further")
			}
		}
		if runs < 4 {
			t.Errorf("only %d runs", runs)
		}
		left, want := names(t, s), names(t, whole)
		delete(left, "repo")
		delete(want, "repo")
		if !maps.Equal(left, want) {
			t.Errorf("%d objects are left, want %d", len(left), len(want))
		}
		// Those that are read when the time is over are read again.
		if n := all.read("manifests"); n > number(want, "manifests")+4*runs {
			t.Errorf("manifests are read %d times in %d runs", n, runs)
		}
		if n := all.read("snapshots"); n > number(want, "snapshots")+5*runs {
			t.Errorf("snapshots are read %d times in %d runs", n, runs)
		}
		if objectsBelow(t, s, "overwritten")["gc.marks"] {
			t.Error("the marks are still there")
		}
		t.Logf("%d runs, %d snapshots and %d manifests read; %+v", runs, all.read("snapshots"), all.read("manifests"), *one)
		readable(t, opened(t, s))
		sound(t, opened(t, s))
	})
}

// TestMarksOfOthers commits and deletes a branch between two runs. What is committed
// stays; what has become garbage is deleted by the next collection at the latest.
func TestMarksOfOthers(t *testing.T) {
	defer icechunk.LimitMarks(5, 1000)()
	bubble(t, func(t *testing.T) {
		s := layered(t)
		// All manifests are marked then, and half of the snapshots.
		for _, limit := range []time.Duration{6500, 6500, 4500} {
			if !collectFor(t, newSlow(s), limit*time.Millisecond).Stopped {
				t.Fatal("the time is too long")
			}
		}
		r := opened(t, s)
		try(t, r.ResetBranch(t.Context(), "side", "main"))
		commit(t, stage(t, r, "side", "b", 1000), "b again")
		commit(t, stage(t, r, "main", "n", 5000), "n")
		s.pass(time.Hour)
		n := newSlow(s)
		report := collectFor(t, n, 0)
		if report.Stopped || report.Snapshots.Objects != 25+2 || report.Manifests.Objects < 2 || report.Manifests.Objects > 25 {
			t.Errorf("%+v", *report)
		}
		r = opened(t, s)
		readable(t, r)
		is, err := r.Snapshot(t.Context(), "")
		try(t, err)
		wants(t, is, "n", numbers(5000, 600))
		report = collectFor(t, s, 0)
		if c := sound(t, r); len(c.Orphans) > 0 || report.Manifests.Objects == 0 {
			t.Errorf("%+v, %+v", c.Orphans, *report)
		}
	})
}

// stopped returns a repository with the marks of a collection that was interrupted when
// all was marked but deleted.
func stopped(t testing.TB) (s *dated, marks []byte) {
	t.Helper()
	s = layered(t)
	for range 30 {
		c := copied(t, s)
		if collectFor(t, newSlow(s), 5500*time.Millisecond).Stopped {
			continue
		}
		data, _, err := c.Get(t.Context(), store.MustKey(marksKey), store.Request{}, nil)
		try(t, err)
		return c, data
	}
	t.Fatal("it gets no further")
	return nil, nil
}

// TestMarksDamaged collects garbage with marks that are damaged. They are as none: all
// objects are read, and the same ones are deleted.
func TestMarksDamaged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, marks := stopped(t)
		whole := copied(t, s)
		collectFor(t, whole, 0)
		want := slices.Sorted(maps.Keys(names(t, whole)))
		sealed := func(change func(b []byte) []byte) []byte {
			b := change(slices.Clone(marks))
			sum := sha256.Sum256(b[48:])
			copy(b[16:], sum[:])
			return b
		}
		bad := map[string][]byte{
			"empty": {}, "a header": marks[:64], "no header": marks[:63], "a name": marks[:16], "longer": append(slices.Clone(marks), make([]byte, 12)...),
			"half an ID":     sealed(func(b []byte) []byte { return b[:len(b)-6] }),
			"another format": sealed(func(b []byte) []byte { b[15] = '2'; return b }),
			"many snapshots": sealed(func(b []byte) []byte { binary.LittleEndian.PutUint64(b[48:], 1<<63); return b }),
			"many manifests": sealed(func(b []byte) []byte { binary.LittleEndian.PutUint64(b[56:], 1<<64-1); return b }),
			"too large":      make([]byte, 64+12*1000+1),
		}
		for at := 0; at < len(marks); at += 1 + at/16 {
			b := slices.Clone(marks)
			b[at] ^= 1 << (at % 8)
			bad[fmt.Sprintf("bit of byte %d", at)] = b
		}
		for n := len(marks) - 12; n > 64; n = n / 2 {
			bad[fmt.Sprintf("first %d bytes", n)] = marks[:n]
		}
		defer icechunk.LimitMarks(256, 1000)()
		for label, data := range bad {
			c := copied(t, s)
			put(t, c, store.MustKey(marksKey), data)
			n := newSlow(c)
			collectFor(t, n, 0)
			if got := slices.Sorted(maps.Keys(names(t, c))); !slices.Equal(got, want) {
				t.Errorf("%s: %d objects are left, want %d", label, len(got), len(want))
			}
			if n.read("manifests") < 27 {
				t.Errorf("%s: the marks are taken", label)
			}
			if sound(t, opened(t, c)); objectsBelow(t, c, "overwritten")["gc.marks"] {
				t.Errorf("%s: the marks are still there", label)
			}
		}
	})
}

// TestMarksListing deletes what a listing of chunks has found when the time is over.
func TestMarksListing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := layered(t)
		before := number(names(t, s), "chunks")
		n := newSlow(s)
		n.entry = time.Minute
		report := collectFor(t, n, time.Duration(before-4)*time.Minute)
		if left := number(names(t, s), "chunks"); !report.Stopped || report.Chunks.Objects < 5 || int64(before-left) != report.Chunks.Objects {
			t.Errorf("%+v, %d of %d are left", *report, left, before)
		}
		sound(t, opened(t, s))
	})
}

// TestMarksLimit stores no marks beyond the limit, and none in a dry run.
func TestMarksLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			most   int
			dry    bool
			stored bool
		}{"all": {1000, false, true}, "few": {5, false, false}, "dry": {1000, true, false}} {
			restore := icechunk.LimitMarks(5, c.most)
			s := layered(t)
			report, err := opened(t, newSlow(s)).CollectGarbage(t.Context(), &icechunk.GarbageOptions{OlderThan: -1, For: 5 * time.Second, DryRun: c.dry})
			try(t, err)
			if !report.Stopped || objectsBelow(t, s, "overwritten")["gc.marks"] != c.stored {
				t.Errorf("%s: %+v", name, *report)
			}
			restore()
		}
	})
}

// TestMarksCrash stops the machine before each operation of collections whose time is
// short. Whatever a power cut leaves is whole, and the next collection deletes the rest.
func TestMarksCrash(t *testing.T) {
	racing.Skip(t) // a goroutine outside the bubble must not have the turn of a chunk
	defer icechunk.LimitMarks(2, 1000)()
	points, last := 0, false
	for n := int64(0); !last; n += fixture.Stride(5) {
		bubble(t, func(t *testing.T) {
			disk := vfs.NewDisk()
			littered(t, fixture.FileStore(disk))
			time.Sleep(time.Hour) // all of it is old
			stop, isStopped := vfs.StopAt(n)
			s := newSlow(fixture.FileStore(vfs.Hook(disk, stop)))
			r, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
			for runs := 0; err == nil; runs++ {
				var report *icechunk.GarbageReport
				if report, err = r.CollectGarbage(t.Context(), &icechunk.GarbageOptions{OlderThan: -1, For: 4500 * time.Millisecond}); !report.Stopped {
					break
				}
				if runs > 10 {
					t.Fatal("it gets no further")
				}
			}
			if !isStopped() {
				try(t, err)
				last = true
				return
			}
			points++
			time.Sleep(time.Second)
			for label, image := range disk.Images(uint64(n), fixture.RandomImages()/4) {
				s := fixture.FileStore(image)
				readable(t, opened(t, s))
				_, err := opened(t, s).CollectGarbage(t.Context(), noAge)
				try(t, err)
				readable(t, opened(t, s))
				if c := sound(t, opened(t, s)); t.Failed() || len(c.Orphans) > 0 {
					t.Fatalf("operation %d, %s: %+v", n, label, c.Orphans)
				}
			}
		})
	}
	t.Logf("%d points", points)
	if points < 5 {
		t.Errorf("only %d points", points)
	}
}

// TestGarbageRecords deletes records of collections before the cutoff, which tell nothing
// that the record of this collection does not.
func TestGarbageRecords(t *testing.T) {
	s := newDated()
	r := opened(t, s)
	records := func() (n int) {
		for name := range objectsBelow(t, s, "overwritten") {
			if strings.HasPrefix(name, "gc.") {
				n++
			}
		}
		return n
	}
	collect := func(deleted int64, dry bool, left int) {
		t.Helper()
		report, err := r.CollectGarbage(t.Context(), &icechunk.GarbageOptions{DryRun: dry, OlderThan: 24 * time.Hour})
		try(t, err)
		if report.Records.Objects != deleted || records() != left {
			t.Errorf("%+v, %d records are left, want %d", report.Records, records(), left)
		}
	}
	early := stage(t, r, "main", "a", 0)
	collect(0, false, 1)
	s.pass(23 * time.Hour)
	collect(0, false, 2)
	for _, name := range []string{"gc.", "gc.1x", "gc.notes"} {
		put(t, s, store.MustKey("overwritten/"+name), []byte("of another program"))
	}
	s.pass(2 * time.Hour)
	early.Age(25 * time.Hour)
	collect(1, false, 5)
	if _, err := early.Commit(t.Context(), "a"); !errors.Is(err, icechunk.ErrCollected) {
		t.Error(err)
	}
	s.pass(48 * time.Hour)
	collect(2, true, 5)
	collect(2, false, 4)
}
