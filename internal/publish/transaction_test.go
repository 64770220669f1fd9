// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// becomes is a plan that replaces the document.
func becomes(document string) func(publish.Document) (*publish.Change, error) {
	return func(publish.Document) (*publish.Change, error) {
		return &publish.Change{Document: []byte(document)}, nil
	}
}

// TestOvertaken lets a recovery finish a transaction of two nodes as soon as it is
// committed, and restore the document of one of them. The original writer publishes
// nothing again.
func TestOvertaken(t *testing.T) {
	others, ctx := memtest.New(), t.Context()
	a := publish.Node{Store: stepping.Conditional(others, stepping.Hooks{}), Path: at(t, "a"), Document: "zarr.json"}
	b := a
	b.Path = at(t, "b")
	for _, key := range []string{"a/zarr.json", "b/zarr.json"} {
		if _, err := others.Write(ctx, store.Put(store.MustKey(key), []byte("old")), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	mine, decided := a, false
	mine.Store = stepping.Conditional(others, stepping.Hooks{After: func(op stepping.Op, err error) error {
		if op.Name != "PutIf" || !strings.Contains(op.Key.String(), "__varve/together-") || decided {
			return err
		}
		decided = true
		if err := publish.Update(ctx, a, becomes("x")); !errors.Is(err, publish.ErrPending) {
			t.Errorf("a change beside it: %v", err)
		}
		if err := publish.CheckPending(ctx, b, store.Key{}); !errors.Is(err, publish.ErrPending) {
			t.Errorf("pending: %v", err)
		}
		if err := publish.CheckPending(ctx, b, op.Key); err != nil {
			t.Errorf("pending for one who knows: %v", err)
		}
		if found, err := publish.Recover(ctx, b, nil); !found || err != nil {
			t.Errorf("finished: %v, %v", found, err)
		}
		return errors.Join(err, publish.Update(ctx, a, becomes("old")))
	}})
	two := mine
	two.Path = b.Path
	var versions []store.Version
	plan := func(d publish.Document) (*publish.Change, error) {
		return &publish.Change{Document: []byte("new"), Published: func(v store.Version) { versions = append(versions, v) }}, nil
	}
	if err := publish.UpdateAll(ctx, []publish.Participant{{Node: mine, Plan: plan}, {Node: two, Plan: plan}}, nil); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{"a/zarr.json": "old", "b/zarr.json": "new"} {
		got, _, err := others.Get(ctx, store.MustKey(key), store.Request{}, nil)
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s is %q (%v), want %q", key, got, err, want)
		}
	}
	for _, v := range versions {
		if !v.IsZero() {
			t.Errorf("the version %v is told, of a document that somebody else wrote", v)
		}
	}
	for e, err := range others.List(context.Background(), store.Path{}, store.Deep) {
		if err != nil || strings.Contains(e.Name, "__varve") {
			t.Errorf("%s is left (%v)", e.Name, err)
		}
	}
}

// TestDecidedWaitsForNoLock commits a transaction of two nodes while another program
// holds the lock of one document. The writer gives up when its caller does, or after one
// timeout. The next writer finishes the transaction.
func TestDecidedWaitsForNoLock(t *testing.T) {
	for name, how := range map[string]store.Locking{"caller": {}, "time-out": {Timeout: time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewDisk()
			others := fixture.FileStore(disk)
			for _, key := range []string{"a/zarr.json", "b/zarr.json"} {
				if _, err := others.Write(t.Context(), store.Put(store.MustKey(key), []byte("old")), store.Flush); err != nil {
					t.Fatal(err)
				}
			}
			held, err := disk.TryLock("b/__varve.publish")
			if err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(20*time.Second, func() { held.Close() }) // so that who waits for it fails, and does not hang
			defer late.Stop()

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			mine := fixture.FileStore(vfs.Hook(disk, func(op vfs.Op) error {
				if op == (vfs.Op{Kind: "lock", Name: "b/__varve.publish"}) && how.Timeout == 0 {
					cancel()
				}
				return nil
			}))
			waits := 0
			count := locksOf{mine, &waits}
			a := publish.Node{Store: count, Path: at(t, "a"), Document: "zarr.json"}
			b := a
			b.Path = at(t, "b")
			err = publish.UpdateAll(store.WithLocking(ctx, how), []publish.Participant{{a, becomes("new")}, {b, becomes("new")}}, nil)
			want := []error{publish.ErrDecided, publish.ErrIncomplete, context.Canceled}
			if how.Timeout > 0 {
				want[2] = store.ErrLocked
			}
			for _, w := range want {
				if !errors.Is(err, w) {
					t.Errorf("error is %v, want %v", err, w)
				}
			}
			if waits != 1 {
				t.Errorf("the document was written %d times", waits)
			}
			held.Close()
			b.Store = others
			if found, err := publish.Recover(t.Context(), b, nil); !found || err != nil {
				t.Errorf("found %v: %v", found, err)
			}
			for _, key := range []string{"a/zarr.json", "b/zarr.json"} {
				if got, _, err := others.Get(t.Context(), store.MustKey(key), store.Request{}, nil); err != nil || strings.TrimSpace(string(got)) != "new" {
					t.Errorf("%s is %q: %v", key, got, err)
				}
			}
		})
	}
}

