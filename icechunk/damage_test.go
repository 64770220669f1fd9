// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual"
)

// former returns the names of former objects repo, the latest first.
func former(t *testing.T, s store.Store) (list []string) {
	t.Helper()
	for name := range objectsBelow(t, s, "overwritten") {
		if strings.HasPrefix(name, "repo.") {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// TestCheckTraces names the arrays and snapshots that a damaged manifest affects, in one
// finding, and the last snapshot without damage.
func TestCheckTraces(t *testing.T) {
	r, s := created(t)
	whole := commit(t, stage(t, r, "main", "a", 0), "a")
	before := objectsBelow(t, s, "manifests")
	commit(t, stage(t, r, "main", "g/b", 1000), "b")
	try(t, r.CreateBranch(t.Context(), "side", ""))
	commit(t, stage(t, r, "main", "c", 2000), "c")
	damaged := 0
	for name := range objectsBelow(t, s, "manifests") {
		if _, was := before[name]; was {
			continue
		}
		is, err := opened(t, s).Check(t.Context(), nil)
		try(t, err)
		n := len(is.Findings)
		key := store.MustKey("manifests/" + name)
		data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
		try(t, err)
		put(t, s, key, data[:len(data)-9])
		is, err = opened(t, s).Check(t.Context(), nil)
		try(t, err)
		if damaged++; len(is.Findings) != n+1 {
			t.Errorf("%+v", is.Findings)
		}
		for _, f := range is.Findings {
			if f.Kind != icechunk.FoundDamaged || f.Manifest == (icechunk.ID{}) || f.Path != "/g/b" && f.Path != "/c" || !strings.Contains(f.Message, "that of main, too") {
				t.Errorf("%+v", f)
			}
			if want := map[string]string{"/g/b": "snapshots: 2", "/c": "snapshots: 1"}[f.Path]; !strings.Contains(f.Message, want) {
				t.Errorf("%+v lacks %s", f, want)
			}
		}
	}
	is, err := opened(t, s).Check(t.Context(), nil)
	try(t, err)
	if damaged != 2 || is.Findings[0].Whole != whole || is.Findings[1].Whole != whole {
		t.Errorf("%d damaged, %+v", damaged, is.Findings)
	}
	// Damage that main does not have is no reason to leave its tip.
	try(t, opened(t, s).ResetBranch(t.Context(), "main", whole.String()))
	is, err = opened(t, s).Check(t.Context(), nil)
	try(t, err)
	if len(is.Findings) != 1 || is.Findings[0].Whole != (icechunk.ID{}) || !strings.Contains(is.Findings[0].Message, "not that of main") {
		t.Errorf("%+v", is.Findings)
	}
}

// TestFormerNamed names the latest former object repo that can be read if the object is
// damaged or gone.
func TestFormerNamed(t *testing.T) {
	r, s := created(t)
	key, added := store.MustKey("repo"), []string(nil) // former objects, the first one first
	add := func(message string) icechunk.ID {
		t.Helper()
		id, was := commit(t, stage(t, r, "main", "a", 0), message), slices.Clone(added)
		for _, name := range former(t, s) {
			if !slices.Contains(was, name) {
				added = append(added, name)
			}
		}
		return id
	}
	add("a")
	second := add("again")
	last := add("and again")
	// Of each commit, the object before it and the one that it has published are there.
	names := slices.Sorted(slices.Values(added)) // the latest one first
	fails := func(kind error, name string, at icechunk.ID) {
		t.Helper()
		_, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), "overwritten/"+name) || !strings.Contains(err.Error(), "main at "+at.String()) {
			t.Errorf("%v, want %s with %v", err, name, at)
		}
	}
	put(t, s, key, []byte("ICE"))
	fails(zarr.ErrCorrupt, names[0], last)
	_, err := store.Write(t.Context(), s, store.Delete(key), store.Flush)
	try(t, err)
	fails(fs.ErrNotExist, names[0], last)
	put(t, s, store.MustKey("overwritten/"+names[0]), []byte("ICECHUNK"))
	fails(fs.ErrNotExist, names[1], second)
	data, _, err := s.Get(t.Context(), store.MustKey("overwritten/"+names[1]), store.Request{}, nil)
	try(t, err)
	put(t, s, key, data)
	if got := messages(t, opened(t, s), ""); got != "again, a, Repository initialized" {
		t.Error(got)
	}
}

// TestGarbageBackups deletes old former objects repo, but neither the latest ones nor
// those that the log needs.
func TestGarbageBackups(t *testing.T) {
	s := newDated()
	r := opened(t, s)
	for i := range 6 {
		commit(t, stage(t, r, "main", "a", i), fmt.Sprint(i))
	}
	names := former(t, s)
	// The log continues in the first one of all.
	data, _, err := s.Get(t.Context(), store.MustKey("repo"), store.Request{}, nil)
	try(t, err)
	_, body, err := format.Open(data, format.KindRepository, 1<<20)
	try(t, err)
	repo, err := format.ParseRepository(body)
	try(t, err)
	repo.Updates, repo.Before = repo.Updates[:1], names[len(names)-1]
	data, err = format.Seal("test", format.KindRepository, repo.Encode())
	try(t, err)
	put(t, s, store.MustKey("repo"), data)
	// Each name of a former object is at least two milliseconds after the one before,
	// which this log does not have any more.
	time.Sleep(20 * time.Millisecond)
	collect := func(opt icechunk.GarbageOptions, deleted int64) {
		t.Helper()
		report, err := r.CollectGarbage(t.Context(), &opt)
		try(t, err)
		if report.Backups.Objects != deleted || (report.Backups.Bytes > 0) != (deleted > 0) {
			t.Errorf("%+v: %+v, want %d", opt, report.Backups, deleted)
		}
	}
	collect(icechunk.GarbageOptions{Backups: 2}, 0) // none is old
	s.pass(30 * 24 * time.Hour)
	collect(icechunk.GarbageOptions{}, 0)
	before := former(t, s)
	collect(icechunk.GarbageOptions{Backups: 2, DryRun: true}, int64(len(before)-2-1))
	collect(icechunk.GarbageOptions{Backups: 4}, int64(len(before)+1-4-1)) // it adds one
	left := former(t, s)
	if !slices.Contains(left, names[len(names)-1]) || !slices.Contains(left, before[0]) || !slices.Contains(left, before[2]) {
		t.Errorf("%v is left of %v", left, before)
	}
	sound(t, r)
	if _, err := r.Session(t.Context(), "main"); err != nil {
		t.Error(err)
	}
}

// TestUnreached counts the commits that a moved branch leaves.
func TestUnreached(t *testing.T) {
	r := opened(t, memstore.New())
	first := commit(t, stage(t, r, "main", "a", 0), "first")
	commit(t, stage(t, r, "main", "a", 1), "second")
	last := commit(t, stage(t, r, "main", "a", 2), "third")
	unreached := func(want int) {
		t.Helper()
		if n, err := r.Unreached(t.Context(), last); n != want || err != nil {
			t.Errorf("%d, %v, want %d", n, err, want)
		}
	}
	unreached(0)
	try(t, r.ResetBranch(t.Context(), "main", first.String()))
	unreached(2)
	try(t, r.CreateTag(t.Context(), "v1", last.String()))
	unreached(0)
}

// TestCheckForbidden has one finding for all objects of a folder that the reader has not
// allowed, with the array.
func TestCheckForbidden(t *testing.T) {
	dir := t.TempDir()
	below, err := filestore.Open(dir+"/repo", &filestore.Options{Create: true})
	try(t, err)
	defer store.Close(below)
	_, err = icechunk.Create(t.Context(), below, store.Path{}, nil)
	try(t, err)
	r, err := icechunk.Open(t.Context(), below, store.Path{}, &icechunk.Options{Location: "file://" + dir + "/repo"})
	try(t, err)
	s := session(t, r)
	_, err = zarr.At(s, "a").CreateArray(t.Context(), large, nil)
	try(t, err)
	for i := range 3 {
		source := fmt.Sprint(dir, "/source", i)
		try(t, os.WriteFile(source, make([]byte, 800), 0o666))
		try(t, s.SetVirtual(store.MustKey(fmt.Sprint("a/c/", i)), icechunk.Virtual{Location: "file://" + source, Length: 800}))
	}
	commit(t, s, "virtual")
	report, err := r.Check(t.Context(), &icechunk.CheckOptions{Virtual: true})
	try(t, err)
	if len(report.Findings) != 1 || report.Findings[0].Path != "/a" || !strings.Contains(report.Findings[0].Message, "objects there: 3") {
		t.Errorf("%+v", report.Findings)
	}
	ctx := virtual.WithAllowed(t.Context(), "file://"+dir)
	r, err = icechunk.Open(ctx, below, store.Path{}, &icechunk.Options{Location: "file://" + dir + "/repo"})
	try(t, err)
	for i := range 2 {
		try(t, os.Remove(fmt.Sprint(dir, "/source", 2*i)))
	}
	report, err = r.Check(ctx, &icechunk.CheckOptions{Virtual: true})
	try(t, err)
	if len(report.Findings) != 2 {
		t.Fatalf("%+v", report.Findings)
	}
	for i, f := range report.Findings {
		if f.Path != "/a" || !slices.Equal(f.Chunk, []uint32{uint32(2 * i)}) || !strings.Contains(f.Message, "that of main, too") {
			t.Errorf("%+v", f)
		}
	}
}

// TestCheckVirtualTraces counts every array and snapshot with references to an object
// that has changed, also if another array has longer ones, and if earlier snapshots name
// another version of it.
func TestCheckVirtualTraces(t *testing.T) {
	dir := t.TempDir()
	source := dir + "/source"
	try(t, os.WriteFile(source, make([]byte, 2400), 0o666))
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	try(t, os.Chtimes(source, at, at))
	below, err := filestore.Open(dir+"/repo", &filestore.Options{Create: true})
	try(t, err)
	defer store.Close(below)
	_, err = icechunk.Create(t.Context(), below, store.Path{}, nil)
	try(t, err)
	ctx := virtual.WithAllowed(t.Context(), "file://"+dir)
	r, err := icechunk.Open(ctx, below, store.Path{}, &icechunk.Options{Location: "file://" + dir + "/repo"})
	try(t, err)
	put := func(s *icechunk.Session, key string, offset int64, at time.Time) {
		t.Helper()
		try(t, s.SetVirtual(store.MustKey(key), icechunk.Virtual{Location: "file://" + source, Offset: offset, Length: 800, Modified: at}))
	}
	look := func(ctx context.Context, want ...string) {
		t.Helper()
		r, err := icechunk.Open(ctx, below, store.Path{}, &icechunk.Options{Location: "file://" + dir + "/repo"})
		try(t, err)
		report, err := r.Check(ctx, &icechunk.CheckOptions{Virtual: true})
		try(t, err)
		if len(report.Findings) != len(want) {
			t.Fatalf("%+v, want %q", report.Findings, want)
		}
		for i, f := range report.Findings {
			if !strings.HasSuffix(f.Message, want[i]) {
				t.Errorf("%+v, want %q", f, want[i])
			}
		}
	}
	s := session(t, r)
	for _, name := range []string{"t2m", "tp"} {
		_, err = zarr.At(s, name).CreateArray(ctx, large, nil)
		try(t, err)
	}
	put(s, "t2m/c/0", 0, at)
	commit(t, s, "t2m")
	s = session(t, r)
	put(s, "tp/c/0", 1600, at)
	commit(t, s, "tp")
	look(ctx)
	look(t.Context(), "it affects /t2m, /tp (snapshots: 2, that of main, too)")
	later := at.Add(time.Minute)
	try(t, os.Chtimes(source, later, later))
	look(ctx, "it affects /t2m, /tp (snapshots: 2, that of main, too)")
	s = session(t, r)
	put(s, "tp/c/0", 1600, later)
	commit(t, s, "tp, scanned again")
	look(ctx, "it affects /t2m, /tp (snapshots: 3, that of main, too)")
	s = session(t, r)
	put(s, "t2m/c/0", 0, later)
	commit(t, s, "t2m, scanned again")
	look(ctx, "it affects /t2m, /tp (snapshots: 3, not that of main)")
	try(t, os.Remove(source))
	look(ctx, "it affects /t2m, /tp (snapshots: 4, that of main, too)")
}
