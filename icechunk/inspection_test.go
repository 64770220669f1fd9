// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual"
)

// timeline returns a repository with four commits to main, a tag at the second one, and a
// branch from the third one.
func timeline(t *testing.T) (r *icechunk.Repository, s store.Store, ids []icechunk.ID, times []time.Time) {
	t.Helper()
	r, s = created(t)
	for i := range 4 {
		ids = append(ids, commit(t, stage(t, r, "main", "a", i*1000), fmt.Sprint("main ", i)))
		if i == 1 {
			try(t, r.CreateTag(t.Context(), "v1", ""))
		}
		if i == 2 {
			try(t, r.CreateBranch(t.Context(), "side", ""))
			ids = append(ids, commit(t, stage(t, r, "side", "b", 100), "side"))
		}
	}
	when := map[icechunk.ID]time.Time{}
	for _, at := range []string{"", "side"} {
		for c, err := range r.Log(t.Context(), at) {
			try(t, err)
			when[c.ID] = c.Time
		}
	}
	for _, id := range ids {
		times = append(times, when[id])
	}
	return r, s, ids, times
}

// messages returns those of the commits that lead to a reference, the last one first.
func messages(t *testing.T, r *icechunk.Repository, at string) string {
	t.Helper()
	var list []string
	for c, err := range r.Log(t.Context(), at) {
		try(t, err)
		list = append(list, c.Message)
	}
	return strings.Join(list, ", ")
}

// TestExpire compares what is left of the history.
func TestExpire(t *testing.T) {
	const first = "Repository initialized"
	for name, c := range map[string]struct {
		before     int // the first one that stays
		opt        *icechunk.ExpiryOptions
		gone       int
		main, side string
	}{
		"nothing":    {0, nil, 0, "main 3, main 2, main 1, main 0, " + first, "side, main 2, main 1, main 0, " + first},
		"the tag":    {2, nil, 1, "main 3, main 2, main 1, " + first, "side, main 2, main 1, main 0, " + first},
		"all before": {4, nil, 2, "main 3, " + first, "side, " + first},
		"branches":   {5, &icechunk.ExpiryOptions{Branches: true, Tags: true}, 4, "main 3, " + first, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, s, ids, times := timeline(t)
			before := time.Now().Add(time.Hour)
			if c.before < len(times) {
				before = times[c.before]
			}
			dryOptions := icechunk.ExpiryOptions{DryRun: true}
			if c.opt != nil {
				dryOptions.Branches, dryOptions.Tags = c.opt.Branches, c.opt.Tags
			}
			old := messages(t, r, "")
			dry, err := r.Expire(t.Context(), before, &dryOptions)
			try(t, err)
			if now := messages(t, r, ""); now != old {
				t.Errorf("a dry run has left %s", now)
			}
			report, err := r.Expire(t.Context(), before, c.opt)
			try(t, err)
			if len(report.Snapshots) != c.gone || fmt.Sprint(report) != fmt.Sprint(dry) {
				t.Errorf("%v, want %d snapshots; a dry run said %v", report, c.gone, dry)
			}
			if c.side == "" {
				if !slices.Equal(report.Branches, []string{"side"}) || !slices.Equal(report.Tags, []string{"v1"}) {
					t.Errorf("%v", report)
				}
				if err := r.CreateTag(t.Context(), "v1", ""); !errors.Is(err, icechunk.ErrExists) {
					t.Error(err)
				}
			}
			if main := messages(t, r, ""); name != "the tag" && main != c.main {
				t.Errorf("main is %s", main)
			}
			if c.side != "" && name != "the tag" && messages(t, r, "side") != c.side {
				t.Errorf("side is %s", messages(t, r, "side"))
			}
			sound(t, r)
			if _, err := r.CollectGarbage(t.Context(), noAge); err != nil {
				t.Fatal(err)
			}
			r = opened(t, s)
			sound(t, r)
			is, err := r.Snapshot(t.Context(), "")
			try(t, err)
			wants(t, is, "a", numbers(3000, 600))
			// A transaction log stays for each snapshot, also for those that were expired
			// below a snapshot that stays.
			if n := number(names(t, s), "transactions"); c.side != "" && n != len(ids)+1 {
				t.Errorf("%d transaction logs, want %d", n, len(ids)+1)
			}
		})
	}
}

