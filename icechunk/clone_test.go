// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// cloneOf clones a repository into a store, and opens the clone.
func cloneOf(t *testing.T, r *icechunk.Repository, s store.Store, opt *icechunk.CloneOptions) (*icechunk.Repository, icechunk.Cloned) {
	t.Helper()
	done, err := r.Clone(t.Context(), s, store.Path{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	c, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, done
}

// TestClone clones repositories of the reference, and compares all that the clones have
// with what the reference finds in the repositories.
func TestClone(t *testing.T) {
	n := 0
	for name, refs := range expected(t) {
		r := repository(t, name)
		dir, err := filestore.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []store.Store{memstore.New(), dir} {
			done, err := r.Clone(t.Context(), s, store.Path{}, nil)
			if strings.Contains(name, "-v1") {
				if !errors.Is(err, zarr.ErrUnsupported) {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			c, openErr := icechunk.Open(t.Context(), s, store.Path{}, nil)
			if err = errors.Join(err, openErr); err != nil {
				t.Fatal(name, err)
			}
			if done.Objects == 0 || done.Kept != 0 {
				t.Errorf("%s: %+v", name, done)
			}
			for at, want := range refs {
				compareLog(t, c, at, want)
				compareKeys(t, c, at, want)
			}
			n++
		}
		if err := store.Close(dir); err != nil {
			t.Error(err)
		}
	}
	if n < 6 {
		t.Errorf("only %d clones", n)
	}
}

// TestCloneParts clones with few IDs of chunks in memory: what is copied is the same.
func TestCloneParts(t *testing.T) {
	r, _, ids := history(t)
	_, whole := cloneOf(t, r, memstore.New(), nil)
	defer icechunk.LimitIDs(3)()
	c, done := cloneOf(t, r, memstore.New(), nil)
	if done != whole {
		t.Errorf("%+v, want %+v", done, whole)
	}
	for i, id := range ids {
		s, err := c.Snapshot(t.Context(), id.String())
		if err != nil {
			t.Fatal(err)
		}
		wants(t, s, "a", numbers(0, 59+200*i))
	}
}

// history makes a repository of months: each commit appends one. There are the branch dev
// at the second month, and the tag v1 at the first.
func history(t *testing.T) (*icechunk.Repository, store.Store, []icechunk.ID) {
	t.Helper()
	r, s := created(t)
	c := session(t, r)
	a, err := zarr.At(c, "a").CreateArray(t.Context(), months, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, numbers(0, 59))
	}
	if err != nil {
		t.Fatal(err)
	}
	ids := []icechunk.ID{commit(t, c, "month 0")}
	for i := 1; i < 4; i++ {
		c = session(t, r)
		if a, err = zarr.At(c, "a").OpenArray(t.Context(), &zarr.Options{Write: true}); err == nil {
			// Long enough for an object of its own.
			err = zarr.Append(t.Context(), a, 0, numbers(59+(i-1)*200, 200), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, commit(t, c, fmt.Sprintf("month %d", i)))
	}
	if err := errors.Join(r.CreateBranch(t.Context(), "dev", ids[1].String()), r.CreateTag(t.Context(), "v1", ids[0].String())); err != nil {
		t.Fatal(err)
	}
	return r, s, ids
}

// messagesOf returns the messages of the commits that lead to a reference.
func messagesOf(t *testing.T, r *icechunk.Repository, at string) (list []string) {
	t.Helper()
	for c, err := range r.Log(t.Context(), at) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.TrimPrefix(c.Message, "month "))
	}
	return list
}

// TestCloneRange clones parts of a history. All that is left reads as before.
func TestCloneRange(t *testing.T) {
	r, _, ids := history(t)
	whole := []string{"3", "2", "1", "0", "Repository initialized"}
	var times []time.Time
	for c, err := range r.Log(t.Context(), "main") {
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, c.Time)
	}
	first := "Repository initialized"
	for _, tt := range []struct {
		opt  icechunk.CloneOptions
		main []string
		refs string
	}{
		{icechunk.CloneOptions{Depth: 10}, whole, "dev main v1"},
		{icechunk.CloneOptions{Depth: 2}, []string{"3", "2", "1", "0", first}, "dev main v1"}, // dev and v1 keep what main drops
		{icechunk.CloneOptions{Depth: 2, At: "main"}, []string{"3", "2", first}, "main"},
		{icechunk.CloneOptions{At: "branch:dev"}, []string{"1", "0", first}, "dev main"},
		{icechunk.CloneOptions{At: "dev", Depth: 1}, []string{"1", first}, "dev main"},
		{icechunk.CloneOptions{At: "tag:v1"}, []string{"0", first}, "main v1"},
		{icechunk.CloneOptions{At: ids[2].String(), Depth: 1}, []string{"2", first}, "main"},
		{icechunk.CloneOptions{At: "main", Since: times[1]}, []string{"3", "2", first}, "main"},
		{icechunk.CloneOptions{At: "main", Since: times[0].Add(time.Hour)}, []string{"3", first}, "main"},
	} {
		c, done := cloneOf(t, r, memstore.New(), &tt.opt)
		if got := messagesOf(t, c, "main"); !slices.Equal(got, tt.main) {
			t.Errorf("%+v: main is %q, want %q", tt.opt, got, tt.main)
		}
		branches, err := c.Branches(t.Context())
		tags, tagsErr := c.Tags(t.Context())
		if err := errors.Join(err, tagsErr); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, ref := range slices.Concat(branches, tags) {
			names = append(names, ref.Name)
		}
		if got := strings.Join(names, " "); got != tt.refs {
			t.Errorf("%+v: there are %s, want %s", tt.opt, got, tt.refs)
		}
		for i, id := range ids {
			s, err := c.Snapshot(t.Context(), id.String())
			if errors.Is(err, icechunk.ErrNoReference) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			wants(t, s, "a", numbers(0, 59+200*i))
		}
		// A clone can be written to, and is no less than it was.
		w := session(t, c)
		if _, err := zarr.At(w, "g").CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		commit(t, w, "month 4")
		if got := messagesOf(t, c, "main"); !slices.Equal(got[1:], tt.main) || done.Snapshots == 0 {
			t.Errorf("%+v: after a commit, main is %q", tt.opt, got)
		}
	}
}

// interrupted is a store whose program crashes at an operation with a number, before it
// or after it.
type interrupted struct {
	store.Store
	mu    sync.Mutex
	left  int
	after bool
}

var errCrash = errors.New("it has crashed")

// step returns whether the operation is made, and its error.
func (s *interrupted) step() (do bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left--
	switch {
	case s.left < 0, s.left == 0 && !s.after:
		return false, errCrash
	case s.left == 0:
		return true, errCrash
	}
	return true, nil
}

func (s *interrupted) Can(op store.Op) bool { return store.Can(s.Store, op) }

func (s *interrupted) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	do, err := s.step()
	if !do {
		return store.Written{}, err
	}
	made, failed := store.Write(ctx, s.Store, c, d)
	return made, errors.Join(failed, err)
}

