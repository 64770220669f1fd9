// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// dated is a store in memory with a clock of its own.
type dated struct {
	store.Store
	mu    sync.Mutex
	clock time.Time
	times map[store.Key]time.Time
}

func newDated() *dated {
	return &dated{Store: memstore.New(), clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), times: map[store.Key]time.Time{}}
}

func (d *dated) Can(op store.Op) bool { return op != store.OpClone && store.Can(d.Store, op) }

func (d *dated) Write(ctx context.Context, c store.Change, how store.Durability) (store.Written, error) {
	is, err := store.Write(ctx, d.Store, c, how)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.times[c.Key] = d.clock
	}
	return is, err
}

func (d *dated) time(key store.Key) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.times[key]
}

func (d *dated) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := d.Store.Get(ctx, key, q, dst)
	info.Modified = d.time(key)
	return out, info, err
}

func (d *dated) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := store.Stat(ctx, d.Store, key)
	info.Modified = d.time(key)
	return info, err
}

func (d *dated) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range store.List(ctx, d.Store, dir, how) {
			if err == nil {
				e.Modified = d.time(dir.MustKey(e.Name))
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// pass lets time pass.
func (d *dated) pass(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clock = d.clock.Add(by)
}

// opened opens a repository in a store, in which it is made if there is none.
func opened(t testing.TB, s store.Store) *icechunk.Repository {
	t.Helper()
	r, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		r, err = icechunk.Create(t.Context(), s, store.Path{}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// large is an array whose chunks are objects.
var large = func() zarr.Spec {
	spec := months
	spec.Shape, spec.Chunks = []int64{600}, grid.Chunks(200)
	return spec
}()

// stage writes an array in a session of a branch.
func stage(t testing.TB, r *icechunk.Repository, branch, path string, from int) *icechunk.Session {
	t.Helper()
	s, err := r.Session(t.Context(), branch)
	if err == nil {
		var a *zarr.Array
		if a, err = zarr.At(s, path).CreateArray(t.Context(), large, &zarr.CreateOptions{Overwrite: true}); err == nil {
			err = zarr.Write(t.Context(), a, nil, numbers(from, 600))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// names returns the names of all objects but former objects repo, with their sizes.
func names(t testing.TB, s store.Store) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep|store.WithVersions) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Name, "overwritten/") {
			found[e.Name] = e.Size
		}
	}
	return found
}

// number counts the names in a folder.
func number(found map[string]int64, folder string) (n int) {
	for name := range found {
		if strings.HasPrefix(name, folder+"/") {
			n++
		}
	}
	return n
}

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sound fails a test if a check finds something wrong.
func sound(t testing.TB, r *icechunk.Repository) *icechunk.CheckReport {
	t.Helper()
	c, err := r.Check(t.Context(), nil)
	try(t, err)
	if len(c.Findings) > 0 {
		t.Errorf("%+v", c.Findings)
	}
	return c
}

// noAge are options for a collection of everything that nothing names.
var noAge = &icechunk.GarbageOptions{OlderThan: -1}

// littered returns a repository with two arrays, the second of them in a branch, a tag
// that alone leads to a snapshot, two snapshots to which nothing leads, and chunks that
// no snapshot names.
func littered(t testing.TB, s store.Store) *icechunk.Repository {
	t.Helper()
	r := opened(t, s)
	commit(t, stage(t, r, "main", "a", 0), "a")
	try(t, r.CreateBranch(t.Context(), "side", ""))
	commit(t, stage(t, r, "side", "b", 1000), "b")
	try(t, r.CreateBranch(t.Context(), "gone", ""))
	commit(t, stage(t, r, "gone", "c", 2000), "c")
	commit(t, stage(t, r, "gone", "c", 2500), "c again")
	try(t, r.DeleteBranch(t.Context(), "gone"))
	try(t, r.CreateBranch(t.Context(), "tagged", ""))
	commit(t, stage(t, r, "tagged", "d", 3000), "d")
	try(t, r.CreateTag(t.Context(), "v1", "tagged"))
	try(t, r.DeleteBranch(t.Context(), "tagged"))
	stage(t, r, "main", "e", 4000)
	return r
}

// readable reads what a littered repository has.
func readable(t testing.TB, r *icechunk.Repository) {
	t.Helper()
	for at, want := range map[string]map[string]int{"": {"a": 0}, "side": {"a": 0, "b": 1000}, "tag:v1": {"a": 0, "d": 3000}} {
		is, err := r.Snapshot(t.Context(), at)
		try(t, err)
		for path, from := range want {
			wants(t, is, path, numbers(from, 600))
		}
	}
}

// TestGarbage collects garbage twice. A dry run says the same and changes nothing.
func TestGarbage(t *testing.T) {
	_, s := created(t)
	r := littered(t, s)
	const foreign = "chunks/notes.txt"
	put(t, s, store.MustKey(foreign), []byte("not an object"))
	put(t, s, store.MustKey("chunks/"+strings.ToLower(firstOf(t, s, "chunks"))), []byte("not its name"))
	before := names(t, s)
	dry, err := r.CollectGarbage(t.Context(), &icechunk.GarbageOptions{OlderThan: -1, DryRun: true})
	try(t, err)
	if !maps.Equal(names(t, s), before) {
		t.Error("a dry run has changed something")
	}
	report, err := r.CollectGarbage(t.Context(), noAge)
	try(t, err)
	after := names(t, s)
	if report.Cutoff = dry.Cutoff; *report != *dry {
		t.Errorf("a dry run reports %+v, and the collection %+v", *dry, *report)
	}
	want := icechunk.GarbageReport{Cutoff: dry.Cutoff, Released: 2, Snapshots: icechunk.Deleted{Objects: 2}, Transactions: icechunk.Deleted{Objects: 2}, Manifests: icechunk.Deleted{Objects: 2}, Chunks: icechunk.Deleted{Objects: 9}, Foreign: 2}
	for _, d := range []*icechunk.Deleted{&report.Snapshots, &report.Transactions, &report.Manifests, &report.Chunks} {
		d.Bytes = 0
	}
	if *report != want {
		t.Errorf("%+v, want %+v", *report, want)
	}
	for folder, n := range map[string]int{"snapshots": 4, "transactions": 4, "manifests": 3, "chunks": 11} {
		if number(after, folder) != n {
			t.Errorf("%s has %d objects, want %d", folder, number(after, folder), n)
		}
	}
	for name, size := range after {
		if before[name] != size && name != "repo" {
			t.Errorf("%s was not there", name)
		}
	}
	r = opened(t, s)
	readable(t, r)
	if c := sound(t, r); c.Orphans["chunks"].Objects != 0 || c.Snapshots != 4 {
		t.Errorf("%+v", c)
	}
	again, err := r.CollectGarbage(t.Context(), noAge)
	try(t, err)
	want = icechunk.GarbageReport{Cutoff: again.Cutoff, Foreign: 2, Records: icechunk.Deleted{Objects: 1}}
	if again.Records.Bytes = 0; *again != want {
		t.Errorf("%+v", *again)
	}
}

func firstOf(t testing.TB, s store.Store, folder string) string {
	t.Helper()
	for name := range names(t, s) {
		if rest, ok := strings.CutPrefix(name, folder+"/"); ok && strings.ToLower(rest) != rest {
			return rest
		}
	}
	t.Fatal("none")
	return ""
}

// TestGarbageAge keeps what is young by the clock of the store, and a snapshot before
// which an old one is deleted.
func TestGarbageAge(t *testing.T) {
	s := newDated()
	r := opened(t, s)
	commit(t, stage(t, r, "main", "a", 0), "a")
	try(t, r.CreateBranch(t.Context(), "side", ""))
	commit(t, stage(t, r, "side", "b", 1000), "old")
	s.pass(5 * 24 * time.Hour)
	young := commit(t, stage(t, r, "side", "c", 2000), "young")
	stage(t, r, "main", "d", 3000)
	try(t, r.DeleteBranch(t.Context(), "side"))
	report, err := r.CollectGarbage(t.Context(), nil)
	try(t, err)
	if report.Chunks.Objects+report.Snapshots.Objects != 0 || report.Released != 0 || report.Young != 3 {
		t.Errorf("%+v", *report)
	}
	s.pass(3 * 24 * time.Hour)
	report, err = r.CollectGarbage(t.Context(), nil)
	try(t, err)
	if report.Released != 1 || report.Snapshots.Objects != 1 || report.Chunks.Objects != 0 {
		t.Errorf("%+v", *report) // the snapshot after it has the chunks
	}
	try(t, r.CreateBranch(t.Context(), "again", young.String()))
	readable := opened(t, s)
	is, err := readable.Snapshot(t.Context(), "again")
	try(t, err)
	for path, from := range map[string]int{"a": 0, "b": 1000, "c": 2000} {
		wants(t, is, path, numbers(from, 600))
	}
	var log []string
	for c, err := range readable.Log(t.Context(), "again") {
		try(t, err)
		log = append(log, c.Message)
	}
	if !slices.Equal(log, []string{"young", "a", "Repository initialized"}) {
		t.Error(log)
	}
	// The transaction log of the snapshot between stays: a rebase needs it.
	if n := number(names(t, s), "transactions"); n != 4 {
		t.Errorf("%d transaction logs, want 4", n)
	}
	s.pass(8 * 24 * time.Hour)
	if report, err = r.CollectGarbage(t.Context(), nil); err != nil || report.Chunks.Objects != 3 {
		t.Errorf("%+v, %v", *report, err)
	}
	sound(t, readable)
}

// TestGarbageTimeless deletes nothing in a store without times.
func TestGarbageTimeless(t *testing.T) {
	s := newDated()
	s.clock = time.Time{}
	r := littered(t, s)
	before := names(t, s)
	if _, err := r.CollectGarbage(t.Context(), noAge); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
	if !maps.Equal(names(t, s), before) {
		t.Error("something was deleted")
	}
}

// TestGarbageUndated keeps objects of which the store does not know the time.
func TestGarbageUndated(t *testing.T) {
	s := newDated()
	r := littered(t, s)
	for key := range s.times {
		if strings.HasPrefix(key.String(), "chunks/") {
			s.times[key] = time.Time{}
		}
	}
	s.pass(time.Hour)
	report, err := r.CollectGarbage(t.Context(), noAge)
	if err != nil || report.Timeless != 9 || report.Chunks.Objects != 0 || report.Manifests.Objects != 2 {
		t.Errorf("%+v, %v", *report, err)
	}
}

// TestGarbageUnlisted keeps the manifests that nodes name, also those that the list of
// their snapshot does not.
func TestGarbageUnlisted(t *testing.T) {
	r, s := created(t)
	id := commit(t, stage(t, r, "main", "a", 0), "a")
	key := store.MustKey("snapshots/" + id.String())
	data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	try(t, err)
	_, body, err := format.Open(data, format.KindSnapshot, 1<<20)
	try(t, err)
	is, err := format.ParseSnapshot(body)
	try(t, err)
	is.Files = nil
	data, err = format.Seal("liar", format.KindSnapshot, is.Encode())
	try(t, err)
	put(t, s, key, data)
	report, err := r.CollectGarbage(t.Context(), noAge)
	if err != nil || report.Manifests.Objects+report.Chunks.Objects != 0 {
		t.Errorf("%+v, %v", *report, err)
	}
}

// TestGarbageDamage deletes nothing if something live cannot be read.
func TestGarbageDamage(t *testing.T) {
	for _, folder := range []string{"snapshots", "manifests"} {
		_, s := created(t)
		r := littered(t, s)
		live := map[string]bool{}
		is, err := r.Statistics(t.Context(), nil)
		try(t, err)
		for _, b := range slices.Concat(is.Branches, is.Tags) {
			live[b.Snapshot.String()] = true
		}
		for name := range objectsBelow(t, s, folder) {
			if folder == "snapshots" && !live[name] {
				continue
			}
			key := store.MustKey(folder + "/" + name)
			data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was garbage
			}
			try(t, err)
			damaged := slices.Clone(data)
			damaged[len(damaged)/2] ^= 0xff
			put(t, s, key, damaged)
			before := names(t, s)
			report, err := opened(t, s).CollectGarbage(t.Context(), noAge)
			if after := names(t, s); err != nil && !maps.Equal(before, after) {
				t.Errorf("%s: something was deleted", key)
			} else if err == nil && folder == "snapshots" {
				t.Errorf("%s: %+v", key, *report)
			}
			if err != nil && !errors.Is(err, zarr.ErrCorrupt) {
				t.Errorf("%s: %v", key, err)
			}
			put(t, s, key, data)
		}
		readable(t, opened(t, s))
	}
}

// TestGarbageLink deletes nothing through a link.
func TestGarbageLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s, err := filestore.Open(dir, nil)
	try(t, err)
	defer store.Close(s)
	r := littered(t, s)
	try(t, os.Rename(dir+"/chunks", outside+"/chunks"))
	try(t, os.Mkdir(dir+"/other", 0o777))
	try(t, os.Rename(outside+"/chunks", dir+"/other/chunks"))
	if err := os.Symlink("other/chunks", dir+"/chunks"); err != nil {
		t.Skip(err)
	}
	before := names(t, s)
	if _, err := r.CollectGarbage(t.Context(), noAge); err == nil {
		t.Error("a link was followed")
	}
	if !maps.Equal(names(t, s), before) {
		t.Error("something was deleted")
	}
}

// TestGarbageTime stops when the time is over, and goes on the next time.
func TestGarbageTime(t *testing.T) {
	_, s := created(t)
	r := littered(t, s)
	before := names(t, s)
	report, err := r.CollectGarbage(t.Context(), &icechunk.GarbageOptions{OlderThan: -1, For: 1})
	if err != nil || !report.Stopped || !maps.Equal(names(t, s), before) {
		t.Errorf("%+v, %v", *report, err)
	}
	report, err = r.CollectGarbage(t.Context(), &icechunk.GarbageOptions{OlderThan: -1, For: time.Hour})
	if err != nil || report.Stopped || report.Chunks.Objects != 9 {
		t.Errorf("%+v, %v", *report, err)
	}
}

// TestGarbageLostAnswer collects garbage although the answer to the change of the object
// repo is lost.
func TestGarbageLostAnswer(t *testing.T) {
	_, s := created(t)
	littered(t, s)
	r := opened(t, &lossy{Store: s, lost: 1})
	_, err := r.CollectGarbage(t.Context(), noAge)
	if !errors.Is(err, store.ErrUnsupported) { // the store lists nothing
		t.Fatal(err)
	}
	l := &listed{lossy{Store: s, lost: 1}}
	report, err := opened(t, l).CollectGarbage(t.Context(), noAge)
	if err != nil || report.Released != 2 || report.Chunks.Objects != 9 {
		t.Errorf("%+v, %v", report, err)
	}
	readable(t, opened(t, s))
}

// listed is a lossy store that lists.
type listed struct{ lossy }

func (l *listed) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, l.Store, dir, how)
}