// TestCheckMutations looks for each kind of damage.
func TestCheckMutations(t *testing.T) {
	_, s := created(t)
	littered(t, s)
	_, err := opened(t, s).CollectGarbage(t.Context(), noAge)
	try(t, err)
	random := rand.New(rand.NewPCG(3, 5))
	all := names(t, s)
	others := map[string][]byte{} // an object of each folder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key := store.MustKey(name)
		folder, _, _ := strings.Cut(name, "/")
		data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
		try(t, err)
		mutations, flips := map[string][]byte{"missing": nil, "cut": data[:len(data)/2], "empty": {}}, map[string]int{}
		for range 6 {
			at, flipped := random.IntN(len(data)), bytes.Clone(data)
			flipped[at] ^= 1 << random.IntN(8)
			kind := fmt.Sprint("flipped at ", at)
			mutations[kind], flips[kind] = flipped, at
		}
		if other := others[folder]; other != nil && folder != "chunks" {
			mutations["swapped"] = other
		}
		others[folder] = data
		for kind, is := range mutations {
			if kind == "missing" {
				_, err := store.Write(t.Context(), s, store.Delete(key), store.Flush)
				try(t, err)
			} else {
				put(t, s, key, is)
			}
			r, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
			if err != nil && name != "repo" {
				t.Fatal(err)
			}
			if err == nil {
				report, err := r.Check(t.Context(), nil)
				// The name of the program is any text, and chunks have no checksums.
				// Some bits of a frame mean nothing.
				at, isFlip := flips[kind]
				harmless := isFlip && (folder == "chunks" || at >= 12 && at < 36 || sameBody(data, is)) || name == "transactions/"+format.InitialSnapshot.String() && kind == "missing"
				if err != nil || (len(report.Findings) == 0) != harmless {
					t.Errorf("%s, %s: %+v, %v", name, kind, report.Findings, err)
				}
				// All objects are live, so that nothing is to be deleted.
				if _, err := r.CollectGarbage(t.Context(), noAge); err != nil && !errors.Is(err, zarr.ErrCorrupt) && !errors.Is(err, format.ErrVersion) {
					t.Errorf("%s, %s: %v", name, kind, err)
				}
				if n := len(names(t, s)); n != len(all) && (n != len(all)-1 || kind != "missing") {
					t.Fatalf("%s, %s: %d objects are left of %d", name, kind, n, len(all))
				}
				for _, f := range report.Findings {
					if f.Key != name && !strings.Contains(f.Message, "size") {
						t.Errorf("%s, %s: %+v", name, kind, f)
					}
				}
			}
			put(t, s, key, data)
		}
	}
	sound(t, opened(t, s))
}

// sameBody reports whether two objects have the same content.
func sameBody(x, y []byte) bool {
	kind := format.Kind(x[37])
	_, one, err := format.Open(x, kind, 1<<20)
	if err != nil {
		return false
	}
	_, other, err := format.Open(y, kind, 1<<20)
	return err == nil && bytes.Equal(one, other)
}

// TestCheckChunk names the array and the chunk that is gone, and bounds the findings.
func TestCheckChunk(t *testing.T) {
	r, s := created(t)
	commit(t, stage(t, r, "main", "g/a", 0), "a")
	for name := range objectsBelow(t, s, "chunks") {
		_, err := store.Write(t.Context(), s, store.Delete(store.MustKey("chunks/"+name)), store.Flush)
		try(t, err)
	}
	report, err := r.Check(t.Context(), &icechunk.CheckOptions{Findings: 2})
	try(t, err)
	if len(report.Findings) != 2 || report.Omitted != 1 {
		t.Fatalf("%+v", report)
	}
	for i, f := range report.Findings {
		if f.Kind != icechunk.FoundMissing || f.Path != "/g/a" || !slices.Equal(f.Chunk, []uint32{uint32(i)}) {
			t.Errorf("%+v", f)
		}
	}
}