func (s *interrupted) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if do, err := s.step(); !do || err != nil {
		return nil, store.Info{}, err
	}
	return s.Store.Get(ctx, key, q, dst)
}

func (s *interrupted) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	if do, err := s.step(); !do || err != nil {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, err) }
	}
	return store.List(ctx, s.Store, dir, how)
}

// TestCloneInterrupted crashes at each operation on the destination. There is no
// repository then, or a whole one, and the repeated clone completes.
func TestCloneInterrupted(t *testing.T) {
	r, _, ids := history(t)
	points := 0
	for number := 1; ; number++ {
		ended := false
		for _, after := range []bool{false, true} {
			below := memstore.New()
			s := &interrupted{Store: below, left: number, after: after}
			_, err := r.Clone(t.Context(), s, store.Path{}, nil)
			if ended = err == nil && s.left > 0; !ended && err != nil && !errors.Is(err, errCrash) {
				t.Fatal(number, err)
			}
			points++
			_, openErr := icechunk.Open(t.Context(), below, store.Path{}, nil)
			var done icechunk.Cloned
			if openErr != nil {
				if err == nil {
					t.Fatal("a clone that was made is not there:", openErr)
				}
				if done, err = r.Clone(t.Context(), below, store.Path{}, nil); err != nil {
					t.Fatal(number, err)
				}
			}
			if number > 5 && openErr != nil && done.Kept == 0 {
				t.Errorf("crash %d: the repeated clone has kept nothing: %+v", number, done)
			}
			c, err := icechunk.Open(t.Context(), below, store.Path{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, id := range ids {
				is, err := c.Snapshot(t.Context(), id.String())
				if err != nil {
					t.Fatal(err)
				}
				wants(t, is, "a", numbers(0, 59+200*i))
			}
		}
		if ended {
			break
		}
	}
	if points < 30 {
		t.Errorf("only %d points were tried", points)
	}
}

// forgetful is a store that can list, and loses the answer of a conditional write.
type forgetful struct{ *lossy }

func (f forgetful) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, f.Store, dir, how)
}