// meddling is a store in which something happens before a call.
type meddling struct {
	listed
	mu     sync.Mutex // is held while something happens
	before func(store.Change)
}

func (m *meddling) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	m.mu.Lock()
	m.before(c)
	m.mu.Unlock()
	return m.listed.Write(ctx, c, d)
}

// TestGarbageMeanwhile changes the repository while garbage is collected: after the
// marks, and after the change of the object repo.
func TestGarbageMeanwhile(t *testing.T) {
	for name, trigger := range map[string]func(store.Change) bool{
		"before the release": func(c store.Change) bool { return c.Op == store.OpPutIf },
		"after the release":  func(c store.Change) bool { return strings.HasPrefix(c.Key.String(), "snapshots/") },
	} {
		t.Run(name, func(t *testing.T) {
			_, s := created(t)
			other := littered(t, s)
			var gone icechunk.ID
			for o, err := range other.Log(t.Context(), "tag:v1") {
				try(t, err)
				gone = o.ID
				break
			}
			// A session of another program does not look for collections.
			staged := stage(t, other, "main", "f", 5000)
			m, armed := &meddling{listed: listed{lossy{Store: s}}}, true
			m.before = func(c store.Change) {
				if armed && trigger(c) {
					armed = false
					commit(t, staged, "f")
					try(t, other.CreateBranch(t.Context(), "kept", gone.String()))
				}
			}
			if name == "after the release" {
				// The commit is refused then, unless it is not checked.
				m.before = func(c store.Change) {
					if armed && trigger(c) {
						armed = false
						if _, err := staged.Commit(t.Context(), "f"); !errors.Is(err, icechunk.ErrCollected) {
							t.Error(err)
						}
					}
				}
			}
			r := opened(t, m)
			if _, err := r.CollectGarbage(t.Context(), noAge); err != nil {
				t.Fatal(err)
			}
			if armed {
				t.Error("nothing has happened")
			}
			r = opened(t, s)
			readable(t, r)
			sound(t, r)
			if name == "before the release" {
				is, err := r.Snapshot(t.Context(), "")
				try(t, err)
				wants(t, is, "f", numbers(5000, 600))
			}
		})
	}
}