// TestOverwritten finds a commit that another writer has overwritten, but none whose
// branch was moved or deleted, and restores it as a new branch.
func TestOverwritten(t *testing.T) {
	r, s := created(t)
	commit(t, stage(t, r, "main", "a", 0), "a")
	key := store.MustKey("repo")
	before, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	try(t, err)
	lost := commit(t, stage(t, r, "main", "b", 1000), "lost")
	last := commit(t, stage(t, r, "main", "c", 2000), "lost, too")
	try(t, r.CreateTag(t.Context(), "x", "")) // whoever writes next makes a copy
	put(t, s, key, before)                    // a writer without a lock
	commit(t, stage(t, r, "main", "d", 3000), "d")
	try(t, r.CreateBranch(t.Context(), "moved", ""))
	commit(t, stage(t, r, "moved", "e", 4000), "e")
	try(t, r.ResetBranch(t.Context(), "moved", "main"))
	commit(t, stage(t, r, "moved", "e", 4000), "e again")
	try(t, r.DeleteBranch(t.Context(), "moved"))
	// The log still has the commits that the history has not.
	_, err = r.Expire(t.Context(), time.Now().Add(time.Hour), nil)
	try(t, err)
	report, err := r.Check(t.Context(), nil)
	try(t, err)
	var found []icechunk.ID
	for _, o := range report.Overwritten {
		found = append(found, o.ID)
	}
	if !slices.Equal(found, []icechunk.ID{last, lost}) || report.Overwritten[0].Message != "lost, too" || report.Overwritten[0].Branch != "main" {
		t.Fatalf("%+v", report.Overwritten)
	}
	if len(report.Findings) != 2 || report.Findings[0].Kind != icechunk.FoundOverwritten {
		t.Errorf("%+v", report.Findings)
	}
	if err := r.Restore(t.Context(), "main", last.String()); !errors.Is(err, icechunk.ErrExists) {
		t.Error(err)
	}
	if err := r.Restore(t.Context(), "back", icechunk.ID{1}.String()); !errors.Is(err, icechunk.ErrNoReference) {
		t.Error(err)
	}
	try(t, r.Restore(t.Context(), "back", last.String()))
	if log := messages(t, r, "back"); log != "lost, too, lost, a, Repository initialized" {
		t.Error(log)
	}
	is, err := r.Snapshot(t.Context(), "back")
	try(t, err)
	wants(t, is, "b", numbers(1000, 600))
	wants(t, is, "c", numbers(2000, 600))
	sound(t, r)
	if err := r.Restore(t.Context(), "twice", last.String()); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
}

// TestOverwrittenAtOnce overwrites a commit before any other writer has seen it.
func TestOverwrittenAtOnce(t *testing.T) {
	r, s := created(t)
	key := store.MustKey("repo")
	before, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	try(t, err)
	lost := commit(t, stage(t, r, "main", "b", 1000), "lost")
	put(t, s, key, before) // a writer without a lock
	commit(t, stage(t, r, "main", "d", 3000), "d")
	report, err := r.Check(t.Context(), nil)
	try(t, err)
	if len(report.Overwritten) != 1 || report.Overwritten[0].ID != lost {
		t.Fatalf("%+v", report.Overwritten)
	}
	try(t, r.Restore(t.Context(), "back", lost.String()))
	is, err := r.Snapshot(t.Context(), "back")
	try(t, err)
	wants(t, is, "b", numbers(1000, 600))
}

// TestRestoreGone restores nothing of which objects are gone.
func TestRestoreGone(t *testing.T) {
	r, s := created(t)
	key := store.MustKey("repo")
	before, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	try(t, err)
	lost := commit(t, stage(t, r, "main", "b", 1000), "lost")
	try(t, r.CreateTag(t.Context(), "x", ""))
	put(t, s, key, before)
	_, err = r.CollectGarbage(t.Context(), noAge)
	try(t, err)
	if err := r.Restore(t.Context(), "back", lost.String()); !errors.Is(err, zarr.ErrCorrupt) {
		t.Error(err)
	}
	if branches, err := r.Branches(t.Context()); err != nil || len(branches) != 1 {
		t.Error(branches, err)
	}
}

// TestCheckFixtures finds nothing wrong in the repositories of the reference, of both
// versions, but the objects beside them that are not there.
func TestCheckFixtures(t *testing.T) {
	for name := range expected(t) {
		r := repository(t, name)
		report, err := r.Check(t.Context(), nil)
		try(t, err)
		if len(report.Findings) > 0 || report.Snapshots == 0 {
			t.Errorf("%s: %+v", name, *report)
		}
		is, err := r.Statistics(t.Context(), nil)
		try(t, err)
		if is.References != report.References || is.Snapshots != int(report.Snapshots) || len(is.Branches) == 0 {
			t.Errorf("%s: %+v, %+v", name, *is, *report)
		}
	}
}

