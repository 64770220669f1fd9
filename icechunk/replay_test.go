// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// appended returns a change that appends numbers to arrays.
func appended(first, n int, paths ...string) func(context.Context, *icechunk.Session) error {
	return func(ctx context.Context, s *icechunk.Session) error {
		for _, path := range paths {
			a, err := zarr.At(s, path).OpenArray(ctx, &zarr.Options{Write: true})
			if err == nil {
				err = zarr.Append(ctx, a, 0, numbers(first, n), nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// compacted is a change that compacts an array.
func compacted(path string) func(context.Context, *icechunk.Session) error {
	return func(ctx context.Context, s *icechunk.Session) error {
		a, err := zarr.At(s, path).OpenArray(ctx, &zarr.Options{Write: true})
		if err == nil {
			_, err = rechunk.Do(ctx, a, rechunk.Compaction{Axis: 0, UpTo: 400}, nil)
		}
		return err
	}
}

// growing returns a repository with arrays that grow from nothing.
func growing(t testing.TB, r *icechunk.Repository, paths ...string) {
	t.Helper()
	s := session(t, r)
	spec := months
	spec.Shape, spec.Chunks = []int64{200}, []grid.Cut{grid.Edges(200)}
	for _, path := range paths {
		a, err := zarr.At(s, path).CreateArray(t.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, numbers(0, 200))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	commit(t, s, "arrays")
}

// TestChange makes changes that each meet another one before their commit. The second
// call begins at the new tip, and stores no chunk again.
func TestChange(t *testing.T) {
	write := func(ctx context.Context, s *icechunk.Session) error {
		a, err := zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			return err
		}
		return zarr.Write(ctx, a, selection.Basic{selection.Stepped(0, 2, 1)}, []int32{7, 8})
	}
	for name, c := range map[string]struct {
		change, rival func(context.Context, *icechunk.Session) error
		calls, stored int // of mine
		want          []int32
	}{
		"two appends":                   {appended(1000, 200, "a"), appended(2000, 200, "a"), 2, 1, slices.Concat(numbers(0, 200), numbers(2000, 200), numbers(1000, 200))},
		"an append and a compaction":    {appended(1000, 200, "a"), compacted("a"), 2, 1, slices.Concat(numbers(0, 400), numbers(1000, 200))},
		"a compaction and an append":    {compacted("a"), appended(1000, 200, "a"), 2, 1, slices.Concat(numbers(0, 400), numbers(1000, 200))},
		"an append and a write":         {appended(1000, 200, "a"), write, 1, 1, slices.Concat([]int32{7, 8}, numbers(2, 398), numbers(1000, 200))},
		"a write and an append":         {write, appended(1000, 200, "a"), 2, 1, slices.Concat([]int32{7, 8}, numbers(2, 398), numbers(1000, 200))},
		"an append to another array":    {appended(1000, 200, "a"), appended(1000, 200, "b"), 1, 1, slices.Concat(numbers(0, 200), numbers(1000, 200))},
		"two appends to several arrays": {appended(1000, 200, "a", "b"), appended(2000, 200, "b", "a"), 2, 1, slices.Concat(numbers(0, 200), numbers(2000, 200), numbers(1000, 200))},
	} {
		r, below := created(t)
		growing(t, r, "a", "b")
		if c.want[300] == 300 {
			// The array has two chunks then.
			if _, err := r.Change(t.Context(), "main", "more", appended(200, 200, "a")); err != nil {
				t.Fatal(err)
			}
		}
		others := 0
		before := len(objects(t, below))
		calls := retried(t, r, "mine", func(ctx context.Context, s *icechunk.Session) error {
			if err := c.change(ctx, s); err != nil {
				return err
			}
			if others++; others == 1 {
				n := len(objects(t, below))
				if retried(t, r, "other", c.rival) != 1 {
					t.Error("the other one was repeated")
				}
				before += len(objects(t, below)) - n
			}
			return nil
		})
		if stored := len(objects(t, below)) - before; calls != c.calls || stored != c.stored {
			t.Errorf("%s: %d calls and %d chunks, want %d and %d", name, calls, stored, c.calls, c.stored)
		}
		is, err := r.Snapshot(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		wants(t, is, "a", c.want)
	}
}

// TestChangeFails ends a change whose conditions no longer hold after another one, and
// one on a branch that is gone.
func TestChangeFails(t *testing.T) {
	r, _ := created(t)
	growing(t, r, "a")
	calls := 0
	_, err := r.Change(t.Context(), "main", "mine", func(ctx context.Context, s *icechunk.Session) error {
		a, err := zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true})
		if err == nil {
			err = zarr.Append(ctx, a, 0, numbers(200, 1), &zarr.AppendOptions{Expect: []int64{200}})
		}
		if calls++; calls == 1 {
			retried(t, r, "other", appended(1, 1, "a"))
		}
		return err
	})
	if calls != 2 || !errors.Is(err, zarr.ErrConflict) || !errors.Is(err, store.ErrConflict) {
		t.Error(calls, err)
	}
	if err := r.CreateBranch(t.Context(), "dev", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Change(t.Context(), "dev", "mine", func(ctx context.Context, s *icechunk.Session) error {
		if err := appended(1, 1, "a")(ctx, s); err != nil {
			return err
		}
		return r.DeleteBranch(ctx, "dev")
	}); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
}

// TestReplays appends to one array from two programs while a third one compacts it. At
// the end the history is linear, and each element is there once, those of each program
// in order.
func TestReplays(t *testing.T) {
	r, _ := created(t)
	growing(t, r, "a", "b")
	const rounds = 12
	var all sync.WaitGroup
	change := func(message string, do func(context.Context, *icechunk.Session) error) {
		_, err := r.Change(t.Context(), "main", message, do)
		if err != nil && !errors.Is(err, icechunk.ErrNothing) {
			t.Error(message, err)
		}
	}
	for k := range 2 {
		all.Go(func() {
			for i := range rounds {
				change(fmt.Sprintf("append %d %d", k, i), appended(1000*(k+1)+10*i, 10, "a", "b"))
			}
		})
	}
	all.Go(func() {
		for range rounds {
			change("compact", compacted("a"))
		}
	})
	all.Wait()
	s, err := r.Snapshot(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]int32{}
	for _, path := range []string{"a", "b"} {
		a, err := zarr.At(s, path).OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := zarr.Read[int32](t.Context(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		values[path] = got.Data
	}
	if !slices.Equal(values["a"], values["b"]) {
		t.Error("the arrays have grown differently")
	}
	var each [2][]int32
	for _, v := range values["a"][200:] {
		each[v/1000-1] = append(each[v/1000-1], v%1000)
	}
	for k, got := range each {
		if !slices.Equal(got, numbers(0, 10*rounds)) {
			t.Errorf("program %d: %v", k, got)
		}
	}
	logOf(t, r, 2*rounds)
}

// logOf checks that a history is linear and has at least a number of commits beside the
// two of its beginning, each once but compactions.
func logOf(t *testing.T, r *icechunk.Repository, least int) {
	t.Helper()
	seen := map[string]int{}
	parent := icechunk.ID{}
	for c, err := range r.Log(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) > 0 && c.ID != parent {
			t.Fatalf("%v is not the parent", c.ID)
		}
		parent = c.Parent
		if seen[c.Message]++; seen[c.Message] > 1 && c.Message != "compact" {
			t.Errorf("%q is in the history %d times", c.Message, seen[c.Message])
		}
	}
	delete(seen, "compact")
	if len(seen) != least+2 {
		t.Errorf("%d commits, want %d", len(seen), least+2)
	}
}

// unsure is a store that loses the answers of some conditional writes, half of which it
// does not make either.
type unsure struct {
	store.Store
	n atomic.Int64
}

func (u *unsure) Can(op store.Op) bool { return store.Can(u.Store, op) }

func (u *unsure) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	n := int64(0)
	if c.Op == store.OpPutIf {
		n = u.n.Add(1)
	}
	if n%14 == 7 {
		return store.Written{}, errors.New("the request is lost")
	}
	is, err := store.Write(ctx, u.Store, c, d)
	if n%14 == 13 && err == nil {
		return store.Written{}, errors.New("the answer is lost")
	}
	return is, err
}

// TestManyCommitters commits from many goroutines, on local files and in memory with lost
// answers. Each commit that was acknowledged is in the history once.
func TestManyCommitters(t *testing.T) {
	const committers = 16
	commits := fixture.Soaked(t, 8, 40)
	dir := t.TempDir()
	_, memory := created(t)
	lossy := &unsure{Store: memory}
	files := func() store.Store {
		s, err := filestore.Open(dir, &filestore.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := icechunk.Create(t.Context(), files(), store.Path{}, nil); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() store.Store{"files": files, "memory": func() store.Store { return lossy }} {
		first, err := icechunk.Open(t.Context(), open(), store.Path{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := session(t, first)
		apply(t, s, "zarr.json=group")
		commit(t, s, "the root")
		var all sync.WaitGroup
		for k := range committers {
			r, err := icechunk.Open(t.Context(), open(), store.Path{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				for n := range commits {
					message := fmt.Sprintf("g%d-%d", k, n)
					// The array has two chunks then.
					if _, err := r.Change(t.Context(), "main", message, func(ctx context.Context, s *icechunk.Session) error {
						_, err := store.Write(ctx, s, store.Put(store.MustKey(message+"/zarr.json"), groupOf("")), store.Flush)
						return err
					}); err != nil {
						t.Error(name, err)
						return
					}
				}
			})
		}
		all.Wait()
		logOf(t, first, committers*commits)
		if n := len(tipOf(t, first)); n != committers*commits+1 {
			t.Errorf("%s: %d nodes, want %d", name, n, committers*commits+1)
		}
	}
}

// TestStagingCollected commits sessions of one staging, one after the other, between
// which garbage is collected, and repeats one during which it was.
func TestStagingCollected(t *testing.T) {
	staged := new(icechunk.Staging)
	defer staged.Close()
	ctx, place := icechunk.WithStaging(t.Context(), staged), "file://"+filepath.ToSlash(t.TempDir())
	s, root, err := store.OpenPlain(ctx, place, store.Create)
	try(t, err)
	r, err := icechunk.Create(ctx, s, root, nil)
	try(t, err)
	defer r.Close()
	write := func(name string) {
		t.Helper()
		a, err := zarr.CreateArray(ctx, "icechunk+"+place+"@main/"+name, large, nil)
		try(t, err)
		try(t, zarr.Write(ctx, a, nil, numbers(1, 600)))
	}
	collect := func() {
		t.Helper()
		_, err := r.CollectGarbage(ctx, noAge)
		try(t, err)
	}
	for _, name := range []string{"a", "b"} {
		write(name)
		_, err := staged.Commit(ctx, name)
		try(t, err)
		collect()
	}
	write("c")
	collect()
	if _, err := staged.Commit(ctx, "c"); !errors.Is(err, icechunk.ErrCollected) {
		t.Fatal(err)
	}
	staged.Reset()
	write("c")
	_, err = staged.Commit(ctx, "c")
	try(t, err)
	sound(t, r)
}