// TestGarbageForeignCommit marks what a program commits that does not look for
// collections, after the collection has changed the object repo.
func TestGarbageForeignCommit(t *testing.T) {
	_, s := created(t)
	other := littered(t, s)
	staged := stage(t, other, "main", "f", 5000)
	staged.Unchecked()
	m, armed := &meddling{listed: listed{lossy{Store: s}}}, true
	m.before = func(c store.Change) {
		if armed && strings.HasPrefix(c.Key.String(), "snapshots/") {
			armed = false
			commit(t, staged, "f")
		}
	}
	if _, err := opened(t, m).CollectGarbage(t.Context(), noAge); err != nil || armed {
		t.Fatal(err, armed)
	}
	r := opened(t, s)
	sound(t, r)
	is, err := r.Snapshot(t.Context(), "")
	try(t, err)
	wants(t, is, "f", numbers(5000, 600))
}

// TestGarbageCommitters collects garbage of no age while sessions commit. Each commit
// that succeeds can be read.
func TestGarbageCommitters(t *testing.T) {
	s := memstore.New()
	r := opened(t, s)
	const committers, commits = 4, 6
	var committing, collecting sync.WaitGroup
	done := make(chan struct{})
	collecting.Go(func() {
		for {
			if _, err := opened(t, s).CollectGarbage(t.Context(), noAge); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond): // or nothing could be committed
			}
		}
	})
	var mu sync.Mutex
	collected, acknowledged := 0, map[string]bool{}
	for k := range committers {
		committing.Go(func() {
			for n, failures := 0, 0; n < commits && failures < 200; {
				path := fmt.Sprintf("a%d-%d", k, n)
				_, err := stage(t, r, "main", path, n).Commit(t.Context(), path)
				mu.Lock()
				switch {
				case err == nil:
					acknowledged[path] = true
					n, failures = n+1, 0
				case errors.Is(err, icechunk.ErrCollected):
					collected++
					failures++
				case !errors.Is(err, store.ErrConflict):
					t.Error(err)
					failures = 200
				}
				mu.Unlock()
			}
		})
	}
	committing.Wait()
	close(done)
	collecting.Wait()
	t.Logf("%d commits, %d refused because of a collection", len(acknowledged), collected)
	r = opened(t, s)
	sound(t, r)
	is, err := r.Snapshot(t.Context(), "")
	try(t, err)
	for path := range acknowledged {
		var n int
		_, _ = fmt.Sscanf(path[strings.Index(path, "-")+1:], "%d", &n)
		wants(t, is, path, numbers(n, 600))
	}
}

