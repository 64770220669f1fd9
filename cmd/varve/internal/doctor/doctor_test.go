// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr/cmd/varve/internal/doctor"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

func examine(t *testing.T, s store.Store) *doctor.Report {
	t.Helper()
	at, err := store.ParsePath("some/place")
	if err != nil {
		t.Fatal(err)
	}
	r, err := doctor.Examine(t.Context(), s, at, doctor.Options{Bytes: 2 << 20, Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if errors.Is(err, store.ErrUnsupported) {
			break
		}
		t.Errorf("%s was left (%v)", e.Name, err)
	}
	if len(r.Latency) != 2 || len(r.Rates) != 4 {
		t.Errorf("measured %v and %v", r.Latency, r.Rates)
	}
	return r
}

// wrong returns the names of the findings that do not hold.
func wrong(r *doctor.Report) (names []string) {
	for _, f := range r.Findings {
		if f.Outcome != doctor.Holds {
			names = append(names, f.Name)
		}
	}
	return names
}

func TestSoundStores(t *testing.T) {
	files, err := filestore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]store.Store{"memory": memtest.New(), "files": files} {
		r := examine(t, s)
		if got := wrong(r); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
		if len(r.Advice) == 0 || !strings.HasPrefix(r.Advice[0], "Several programs may append") {
			t.Errorf("%s: advice %q", name, r.Advice)
		}
	}
}

// paced is a store that limits the requests in flight.
type paced struct{ memtest.Store }

func (paced) Traits() store.Traits { return store.Traits{Requests: 32} }

func (paced) CheckKey(store.Key) error { return nil }

// TestLimited checks that a limit of the store itself is told with the throughput.
func TestLimited(t *testing.T) {
	for s, want := range map[store.Store]bool{memtest.New(): false, paced{memtest.New()}: true} {
		r := examine(t, s)
		if r.Limited != want || strings.Contains(strings.Join(r.Advice, "\n"), "in flight") {
			t.Errorf("limited: %t, want %t; advice %q", r.Limited, want, r.Advice)
		}
	}
}

// careless is an object store that ignores conditions, and has versions that are hashes.
type careless struct{ *plain }

// plain is a store without powers but those it shows.
type plain struct{ below memtest.Store }

func (s *plain) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return s.below.Get(ctx, key, q, dst)
}

func (s *plain) Can(op store.Op) bool { return op == store.OpPut || op == store.OpDelete }

func (s *plain) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !s.Can(c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	return s.below.Write(ctx, c, d)
}

func (s careless) Can(op store.Op) bool { return op <= store.OpDeleteIf }

func (s careless) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	switch c.Op {
	case store.OpPutIf:
		c = store.Put(c.Key, c.Value)
	case store.OpDeleteIf:
		c = store.Delete(c.Key)
	}
	return s.plain.Write(ctx, c, d)
}

func TestCarelessStore(t *testing.T) {
	r := examine(t, careless{&plain{memtest.New()}})
	want := []string{
		"list", "list_after_write", "create_only", "compare_and_swap", "conditional_delete", "delete_race", "locks", "copies", "assembles",
	}
	if got := wrong(r); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if !strings.Contains(strings.Join(r.Advice, "\n"), "--single-writer") {
		t.Errorf("advice %q", r.Advice)
	}
}

// hasty is an object store that checks the condition of a deletion, and deletes a moment
// later, without a lock.
type hasty struct{ stepping.ObjectStore }

func (s hasty) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op != store.OpDeleteIf {
		return s.ObjectStore.Write(ctx, c, d)
	}
	if now, err := s.Stat(ctx, c.Key); err != nil || now.Version != c.If.Version() {
		return store.Written{}, store.ErrConflict
	}
	time.Sleep(time.Millisecond)
	return s.ObjectStore.Write(ctx, store.Delete(c.Key), d)
}

// TestHastyStore examines a store whose deletions can hit what was just written.
func TestHastyStore(t *testing.T) {
	r := examine(t, hasty{stepping.Conditional(memtest.New(), stepping.Hooks{})})
	if got := wrong(r); !slices.Contains(got, "delete_race") || slices.Contains(got, "conditional_delete") {
		t.Errorf("%v", got)
	}
	if !strings.Contains(strings.Join(r.Advice, "\n"), "beside writers") {
		t.Errorf("advice %q", r.Advice)
	}
}

// lenient is an object store that takes the deletion of a missing object for a success.
// It counts the unconditional writes of each name.
type lenient struct {
	stepping.ObjectStore
	mu   *sync.Mutex
	puts map[string]int
}

func (s lenient) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPut {
		s.mu.Lock()
		s.puts[c.Key.String()]++
		s.mu.Unlock()
	}
	made, err := s.ObjectStore.Write(ctx, c, d)
	if c.Op == store.OpDeleteIf {
		if _, missing := s.Stat(ctx, c.Key); errors.Is(missing, fs.ErrNotExist) {
			return made, nil
		}
	}
	return made, err
}

// TestLenientStore examines a store in which several deletions of a version succeed, but
// none beside a write. Each round has a name of its own, because a service may take only
// one write a second of one name.
func TestLenientStore(t *testing.T) {
	s := lenient{stepping.Conditional(memtest.New(), stepping.Hooks{}), new(sync.Mutex), map[string]int{}}
	if r := examine(t, s); r.Of("delete_race") != doctor.Holds {
		t.Errorf("%v", r.Findings)
	}
	rounds := 0
	for name, n := range s.puts {
		if strings.Contains(name, "contested") {
			rounds++
			if n > 1 {
				t.Errorf("%s is written in %d rounds", name, n)
			}
		}
	}
	if rounds < 2 {
		t.Errorf("%d names", rounds)
	}
}

// TestReadOnly examines a store that cannot be written.
func TestReadOnly(t *testing.T) {
	s := struct{ store.Store }{&plain{memtest.New()}}
	if _, err := doctor.Examine(t.Context(), s, store.Path{}, doctor.Options{}); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a store that is read-only: %v", err)
	}
}

// stale reads each value as it was before its last write, and does not know what is gone.
type stale struct {
	*plain
	old map[store.Key][]byte
}

func (s *stale) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPut {
		s.old[c.Key], _, _ = s.below.Get(ctx, c.Key, store.Request{}, nil)
	}
	return s.plain.Write(ctx, c, d)
}

func (s *stale) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	data, info, err := s.below.Get(ctx, key, q, dst)
	if old := s.old[key]; err == nil && old != nil && q.Range == store.Whole() {
		return append(data[:0], old...), info, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrPermission
	}
	return data, info, err
}

func TestStaleStore(t *testing.T) {
	r := examine(t, &stale{&plain{memtest.New()}, map[store.Key][]byte{}})
	for _, name := range []string{"read_after_write", "deletes"} {
		if r.Of(name) != doctor.Fails {
			t.Errorf("%s: %s", name, r.Of(name))
		}
	}
	for _, word := range []string{"Do not write living arrays", "--missing 403"} {
		if !strings.Contains(strings.Join(r.Advice, "\n"), word) {
			t.Errorf("no advice with %q: %q", word, r.Advice)
		}
	}
}
