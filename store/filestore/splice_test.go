// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// present returns the version of the value at name.
func present(tb testing.TB, s store.Store, name string) store.Version {
	tb.Helper()
	info, err := store.Stat(tb.Context(), s, store.MustKey(name))
	if err != nil {
		tb.Fatal(err)
	}
	return info.Version
}

// turned are fragments that rotate a value of ten bytes by three.
var turned = []store.Part{{Off: 3, N: 7}, {Data: []byte("|")}, {Off: 0, N: 3}}

// TestSpliceWhileReplaced replaces or deletes a value before each operation of its
// splice. One of the two fails.
func TestSpliceWhileReplaced(t *testing.T) { eachWay(t, spliceWhileReplaced) }

func spliceWhileReplaced(t *testing.T, kind string) {
	key := store.MustKey("a/k")
	var old store.Version
	disk := func() *vfs.Disk {
		d := vfs.NewDisk()
		s := filestore.On(d, nil)
		put(t, s, "a/k", "0123456789")
		old = present(t, s, "a/k")
		return d
	}
	for end, act := range map[string]func(ctx context.Context, s *filestore.Store) error{
		"new": func(ctx context.Context, s *filestore.Store) error {
			_, err := s.Write(ctx, store.PutIf(key, []byte("new"), store.IfVersion(old)), store.Flush)
			return err
		},
		"9876": func(ctx context.Context, s *filestore.Store) error {
			fragments := []store.Part{{Off: 9, N: 1}, {Off: 8, N: 1}, {Off: 7, N: 1}, {Off: 6, N: 1}}
			_, err := s.Write(ctx, store.Splice(key, old, fragments), store.Flush)
			return err
		},
		gone: func(ctx context.Context, s *filestore.Store) error {
			_, err := s.Write(ctx, store.DeleteIf(key, old), store.Sync)
			return err
		},
	} {
		won := map[string]int{}
		race(t, disk, func(s *filestore.Store) error {
			_, err := s.Write(t.Context(), store.Splice(key, old, turned), store.Sync)
			return err
		}, act, func(label string, d *vfs.Disk, first, second error) {
			want := end
			if second == nil {
				want = "3456789|012"
			}
			won[want]++
			if got := valueOf(t, filestore.On(d, nil), "a/k"); got != want || (first == nil) == (second == nil) {
				t.Errorf("%s: the key has %q; the first says %v, the splice %v", label, got, first, second)
			}
			if second != nil && !errors.Is(second, store.ErrConflict) {
				t.Errorf("%s: error is %v, want %v", label, second, store.ErrConflict)
			}
		})
		if len(won) != 2 {
			t.Errorf("the ends were %v, want both", won)
		}
	}
}

// TestSpliceOfChangedFile lets another program change the file in place while it is
// copied.
func TestSpliceOfChangedFile(t *testing.T) { eachWay(t, spliceOfChangedFile) }

func spliceOfChangedFile(t *testing.T, kind string) {
	for name, change := range map[string]func(f *os.File) error{
		"cut":       func(f *os.File) error { return f.Truncate(2) },
		"longer":    func(f *os.File) error { return f.Truncate(1000) },
		"rewritten": func(f *os.File) error { _, err := f.WriteAt([]byte("X"), 5); return err },
	} {
		dir := t.TempDir()
		root, err := vfs.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		copies := 0
		s := filestore.On(vfs.Hook(root, func(op vfs.Op) error {
			if op.Kind != kind {
				return nil
			}
			if copies++; copies > 1 {
				return nil
			}
			time.Sleep(tick) // so that the change has another time
			f, err := os.OpenFile(filepath.Join(dir, "k"), os.O_RDWR, 0)
			if err != nil {
				return err
			}
			return errors.Join(change(f), f.Close())
		}), nil)
		put(t, s, "k", "0123456789")
		if _, err := s.Write(t.Context(), store.Splice(store.MustKey("k"), present(t, s, "k"), turned), store.Sync); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: error is %v, want %v", name, err, store.ErrConflict)
		}
		if left := slices.Collect(entries(t, s)); !slices.Equal(left, []string{"k"}) {
			t.Errorf("%s: left over: %q", name, left)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSpliceLeavesNothing fails each operation of a splice before the rename, and splices
// fragments that do not exist. The old value stays, and there are no other files.
func TestSpliceLeavesNothing(t *testing.T) { eachWay(t, spliceLeavesNothing) }

func spliceLeavesNothing(t *testing.T, kind string) {
	for i := int64(0); ; i++ {
		hook, failed := vfs.FailAt(i, syscall.ENOSPC)
		d, renamed := vfs.NewDisk(), false
		plain := filestore.On(d, nil)
		put(t, plain, "a/k", "0123456789")
		s := filestore.On(vfs.Hook(d, func(op vfs.Op) error {
			err := hook(op)
			renamed = renamed || op.Kind == "rename" && err == nil
			return err
		}), nil)
		_, err := s.Write(t.Context(), store.Splice(store.MustKey("a/k"), present(t, plain, "a/k"), turned), store.Flush)
		want := "0123456789"
		if renamed {
			want = "3456789|012"
		}
		if got := valueOf(t, plain, "a/k"); got != want || err == nil && !renamed {
			t.Errorf("fault at operation %d: the key has %q, want %q; error is %v", i, got, want, err)
		}
		for e := range d.ReadDir("a") {
			if e.Name() != "k" {
				t.Errorf("fault at operation %d: %s is left", i, e.Name())
			}
		}
		if !failed() {
			break
		}
	}
}

// TestSpliceCancelled ends the context while bytes are copied.
func TestSpliceCancelled(t *testing.T) { eachWay(t, spliceCancelled) }

func spliceCancelled(t *testing.T, kind string) {
	d := vfs.NewDisk()
	ctx, cancel := context.WithCancel(t.Context())
	s := filestore.On(vfs.Hook(d, func(op vfs.Op) error {
		if op.Kind == kind {
			cancel()
		}
		return nil
	}), nil)
	put(t, s, "k", "0123456789")
	if _, err := s.Write(ctx, store.Splice(store.MustKey("k"), present(t, s, "k"), turned), store.Sync); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want %v", err, context.Canceled)
	}
	if got, err := get(t, s, "k"); got != "0123456789" || err != nil {
		t.Errorf("the key has %q, error %v", got, err)
	}
}