// TestUpkeepCrash stops the machine before each operation on the file system of a
// collection, an expiry and a commit. What is live can be read from whatever a power cut
// leaves, and the next collection deletes the rest.
func TestUpkeepCrash(t *testing.T) {
	fixture.Sequential(t)
	for name, work := range map[string]func(r *icechunk.Repository) error{
		"gc": func(r *icechunk.Repository) error {
			_, err := r.CollectGarbage(context.Background(), noAge)
			return err
		},
		"expire": func(r *icechunk.Repository) error {
			_, err := r.Expire(context.Background(), time.Now().Add(time.Hour), nil)
			return err
		},
		"commit": func(r *icechunk.Repository) error {
			s, err := r.Session(context.Background(), "main")
			if err == nil {
				_, err = zarr.At(s, "g").CreateGroup(context.Background(), nil, nil)
			}
			if err == nil {
				_, err = s.Commit(context.Background(), "g")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			points := 0
			for n := int64(0); ; n += fixture.Stride(5) {
				disk := vfs.NewDisk()
				littered(t, fixture.FileStore(disk))
				stop, stopped := vfs.StopAt(n)
				r, err := icechunk.Open(t.Context(), fixture.FileStore(vfs.Hook(disk, stop)), store.Path{}, nil)
				if err == nil {
					err = work(r)
				}
				if !stopped() {
					try(t, err)
					break
				}
				points++
				for label, image := range disk.Images(uint64(n), fixture.RandomImages()/4) {
					r := opened(t, fixture.FileStore(image))
					readable(t, r)
					if sound(t, r); t.Failed() {
						t.Fatalf("operation %d, %s", n, label)
					}
				}
				r = opened(t, fixture.FileStore(disk))
				if _, err := r.CollectGarbage(t.Context(), noAge); err != nil {
					t.Fatal(n, err)
				}
				readable(t, r)
				if c := sound(t, r); len(c.Orphans) > 0 {
					t.Fatalf("operation %d: %+v", n, c.Orphans)
				}
			}
			t.Logf("%d points", points)
			if points < 5 {
				t.Errorf("only %d points", points)
			}
		})
	}
}

