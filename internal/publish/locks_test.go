// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// twins returns two arrays of a store in a directory, and a function that makes the
// second one a link to the first. A call that deadlocks with itself gives up soon.
func twins(t *testing.T) (a, b publish.Node, link func()) {
	t.Helper()
	return twinsIn(t, t.TempDir())
}

// twinsIn is twins in a given directory.
func twinsIn(t *testing.T, dir string) (a, b publish.Node, link func()) {
	t.Helper()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(s) })
	for _, key := range []string{"a/zarr.json", "b/zarr.json"} {
		if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte("old")), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	a = publish.Node{Store: s, Path: at(t, "a"), Document: "zarr.json", Locking: store.Locking{Timeout: 20 * time.Millisecond}}
	b = a
	b.Path = at(t, "b")
	return a, b, func() {
		t.Helper()
		at := filepath.Join(dir, "b")
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("a", at); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
}

// TestUpdateAllOfTwoNames refuses to change one node by two names, and does not deadlock.
func TestUpdateAllOfTwoNames(t *testing.T) {
	a, b, link := twins(t)
	link()
	for names, parts := range map[string][]publish.Participant{
		`"/b" is "/a" by another name`: {{a, becomes("new")}, {b, becomes("other")}},
		`"/a" is named twice`:          {{a, becomes("new")}, {a, becomes("other")}},
	} {
		err := publish.UpdateAll(t.Context(), parts, nil)
		if err == nil || errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), names) {
			t.Errorf("error is %v, want one with %s", err, names)
		}
	}
	if raw, _, err := a.Store.Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil); string(raw) != "old" || err != nil {
		t.Errorf("the document is %q, %v", raw, err)
	}
}

// TestRecoverOfTwoNames finishes a transaction of two nodes of which one has become a
// link to the other.
func TestRecoverOfTwoNames(t *testing.T) {
	a, b, link := twins(t)
	stop := errors.New("stopped")
	stopped := func(context.Context, store.Key, []publish.Node) error { return stop }
	if err := publish.UpdateAll(t.Context(), []publish.Participant{{a, becomes("new")}, {b, becomes("new")}}, stopped); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	link()
	told := 0
	after := func(_ context.Context, _ store.Key, nodes []publish.Node) error { told += len(nodes); return nil }
	if found, err := publish.Recover(t.Context(), a, after); !found || err != nil || told == 0 {
		t.Errorf("%v, %v, %d nodes were told of", found, err, told)
	}
	if err := publish.CheckFree(t.Context(), a); err != nil {
		t.Error(err)
	}
}

// TestCheckOfRemoval changes the node by another name in the check of its removal, which
// holds the node's lock. Then the check fails, and nothing is deleted.
func TestCheckOfRemoval(t *testing.T) {
	a, b, link := twins(t)
	link()
	no := errors.New("no")
	err := publish.Remove(t.Context(), a, func(ctx context.Context, n publish.Node) error {
		b.Held = n.Held
		return errors.Join(publish.Update(ctx, b, becomes("new")), no)
	})
	if !errors.Is(err, no) || errors.Is(err, store.ErrLocked) {
		t.Errorf("error is %v", err)
	}
	if raw, _, err := a.Store.Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil); string(raw) != "new" || err != nil {
		t.Errorf("the document is %q, %v", raw, err)
	}
	b.Held = nil
	if err := publish.Update(t.Context(), b, becomes("newer")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestRecoverByLink changes two nodes, one of them through a link, and interrupts the
// transaction. Then it recovers from each node by each of its names. Links are higher or
// deeper than their targets.
func TestRecoverByLink(t *testing.T) {
	for _, changed := range []string{"b", "l", "deep/l"} {
		for _, found := range []string{"a", "b", "l", "deep/l"} {
			dir := t.TempDir()
			a, _, _ := twinsIn(t, dir)
			for name, target := range map[string]string{"l": "b", "deep/l": "../b"} {
				at := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o777), os.Symlink(target, at)); err != nil {
					t.Skip("no symbolic links here:", err)
				}
			}
			other, by := a, a
			other.Path, by.Path = at(t, changed), at(t, found)
			stop := errors.New("stopped")
			stopped := func(context.Context, store.Key, []publish.Node) error { return stop }
			err := publish.UpdateAll(t.Context(), []publish.Participant{{a, becomes("new")}, {other, becomes("new")}}, stopped)
			if !errors.Is(err, stop) {
				t.Fatal(err)
			}
			for _, key := range []string{"a/zarr.json", "b/zarr.json"} { // as if it had stopped a little earlier
				if _, err := a.Store.(filetest.Store).Write(t.Context(), store.Put(store.MustKey(key), []byte("old")), store.Flush); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := publish.Recover(t.Context(), by, nil); err != nil {
				t.Errorf("%s, found by %s: %v", changed, found, err)
			}
			for _, key := range []string{"a/zarr.json", "b/zarr.json"} {
				if raw, _, err := a.Store.Get(t.Context(), store.MustKey(key), store.Request{}, nil); strings.TrimSpace(string(raw)) != "new" || err != nil {
					t.Errorf("%s, found by %s: %s is %q, %v", changed, found, key, raw, err)
				}
			}
			if err := publish.CheckFree(t.Context(), by); err != nil {
				t.Errorf("%s, found by %s: %v", changed, found, err)
			}
		}
	}
}
