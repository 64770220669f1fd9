// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// race runs a script once for each of its operations, and act before that
// operation. act runs as another process: with a store of its own, and with a context
// that ends soon, because the script may hold the lock that act waits for.
func race(
	t *testing.T, disk func() *vfs.Disk, script func(s *filestore.Store) error,
	act func(ctx context.Context, s *filestore.Store) error, check func(label string, disk *vfs.Disk, first, second error),
) {
	for k := 0; ; k++ {
		d, n := disk(), 0
		var first, second error
		label := ""
		s := filestore.On(vfs.Hook(d, func(op vfs.Op) error {
			if n++; n == k+1 {
				label = fmt.Sprintf("ahead of operation %d, %s %s", k, op.Kind, op.Name)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
				defer cancel()
				first = act(ctx, filestore.On(d, nil))
			}
			return nil
		}), nil)
		if second = script(s); n <= k {
			return
		}
		check(label, d, first, second)
	}
}

// TestPutIfWhilePruned lets two writers put one key if it is absent, one of them before
// each operation of the other. Meanwhile the only other value in the directory is
// deleted, which prunes the directory. One writer must fail, and the value of the other
// stays.
func TestPutIfWhilePruned(t *testing.T) {
	disk := func() *vfs.Disk {
		d := vfs.NewDisk()
		put(t, filestore.On(d, nil), "a/b/x", "x")
		return d
	}
	won := map[string]int{}
	key := store.MustKey("a/b/k")
	race(t, disk, func(s *filestore.Store) error {
		_, err := s.Write(t.Context(), store.PutIf(key, []byte("second"), store.IfAbsent()), store.Sync)
		return err
	}, func(ctx context.Context, s *filestore.Store) error {
		if _, err := s.Write(t.Context(), store.Delete(store.MustKey("a/b/x")), store.Sync); err != nil { // no lock
			t.Error(err)
		}
		_, err := s.Write(ctx, store.PutIf(key, []byte("first"), store.IfAbsent()), store.Flush)
		return err
	}, func(label string, d *vfs.Disk, first, second error) {
		want := "first"
		if second == nil {
			want = "second"
		}
		won[want]++
		if got := valueOf(t, filestore.On(d, nil), "a/b/k"); got != want || (first == nil) == (second == nil) {
			t.Errorf("%s: the key has %q; the first says %v, the second %v", label, got, first, second)
		}
		if second != nil && !errors.Is(second, store.ErrConflict) {
			t.Errorf("%s: error is %v, want %v", label, second, store.ErrConflict)
		}
	})
	if won["first"] == 0 || won["second"] == 0 {
		t.Errorf("the winners were %v, want both", won)
	}
}

// TestDeleteIfWhileReplaced replaces a value on a condition before each operation of its
// conditional deletion.
func TestDeleteIfWhileReplaced(t *testing.T) {
	key := store.MustKey("a/k")
	var old store.Version
	disk := func() *vfs.Disk {
		d := vfs.NewDisk()
		s := filestore.On(d, nil)
		put(t, s, "a/k", "old")
		info, err := s.Stat(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		old = info.Version
		return d
	}
	won := map[string]int{}
	race(t, disk, func(s *filestore.Store) error {
		_, err := s.Write(t.Context(), store.DeleteIf(key, old), store.Sync)
		return err
	},
		func(ctx context.Context, s *filestore.Store) error {
			_, err := s.Write(ctx, store.PutIf(key, []byte("new"), store.IfVersion(old)), store.Flush)
			return err
		}, func(label string, d *vfs.Disk, first, second error) {
			want := "new"
			if second == nil {
				want = gone
			}
			won[want]++
			if got := valueOf(t, filestore.On(d, nil), "a/k"); got != want || (first == nil) == (second == nil) {
				t.Errorf("%s: the key has %q; the writer says %v, the deletion %v", label, got, first, second)
			}
		})
	if won["new"] == 0 || won[gone] == 0 {
		t.Errorf("the ends were %v, want both", won)
	}
}

// TestConflictLeavesNothing checks that a write with a conflict leaves no temporary file
// and no new directory.
func TestConflictLeavesNothing(t *testing.T) {
	d := vfs.NewDisk()
	other := filestore.On(d, nil)
	put(t, other, "a/b/k", "v")
	info, err := other.Stat(t.Context(), store.MustKey("a/b/k"))
	if err != nil {
		t.Fatal(err)
	}
	deleted := false
	s := filestore.On(vfs.Hook(d, func(op vfs.Op) error {
		if op.Kind == "lock" && !deleted {
			deleted = true
			_, err := other.Write(t.Context(), store.Delete(store.MustKey("a/b/k")), store.Sync)
			return err
		}
		return nil
	}), nil)
	_, err = s.Write(t.Context(), store.PutIf(store.MustKey("a/b/k"), []byte("new"), store.IfVersion(info.Version)), store.Sync)
	if !errors.Is(err, store.ErrConflict) || !deleted {
		t.Errorf("error is %v, want %v", err, store.ErrConflict)
	}
	for e := range d.ReadDir(".") {
		t.Errorf("%s is left", e.Name())
	}
}

// TestBatchPrunes deletes the values of directories in a batch. The directories are gone
// when it ends, and are not tried again for each value.
func TestBatchPrunes(t *testing.T) {
	for name, end := range map[string]func(store.Batch) error{
		"commit":  func(b store.Batch) error { return b.Commit(t.Context()) },
		"discard": func(b store.Batch) error { b.Discard(); return nil },
	} {
		d, tried := vfs.NewDisk(), 0
		s := filestore.On(vfs.Hook(d, func(op vfs.Op) error {
			if op.Kind == "removedir" && strings.HasPrefix(op.Name, "a") {
				tried++
			}
			return nil
		}), nil)
		key := func(i int) store.Key { return store.MustKey(fmt.Sprintf("a/c/%d/%d", i%2, i)) }
		for i := range 20 {
			if _, err := s.Write(t.Context(), store.Put(key(i), []byte("x")), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		b, err := s.Batch(t.Context(), store.Sync)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if _, err := b.Write(t.Context(), store.Delete(key(i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := end(b); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Stat("a"); !vfs.Missing(err) {
			t.Errorf("%s: a directory stays: %v", name, err)
		}
		if tried < 4 || tried > 8 {
			t.Errorf("%s: directories were tried %d times", name, tried)
		}
	}
}