// TestGarbageLost collects garbage though a snapshot is gone. If something leads to it,
// or if it is young, nothing is deleted, and the error says why it is needed.
func TestGarbageLost(t *testing.T) {
	for name, c := range map[string]struct {
		branch string // that leads to the snapshot
		age    time.Duration
		want   string // "" if the collection succeeds
	}{
		"live":  {"side", 30 * 24 * time.Hour, `the branch "side" leads to it`},
		"young": {"", time.Hour, "no branch and no tag leads to it"},
		"old":   {"", 8 * 24 * time.Hour, ""},
		"back":  {"", 8 * 24 * time.Hour, ""}, // as a young object
	} {
		s := newDated()
		s.clock = time.Now()
		r := littered(t, s)
		try(t, r.CreateBranch(t.Context(), "other", ""))
		id := commit(t, stage(t, r, "other", "g", 7), "to be lost")
		if c.branch == "" {
			try(t, r.DeleteBranch(t.Context(), "other"))
		} else {
			is, err := r.Snapshot(t.Context(), c.branch)
			try(t, err)
			id = is.ID()
		}
		key := store.MustKey("snapshots/" + id.String())
		object, _, err := s.Get(t.Context(), key, store.Request{}, nil)
		try(t, err)
		_, err = store.Write(t.Context(), s, store.Delete(key), store.Flush)
		try(t, err)
		s.pass(c.age)
		lost := 1
		if name == "back" {
			lost = 0
			put(t, s, key, object)
		}
		before := names(t, s)
		report, err := opened(t, s).CollectGarbage(t.Context(), nil)
		if c.want == "" {
			try(t, err)
			if readable(t, opened(t, s)); report.Released != 2+lost || report.Chunks.Objects != int64(3*lost)+9 {
				t.Errorf("%s: %+v", name, *report)
			}
			sound(t, opened(t, s))
			continue
		}
		if after := names(t, s); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), id.String()) || !maps.Equal(before, after) {
			t.Errorf("%s: %v, %d objects of %d", name, err, len(after), len(before))
		}
	}
}
