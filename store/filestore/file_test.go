// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/storetest"
)

// TestMain uses the disk also where the tests of other packages have their files in
// memory.
func TestMain(m *testing.M) {
	if disk := os.Getenv("VARVE_DISK"); disk != "" {
		os.Setenv("TMPDIR", disk)
	}
	goleak.VerifyTestMain(m)
}

func open(tb testing.TB, dir string, opt *filestore.Options) *filestore.Store {
	tb.Helper()
	s, err := filestore.OpenStore(dir, opt)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(s); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, t.TempDir(), nil) })
}

func TestStoreOnDisk(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return filestore.On(vfs.NewDisk(), nil) })
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	for name, value := range storetest.Fixture() {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), string(value))
	}
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, dir, &filestore.Options{ReadOnly: true}) })
	s := open(t, dir, &filestore.Options{ReadOnly: true})
	if _, err := s.Lock(t.Context(), store.Path{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Lock: error is %v, want %v", err, fs.ErrPermission)
	}
	if _, err := filestore.RemoveTemporary(t.Context(), s, 0); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("RemoveTemporary: error is %v, want %v", err, fs.ErrPermission)
	}
}

// write makes a file as another program would.
func write(t *testing.T, name, value string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(value), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "deeper")
	if _, err := filestore.OpenStore(dir, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing: error is %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := filestore.OpenStore(dir, &filestore.Options{Create: true, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing read-only: error is %v, want %v", err, fs.ErrNotExist)
	}
	for range 2 {
		s := open(t, dir, &filestore.Options{Create: true})
		put(t, s, "k", "v")
	}
	if _, err := filestore.OpenStore(filepath.Join(dir, "k"), &filestore.Options{Create: true}); err == nil {
		t.Error("Open of a file: no error")
	}
}

func put(tb testing.TB, s store.Store, name, value string) {
	tb.Helper()
	if _, err := store.Write(tb.Context(), s, store.Put(store.MustKey(name), []byte(value)), store.Flush); err != nil {
		tb.Fatal(err)
	}
}

// get returns the value at name, and "" with the error.
func get(tb testing.TB, s store.Store, name string) (string, error) {
	b, _, err := s.Get(tb.Context(), store.MustKey(name), store.Request{}, nil)
	return string(b), err
}

func TestUseAfterClose(t *testing.T) {
	s, err := filestore.OpenStore(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "k", "v")
	if err := store.Close(s); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, s, "k"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Get: error is %v, want %v", err, fs.ErrClosed)
	}
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey("k"), nil), store.Sync); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Put: error is %v, want %v", err, fs.ErrClosed)
	}
}

// TestFilesAndDirectories puts values where directories are, and below values.
func TestFilesAndDirectories(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	put(t, s, "c/0", "chunk")
	for _, name := range []string{"c", "c/0/1", "c/0/1/2"} {
		key := store.MustKey(name)
		if _, err := s.Write(t.Context(), store.Put(key, []byte("x")), store.Sync); err == nil {
			t.Errorf("Put %q: no error", name)
		}
		if _, err := s.Write(t.Context(), store.PutIf(key, []byte("x"), store.IfAbsent()), store.Sync); err == nil {
			t.Errorf("PutIf %q: no error", name)
		}
		if _, err := s.Write(t.Context(), store.Delete(key), store.Sync); err != nil {
			t.Errorf("Delete %q: %v", name, err)
		}
		if _, err := get(t, s, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get %q: error is %v, want %v", name, err, fs.ErrNotExist)
		}
	}
	if got, err := get(t, s, "c/0"); got != "chunk" {
		t.Errorf("Get: %q, %v", got, err)
	}
	if left := names(t, s); !slices.Equal(left, []string{"c/0"}) {
		t.Errorf("the store holds %q, want only c/0", left)
	}
}

// names lists all keys.
func names(tb testing.TB, s store.Store) []string {
	tb.Helper()
	var out []string
	for e, err := range store.List(tb.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, e.Name)
	}
	slices.Sort(out)
	return out
}

func TestOwnNames(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	put(t, s, "a/k", "v")
	for _, name := range []string{"__tmp-0000000000001", "a/__tmp-000000000000x-1", "a/__varve.lock", "__varve.publish", "b__/__tmp-3w5e11264sgsf"} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), "own")
		if _, err := get(t, s, name); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("Get %q: error is %v, want %v", name, err, store.ErrInvalidKey)
		}
		if _, err := s.Write(t.Context(), store.Put(store.MustKey(name), nil), store.Sync); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("Put %q: error is %v, want %v", name, err, store.ErrInvalidKey)
		}
	}
	for _, name := range []string{"__tmp", "x__tmp-1", "__varve.locks", "__varve-7/c", "a__varve.lock"} {
		put(t, s, name, "v")
	}
	want := []string{"__tmp", "__varve-7/c", "__varve.locks", "a/k", "a__varve.lock", "x__tmp-1"}
	if got := names(t, s); !slices.Equal(got, want) {
		t.Errorf("the store holds %q, want %q", got, want)
	}
}

func TestRemoveTemporary(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	put(t, s, "a/k", "v")
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"__tmp-0000000000old", "a/__tmp-0000000000old", "b/c/__tmp-0000000000old"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		write(t, name, "x")
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "a", "__tmp-00000000young"), "x")
	if n, err := filestore.RemoveTemporary(t.Context(), s, time.Minute); n != 3 || err != nil {
		t.Errorf("removed %d with error %v, want 3", n, err)
	}
	if n, err := filestore.RemoveTemporary(t.Context(), s, -time.Minute); n != 1 || err != nil {
		t.Errorf("removed %d with error %v, want 1", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory is left: %v", err)
	}
}