// TestCheckVirtual asks for the objects of virtual chunks.
func TestCheckVirtual(t *testing.T) {
	dir := t.TempDir()
	below, err := filestore.Open(dir+"/repo", &filestore.Options{Create: true})
	try(t, err)
	defer store.Close(below)
	source := filepath.Join(dir, "source")
	try(t, os.WriteFile(source, make([]byte, 1000), 0o666))
	_, err = icechunk.Create(t.Context(), below, store.Path{}, nil)
	try(t, err)
	ctx := virtual.WithAllowed(t.Context(), "file://"+dir)
	r, err := icechunk.Open(ctx, below, store.Path{}, &icechunk.Options{Location: "file://" + dir + "/repo"})
	try(t, err)
	s := session(t, r)
	_, err = zarr.At(s, "a").CreateArray(t.Context(), large, nil)
	try(t, err)
	try(t, s.SetVirtual(store.MustKey("a/c/0"), icechunk.Virtual{Location: "file://" + source, Offset: 200, Length: 800}))
	try(t, s.SetVirtual(store.MustKey("a/c/1"), icechunk.Virtual{Location: "file://" + source, Offset: 0, Length: 800}))
	commit(t, s, "virtual")
	look := func() []icechunk.Finding {
		t.Helper()
		report, err := r.Check(ctx, &icechunk.CheckOptions{Virtual: true})
		try(t, err)
		if report.Virtual != 2 {
			t.Errorf("%+v", report)
		}
		return report.Findings
	}
	if found := look(); len(found) != 0 {
		t.Errorf("%+v", found)
	}
	is, err := r.Statistics(ctx, nil)
	if want := (icechunk.ChunkCount{Chunks: 2, Bytes: 1600}); err != nil || is.Virtual != want {
		t.Errorf("%+v, %v", is, err)
	}
	try(t, os.Truncate(source, 999))
	if found := look(); len(found) != 1 || found[0].Kind != icechunk.FoundSource {
		t.Errorf("%+v", found)
	}
	try(t, os.Remove(source))
	if found := look(); len(found) != 1 || found[0].Kind != icechunk.FoundSource {
		t.Errorf("%+v", found)
	}
}

// TestCheckLies finds what objects say of others that is not so.
func TestCheckLies(t *testing.T) {
	for name, lie := range map[string]struct {
		change func(*format.Snapshot)
		kind   string
	}{
		"size":     {func(s *format.Snapshot) { s.Files[0].Size++ }, icechunk.FoundSize},
		"count":    {func(s *format.Snapshot) { s.Files[0].References++ }, icechunk.FoundSize},
		"extents":  {func(s *format.Snapshot) { s.Nodes[1].Manifests[0].Extents[0].To-- }, icechunk.FoundHidden},
		"shape":    {func(s *format.Snapshot) { s.Nodes[1].Shape[0].Length++ }, icechunk.FoundDocument},
		"chunks":   {func(s *format.Snapshot) { s.Nodes[1].Shape[0].Chunks++ }, icechunk.FoundDocument},
		"document": {func(s *format.Snapshot) { s.Nodes[1].Document = []byte("{}") }, icechunk.FoundDocument},
		"kind":     {func(s *format.Snapshot) { s.Nodes[1].Document = s.Nodes[0].Document }, icechunk.FoundDocument},
		"list":     {func(s *format.Snapshot) { s.Files = nil }, icechunk.FoundMissing},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := created(t)
			id := commit(t, stage(t, r, "main", "a", 0), "a")
			key := store.MustKey("snapshots/" + id.String())
			data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
			try(t, err)
			_, body, err := format.Open(data, format.KindSnapshot, 1<<20)
			try(t, err)
			is, err := format.ParseSnapshot(body)
			try(t, err)
			if len(is.Nodes) != 2 {
				t.Fatalf("%+v", is.Nodes)
			}
			lie.change(is)
			data, err = format.Seal("liar", format.KindSnapshot, is.Encode())
			try(t, err)
			put(t, s, key, data)
			report, err := opened(t, s).Check(context.Background(), nil)
			try(t, err)
			if len(report.Findings) != 1 || report.Findings[0].Kind != lie.kind {
				t.Errorf("%+v", report.Findings)
			}
		})
	}
}