// TestClonePublication publishes a clone whose answer is lost, and does not replace the
// repository that another program has published meanwhile.
func TestClonePublication(t *testing.T) {
	r, _, _ := history(t)
	s := forgetful{&lossy{Store: memstore.New(), lost: 1}}
	if _, err := r.Clone(t.Context(), s, store.Path{}, nil); err != nil || s.lost != 0 {
		t.Error(s.lost, err)
	}
	rival, _ := created(t)
	below, once := memstore.New(), sync.Once{}
	opt := &icechunk.CloneOptions{Progress: func(icechunk.Cloned) {
		once.Do(func() {
			if _, err := rival.Clone(t.Context(), below, store.Path{}, nil); err != nil {
				t.Error(err)
			}
		})
	}}
	if _, err := r.Clone(t.Context(), below, store.Path{}, opt); !errors.Is(err, icechunk.ErrExists) {
		t.Error(err)
	}
	c, err := icechunk.Open(t.Context(), below, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := messagesOf(t, c, ""); len(got) != 1 {
		t.Errorf("the repository of another program has become %q", got)
	}
}

// TestCloneChecks refuses destinations that are taken, and sources that lack something.
// A part of an object that an interrupted copy has left is copied again.
func TestCloneChecks(t *testing.T) {
	r, source, _ := history(t)
	taken := memstore.New()
	cloneOf(t, r, taken, nil)
	if _, err := r.Clone(t.Context(), taken, store.Path{}, nil); !errors.Is(err, icechunk.ErrExists) {
		t.Error(err)
	}
	other := memstore.New()
	put(t, other, store.MustKey("README"), []byte("text"))
	if _, err := r.Clone(t.Context(), other, store.Path{}, nil); !errors.Is(err, icechunk.ErrExists) || !strings.Contains(err.Error(), "README") {
		t.Error(err)
	}
	for _, dir := range []string{"chunks", "manifests", "snapshots", "transactions"} {
		var name string
		for e, err := range store.List(t.Context(), taken, store.Path{}, store.Deep) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(e.Name, dir+"/") {
				name = e.Name
			}
		}
		key := store.MustKey(name)
		whole, _, err := taken.Get(t.Context(), key, store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		again := memstore.New()
		put(t, again, key, whole[:len(whole)-1])
		c, done := cloneOf(t, r, again, nil)
		if s, err := c.Snapshot(t.Context(), ""); err != nil || done.Kept != 0 {
			t.Errorf("%s: %+v, %v", name, done, err)
		} else {
			wants(t, s, "a", numbers(0, 659))
		}
		put(t, source, key, whole[:len(whole)-1])
		_, err = r.Clone(t.Context(), memstore.New(), store.Path{}, nil)
		if dir != "transactions" && err == nil {
			t.Errorf("%s is cut in the source, and the clone succeeds", name)
		}
		if _, err := store.Write(t.Context(), source, store.Delete(key), store.Sync); err != nil {
			t.Fatal(err)
		}
		if _, err = r.Clone(t.Context(), memstore.New(), store.Path{}, nil); dir != "transactions" && err == nil {
			t.Errorf("%s is gone in the source, and the clone succeeds", name)
		}
		put(t, source, key, whole)
	}
	dir, err := filestore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(dir) }()
	at, err := icechunk.Create(t.Context(), dir, mustPath(t, "repo"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"repo", "repo/copy", ""} {
		if _, err := at.Clone(t.Context(), dir, mustPath(t, path), nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := at.Clone(t.Context(), dir, mustPath(t, "repo2"), nil); err != nil {
		t.Error(err)
	}
}

func mustPath(t *testing.T, text string) store.Path {
	t.Helper()
	p, err := store.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