func TestTooLong(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	put(t, s, "a/k", "")
	for _, name := range []string{strings.Repeat("n", 300), "a/" + strings.Repeat("n", 300), strings.Repeat("n", 300) + "/a"} {
		key := store.MustKey(name)
		if _, err := get(t, s, name); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("Get: error is %v, want %v", err, store.ErrInvalidKey)
		}
		if _, err := s.Write(t.Context(), store.Put(key, nil), store.Sync); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("Put: error is %v, want %v", err, store.ErrInvalidKey)
		}
		if _, err := s.Write(t.Context(), store.PutIf(key, nil, store.IfAbsent()), store.Sync); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("PutIf: error is %v, want %v", err, store.ErrInvalidKey)
		}
	}
}

// TestChangedWhileRead changes a file in place between the operations of a read.
func TestChangedWhileRead(t *testing.T) {
	for name, change := range map[string]func(f *os.File) error{
		"cut":       func(f *os.File) error { return f.Truncate(3) },
		"longer":    func(f *os.File) error { return f.Truncate(1000) },
		"rewritten": func(f *os.File) error { _, err := f.WriteAt([]byte("X"), 5); return err },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			root, err := vfs.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			hook := func(op vfs.Op) error {
				if op.Kind != "read" {
					return nil
				}
				f, err := os.OpenFile(filepath.Join(dir, "k"), os.O_RDWR, 0)
				if err != nil {
					return err
				}
				return errors.Join(change(f), f.Close())
			}
			s := filestore.On(vfs.Hook(root, hook), nil)
			defer s.Close()
			put(t, s, "k", "0123456789")
			if got, err := get(t, s, "k"); !errors.Is(err, store.ErrConflict) {
				t.Errorf("Get: %q and error %v, want %v", got, err, store.ErrConflict)
			}
		})
	}
}

// TestPruneRace deletes and writes in one directory concurrently. No write may fail
// because a deletion pruned the directory.
func TestPruneRace(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	errs := make(chan error, 4)
	for g := range 4 {
		go func() {
			key := store.MustKey(fmt.Sprintf("a/b/c/%d", g))
			for range 200 {
				_, err := s.Write(t.Context(), store.Put(key, []byte("v")), store.Flush)
				if err == nil {
					_, err = s.Write(t.Context(), store.Delete(key), store.Sync)
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if left := slices.Collect(entries(t, s)); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

func entries(tb testing.TB, s store.Store) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for e, err := range store.List(tb.Context(), s, store.Path{}, store.Flat) {
			if err != nil {
				tb.Error(err)
			}
			if !yield(e.Name) {
				return
			}
		}
	}
}

// TestLockBetweenStores checks that a lock excludes a second store of the same directory,
// which stands for another process.
func TestLockBetweenStores(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no locks on this platform")
	}
	dir := t.TempDir()
	a, b := open(t, dir, nil), open(t, dir, nil)
	unlock, err := a.Lock(t.Context(), store.Path{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := b.Lock(ctx, store.Path{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock of what is locked: error is %v", err)
	}
	if err := errors.Join(unlock(), unlock()); err != nil {
		t.Errorf("unlock: %v", err)
	}
	unlock, err = b.Lock(t.Context(), store.Path{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	none, _ := store.ParsePath("none")
	if _, err := a.Lock(t.Context(), none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lock of nothing: error is %v, want %v", err, fs.ErrNotExist)
	}
	if left := names(t, a); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// TestFastReads checks that the fast path of reads equals the plain one, and that reads
// work without the kernel call of the fast path.
func TestFastReads(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	for i := range 20 {
		value := bytes.Repeat([]byte{byte(i)}, i*1000)
		name := fmt.Sprintf("a/%d/c", i)
		put(t, s, name, string(value))
		want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := get(t, s, name); got != string(want) || err != nil {
			t.Errorf("Get %q: %d bytes and error %v, want %d bytes", name, len(got), err, len(want))
		}
	}
}

func ExampleStore_Batch() {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := filestore.OpenStore(filepath.Join(dir, "array.zarr"), &filestore.Options{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close(s)
	ctx := context.Background()
	b, err := store.NewBatch(ctx, s, store.Sync)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"c/0/0", "c/0/1", "c/1/0"} {
		if _, err := b.Write(ctx, store.Put(store.MustKey(name), []byte("chunk"))); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(b.Commit(ctx))
	for e := range store.List(ctx, s, store.Path{}, store.Flat) {
		fmt.Println(e.Name, e.Dir)
	}
	// Output:
	// <nil>
	// c true
}

// TestModified checks that the time of a value is that of its write, even if a copy has
// the modification time of its source.
func TestModified(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	var last time.Time
	for range 100 {
		before := time.Now().Add(-tick)
		put(t, s, "k", "v")
		info, err := s.Stat(t.Context(), store.MustKey("k"))
		if err != nil {
			t.Fatal(err)
		}
		if m := info.Modified; m.Before(before) || m.Before(last) || m.After(time.Now().Add(tick)) {
			t.Fatalf("%v for a write after %v and %v", m, before, last)
		}
		last = info.Modified
	}
	if runtime.GOOS == "windows" {
		return // files have no change time there
	}
	old := time.Now().AddDate(-1, 0, 0)
	if err := os.Chtimes(filepath.Join(dir, "k"), old, old); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Stat(t.Context(), store.MustKey("k")); err != nil || info.Modified.Before(last.Add(-tick)) {
		t.Errorf("%v and error %v for a copy that pretends to be of %v", info.Modified, err, old)
	}
}

// tick is longer than a tick of the clocks of file systems.
const tick = 50 * time.Millisecond
