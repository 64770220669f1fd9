// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
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
	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// upkept is a repository in a folder.
type upkept struct {
	*icechunk.Repository
	dir string
}

// aged is a store of files that takes the time of a file for the one at which it was
// stored, as the reference does. Varve also looks at the time of its last change.
type aged struct{ filetest.Store }

func (a aged) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range a.Store.List(ctx, dir, how) {
			if e.Modified = e.FileTime; !yield(e, err) {
				return
			}
		}
	}
}

func openUpkept(t *testing.T, dir string) *upkept {
	t.Helper()
	r, err := icechunk.Open(t.Context(), aged{filetest.Open(t, dir)}, store.Path{}, nil)
	check(t, err)
	return &upkept{r, dir}
}

// sizes returns the objects but former objects repo, with their sizes.
func (u *upkept) sizes(t *testing.T) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for _, folder := range []string{"snapshots", "transactions", "manifests", "chunks"} {
		check(t, filepath.WalkDir(filepath.Join(u.dir, folder), func(path string, e fs.DirEntry, err error) error {
			if os.IsNotExist(err) || err == nil && e.IsDir() {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil {
				found[folder+"/"+e.Name()] = info.Size()
			}
			return err
		}))
	}
	return found
}

// references returns the branches and tags with their commits.
func (u *upkept) references(t *testing.T) map[string][]string {
	t.Helper()
	branches, err := u.Branches(t.Context())
	check(t, err)
	tags, err := u.Tags(t.Context())
	check(t, err)
	found := map[string][]string{}
	add := func(at string) {
		for c, err := range u.Log(t.Context(), at) {
			check(t, err)
			found[at] = append(found[at], c.ID.String())
		}
	}
	for _, b := range branches {
		add("branch:" + b.Name)
	}
	for _, b := range tags {
		add("tag:" + b.Name)
	}
	return found
}

// grow makes a random history with branches and tags, some of which are moved or deleted.
func grow(t *testing.T, dir string, random *rand.Rand) {
	t.Helper()
	s, err := filestore.Open(dir, nil)
	check(t, err)
	r, err := icechunk.Create(t.Context(), s, store.Path{}, nil)
	check(t, err)
	defer func() { check(t, r.Close()) }()
	h := &repository{r, startReference(t, dir), map[string][]int32{}, random, nil}
	for i := range 24 {
		message := fmt.Sprintf("step %d", i)
		if random.IntN(2) == 0 {
			h.commitOfReference(t, message)
		} else {
			h.commitOfVarve(t, message)
		}
		name := fmt.Sprintf("r%d", i)
		switch random.IntN(6) {
		case 0:
			check(t, r.CreateTag(t.Context(), name, ""))
			if random.IntN(2) == 0 {
				check(t, r.DeleteTag(t.Context(), name))
			}
		case 1, 2, 3:
			// A branch with commits of its own, which is moved or deleted.
			check(t, r.CreateBranch(t.Context(), name, ""))
			for k := range 1 + random.IntN(3) {
				s, err := r.Session(t.Context(), name)
				check(t, err)
				a, err := zarr.At(s, "own").CreateArray(t.Context(), fixture.Edges(300, 300), &zarr.CreateOptions{Overwrite: true})
				check(t, err)
				check(t, zarr.Write(t.Context(), a, nil, h.some(600)))
				_, err = s.Commit(t.Context(), fmt.Sprintf("%s %d", name, k))
				check(t, err)
			}
			if fate := random.IntN(3); fate == 0 {
				check(t, r.DeleteBranch(t.Context(), name))
			} else if fate == 1 {
				check(t, r.ResetBranch(t.Context(), name, "main"))
			}
		case 4:
			// Chunks that no snapshot names.
			s, err := r.Session(t.Context(), "main")
			check(t, err)
			a, err := zarr.At(s, "lost").CreateArray(t.Context(), fixture.Edges(300, 300), nil)
			check(t, err)
			check(t, zarr.Write(t.Context(), a, nil, h.some(600)))
		}
	}
}

// copyDir copies a folder, and gives each object a random age that its name decides.
func copyDir(t *testing.T, from, to string, seed int) {
	t.Helper()
	check(t, os.CopyFS(to, os.DirFS(from)))
	check(t, filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		sum := seed
		for _, c := range e.Name() {
			sum = sum*31 + int(c)
		}
		when := time.Now()
		if sum&4 == 0 {
			when = when.Add(-48 * time.Hour)
		}
		return os.Chtimes(path, when, when)
	}))
}