// locksOf counts how often the document of the second node is written.
type locksOf struct {
	filetest.Store
	tries *int
}

func (l locksOf) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPutIf && c.Key == store.MustKey("b/zarr.json") {
		*l.tries++
	}
	return l.Store.Write(ctx, c, d)
}

// TestDecidedOnceItIsDone fails after a transaction is finished: the error is not
// ErrDecided.
func TestDecidedOnceItIsDone(t *testing.T) {
	s, fault := fixture.FileStore(vfs.NewDisk()), errors.New("fault")
	a := publish.Node{Store: s, Path: at(t, "a"), Document: "zarr.json"}
	if _, err := s.Write(t.Context(), store.Put(store.MustKey("a/zarr.json"), []byte("old")), store.Flush); err != nil {
		t.Fatal(err)
	}
	plan := func(publish.Document) (*publish.Change, error) {
		return &publish.Change{Document: []byte("new"), Reclaim: func(context.Context, store.Batch) error { return fault }}, nil
	}
	err := publish.UpdateAll(t.Context(), []publish.Participant{{a, plan}}, nil)
	if !errors.Is(err, publish.ErrIncomplete) || !errors.Is(err, fault) || errors.Is(err, publish.ErrDecided) {
		t.Errorf("error is %v", err)
	}
}

// TestDecidedIsFinished cancels the context as soon as a transaction is committed. It is
// finished all the same.
func TestDecidedIsFinished(t *testing.T) {
	disk := vfs.NewDisk()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := fixture.FileStore(vfs.Hook(disk, func(op vfs.Op) error {
		if op == (vfs.Op{Kind: "lock", Name: "a/__varve.publish"}) {
			cancel()
		}
		return nil
	}))
	a := publish.Node{Store: s, Path: at(t, "a"), Document: "zarr.json"}
	b := a
	b.Path = at(t, "b")
	keys := []store.Key{store.MustKey("a/zarr.json"), store.MustKey("b/zarr.json")}
	for _, key := range keys {
		if _, err := s.Write(t.Context(), store.Put(key, []byte("old")), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	if err := publish.UpdateAll(ctx, []publish.Participant{{a, becomes("new")}, {b, becomes("new")}}, nil); err != nil || ctx.Err() == nil {
		t.Errorf("%v, and the caller %v", err, ctx.Err())
	}
	for _, key := range keys {
		if got, _, err := s.Get(t.Context(), key, store.Request{}, nil); err != nil || strings.TrimSpace(string(got)) != "new" {
			t.Errorf("%s is %q: %v", key, got, err)
		}
	}
}
