// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// TestCollectedBase commits a session whose first snapshot is gone.
func TestCollectedBase(t *testing.T) {
	s := newDated()
	r := opened(t, s)
	try(t, r.CreateBranch(t.Context(), "side", ""))
	commit(t, stage(t, r, "side", "a", 0), "a")
	s.pass(10 * 24 * time.Hour)
	late := stage(t, r, "side", "b", 1000)
	try(t, r.ResetBranch(t.Context(), "side", "main"))
	if _, err := r.CollectGarbage(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Commit(t.Context(), "b"); !errors.Is(err, icechunk.ErrCollected) || !strings.Contains(err.Error(), "is gone") {
		t.Error(err)
	}
}

// TestLogCircle reads a log whose former object leads to itself.
func TestLogCircle(t *testing.T) {
	r, s := created(t)
	early := stage(t, r, "main", "a", 0)
	const name = "repo.1.00000000000000000000"
	change := func(key store.Key, drop bool) {
		t.Helper()
		data, _, err := s.Get(t.Context(), store.MustKey("repo"), store.Request{}, nil)
		try(t, err)
		_, body, err := format.Open(data, format.KindRepository, 1<<20)
		try(t, err)
		repo, err := format.ParseRepository(body)
		try(t, err)
		if repo.Before = name; drop {
			repo.Updates[0].Time = time.Now().Add(time.Hour)
		}
		data, err = format.Seal("liar", format.KindRepository, repo.Encode())
		try(t, err)
		put(t, s, key, data)
	}
	change(store.MustKey("overwritten/"+name), true)
	change(store.MustKey("repo"), true)
	if _, err := early.Commit(t.Context(), "a"); !errors.Is(err, zarr.ErrCorrupt) {
		t.Error(err)
	}
	report, err := r.Check(t.Context(), nil)
	if err != nil || len(report.Findings) != 1 || report.Findings[0].Key != "repo" {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestCollectedSession commits sessions during which garbage was collected. What may be
// deleted is not published.
func TestCollectedSession(t *testing.T) {
	for name, c := range map[string]struct {
		age       time.Duration // of the session
		olderThan time.Duration
		foreign   bool
		fails     bool
	}{
		"young":    {time.Hour, 24 * time.Hour, false, false},
		"old":      {48 * time.Hour, 24 * time.Hour, false, true},
		"edge":     {24*time.Hour + time.Second, 24 * time.Hour, false, true},
		"no age":   {time.Hour, -1, false, true},
		"foreign":  {time.Minute, 24 * time.Hour, true, true},
		"deadline": {24*time.Hour - time.Minute, 24 * time.Hour, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDated()
			r := opened(t, s)
			commit(t, stage(t, r, "main", "a", 0), "a")
			early := stage(t, r, "main", "b", 1000)
			early.Age(c.age)
			s.pass(c.age)
			report, err := r.CollectGarbage(t.Context(), &icechunk.GarbageOptions{OlderThan: c.olderThan})
			try(t, err)
			if gone := report.Chunks.Objects > 0; gone && !c.fails {
				t.Fatal("chunks of a young session are deleted")
			}
			if c.foreign {
				for name := range objectsBelow(t, s, "overwritten") {
					if strings.HasPrefix(name, "gc.") {
						_, err := store.Write(t.Context(), s, store.Delete(store.MustKey("overwritten/"+name)), store.Sync)
						try(t, err)
					}
				}
			}
			late := stage(t, r, "main", "c", 2000)
			_, err = early.Commit(t.Context(), "b")
			if errors.Is(err, icechunk.ErrCollected) != c.fails {
				t.Error(err)
			}
			if c.fails {
				commit(t, late, "c")
			}
			sound(t, opened(t, s))
		})
	}
}

func objectsBelow(t testing.TB, s store.Store, folder string) map[string]bool {
	t.Helper()
	dir, err := store.ParsePath(folder)
	try(t, err)
	found := map[string]bool{}
	for e, err := range store.List(t.Context(), s, dir, store.Flat) {
		try(t, err)
		found[e.Name] = true
	}
	return found
}

// TestCollectedChange repeats a change during which garbage was collected, with chunks
// that are stored anew.
func TestCollectedChange(t *testing.T) {
	r, s := created(t)
	times := 0
	_, err := r.Change(t.Context(), "main", "a", func(ctx context.Context, c *icechunk.Session) error {
		a, err := zarr.At(c, "a").CreateArray(ctx, large, nil)
		if err == nil {
			err = zarr.Write(ctx, a, nil, numbers(7, 600))
		}
		switch times++; {
		case times > 2:
			return errors.New("the change is repeated twice")
		case times == 1 && err == nil:
			_, err = r.CollectGarbage(ctx, noAge)
		}
		return err
	})
	if err != nil || times != 2 {
		t.Fatal(times, err)
	}
	sound(t, opened(t, s))
	is, err := r.Snapshot(t.Context(), "")
	try(t, err)
	wants(t, is, "a", numbers(7, 600))
}

// TestCollectedLog commits a session after so many updates that the entry of the garbage
// collection is in a former object repo.
func TestCollectedLog(t *testing.T) {
	r, s := created(t)
	early := stage(t, r, "main", "b", 1000)
	if _, err := r.CollectGarbage(t.Context(), noAge); err != nil {
		t.Fatal(err)
	}
	for i := range 501 {
		try(t, r.CreateBranch(t.Context(), "x", ""))
		try(t, r.DeleteBranch(t.Context(), "x"))
		if i == 0 {
			commit(t, stage(t, r, "x-main"[2:], "c", 0), "c")
			try(t, r.ResetBranch(t.Context(), "main", format.InitialSnapshot.String()))
		}
	}
	if _, err := early.Commit(t.Context(), "b"); !errors.Is(err, icechunk.ErrCollected) {
		t.Error(err)
	}
	sound(t, opened(t, s))
}

// late is a store in which the next conditional write is made after its answer, and which
// cannot read records of collections then.
type late struct {
	*dated
	isLost bool
}

func (l *late) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPutIf {
		l.isLost = true
		return store.Written{}, errors.New("the answer is lost")
	}
	return l.dated.Write(ctx, c, d)
}

func (l *late) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if l.isLost && strings.HasPrefix(key.Base(), "gc.") {
		return nil, store.Info{}, errors.New("the store does not answer")
	}
	return l.dated.Get(ctx, key, q, dst)
}

// TestLateWrite commits although the answer of the publication is lost, and cannot read
// then whether its chunks were collected. The commit may still be made.
func TestLateWrite(t *testing.T) {
	s := newDated()
	opened(t, s)
	r := opened(t, &late{dated: s})
	early := stage(t, r, "main", "a", 0)
	_, err := opened(t, s).CollectGarbage(t.Context(), nil)
	try(t, err)
	if _, err := early.Commit(t.Context(), "a"); !errors.Is(err, zarr.ErrOutcomeUnknown) {
		t.Error(err)
	}
}