// TestIcechunkUpkeep has the reference and Varve expire commits and collect garbage in
// copies of one repository. The same objects and commits are left, both read them, and
// both count the same bytes.
func TestIcechunkUpkeep(t *testing.T) {
	for seed := range fixture.Soaked(t, 3, 40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 11))
			base := t.TempDir()
			first := filepath.Join(base, "first")
			check(t, os.Mkdir(first, 0o777))
			grow(t, first, random)
			theirDir, ourDir := filepath.Join(base, "theirs"), filepath.Join(base, "ours")
			copyDir(t, first, theirDir, seed)
			copyDir(t, first, ourDir, seed)
			theirs, reference := openUpkept(t, theirDir), startReference(t, theirDir)
			own := openUpkept(t, ourDir)
			compare := func(step string) {
				t.Helper()
				if want, got := theirs.sizes(t), own.sizes(t); !maps.Equal(want, got) {
					t.Errorf("%s: the reference leaves %d objects, and Varve %d: %v", step, len(want), len(got), difference(want, got))
				}
				if want, got := theirs.references(t), own.references(t); !maps.EqualFunc(want, got, slices.Equal[[]string]) {
					t.Errorf("%s: the reference has the commits\n%v\nand Varve\n%v", step, want, got)
				}
			}
			collect := func(step string, olderThan time.Duration, before time.Time) {
				t.Helper()
				var counts []int64
				reference.ask(t, map[string]any{"op": "remove", "before": before.Format(time.RFC3339Nano)}, &counts)
				report, err := own.CollectGarbage(t.Context(), &icechunk.GarbageOptions{OlderThan: olderThan})
				check(t, err)
				got := []int64{report.Snapshots.Objects, report.Transactions.Objects, report.Manifests.Objects, report.Chunks.Objects, report.Snapshots.Bytes + report.Transactions.Bytes + report.Manifests.Bytes + report.Chunks.Bytes}
				if !slices.Equal(counts, got) {
					t.Errorf("%s: the reference counts %v, and Varve %v", step, counts, got)
				}
				compare(step)
			}
			// What an interrupted collection of Varve has stored disturbs nobody.
			marks := filepath.Join(theirDir, "overwritten", "gc.marks")
			check(t, os.WriteFile(marks, []byte("varve gc marks 1, and no more"), 0o666))
			collect("young and old", 24*time.Hour, time.Now().Add(-24*time.Hour))
			// Commits before one of main expire.
			var times []time.Time
			for c, err := range own.Log(t.Context(), "") {
				check(t, err)
				times = append(times, c.Time)
			}
			before := times[random.IntN(len(times))]
			opt := icechunk.ExpiryOptions{Branches: random.IntN(2) == 0, Tags: random.IntN(2) == 0}
			var want []string
			reference.ask(t, map[string]any{"op": "expire", "before": before.Format(time.RFC3339Nano), "branches": opt.Branches, "tags": opt.Tags}, &want)
			report, err := own.Expire(t.Context(), before, &opt)
			check(t, err)
			var got []string
			for _, id := range report.Snapshots {
				got = append(got, id.String())
			}
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Errorf("the reference has expired %v, and Varve %v", want, got)
			}
			compare("expired")
			collect("all", -1, time.Now().Add(time.Hour))
			findings, err := own.Check(t.Context(), nil)
			check(t, err)
			if len(findings.Findings) > 0 || len(findings.Orphans) > 0 {
				t.Errorf("%+v", *findings)
			}
			if text, err := os.ReadFile(marks); err != nil || string(text) != "varve gc marks 1, and no more" {
				t.Errorf("the reference has made %q of the marks, %v", text, err)
			}
			second := startReference(t, ourDir) // of what Varve has left
			var values, again map[string][]int32
			reference.ask(t, map[string]any{"op": "read", "branch": "main"}, &values)
			second.ask(t, map[string]any{"op": "read", "branch": "main"}, &again)
			if !maps.EqualFunc(values, again, slices.Equal[[]int32]) {
				t.Errorf("the reference reads %v, want %v", again, values)
			}
			var commits map[string][]string
			second.ask(t, map[string]any{"op": "references"}, &commits)
			if is := own.references(t); !maps.EqualFunc(commits, is, slices.Equal[[]string]) {
				t.Errorf("the reference has the commits\n%v\nand Varve\n%v", commits, is)
			}
			var bytes []int64
			second.ask(t, map[string]any{"op": "stats"}, &bytes)
			is, err := own.Statistics(t.Context(), nil)
			check(t, err)
			if count := []int64{is.Native.Bytes, is.Inline.Bytes, is.Virtual.Bytes}; !slices.Equal(bytes, count) {
				t.Errorf("the reference counts %v bytes, and Varve %v", bytes, count)
			}
			var id string
			second.ask(t, map[string]any{"op": "change", "branch": "main", "kind": "create", "name": "last", "values": []int{1}, "chunks": [][]int{{1}}, "message": "last"}, &id)
			if log := own.references(t)["branch:main"]; log[0] != id {
				t.Errorf("the reference has committed %s, and the log is %v", id, log)
			}
		})
	}
}

// difference names the objects that are in one map only.
func difference(a, b map[string]int64) string {
	var list []string
	for name := range a {
		if _, both := b[name]; !both {
			list = append(list, "-"+name)
		}
	}
	for name := range b {
		if _, both := a[name]; !both {
			list = append(list, "+"+name)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}
