// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// part returns the part of n bytes from offset off on of any version of a value.
func part(name string, off, n int64) store.Part {
	return store.Part{Key: store.MustKey(name), Off: off, N: n}
}

// woven are parts of two values, in turn. Some continue each other.
var woven = []store.Part{
	part("a/k", 0, 2), part("a/k", 2, 3), {Data: []byte("|")}, part("a/l", 0, 3), part("a/l", 3, 0), part("a/l", 3, 2), part("a/k", 5, 5),
}

const wovenValue = "01234|abcde56789"

// onWoven puts the sources of woven on a new disk.
func onWoven(t *testing.T) *vfs.Disk {
	d := vfs.NewDisk()
	s := filestore.On(d, nil)
	put(t, s, "a/k", "0123456789")
	put(t, s, "a/l", "abcdef")
	put(t, s, "b/m", "before")
	return d
}

// eachWay runs a test with parts that the file system copies, and with parts that are
// read into memory. kind is the operation that does it.
func eachWay(t *testing.T, test func(t *testing.T, kind string)) {
	t.Run("copy", func(t *testing.T) {
		filestore.SetShortPart(t, -1)
		test(t, "copy")
	})
	t.Run("read", func(t *testing.T) { test(t, "read") })
}

// TestAssembleOpensOne checks that one source is open at a time, that parts of one source
// in a row open it once, and that parts which continue each other are one copy.
func TestAssembleOpensOne(t *testing.T) { eachWay(t, assembleOpensOne) }

func assembleOpensOne(t *testing.T, kind string) {
	var ops []string
	open, most := 0, 0
	s := filestore.On(opens{vfs.Hook(onWoven(t), func(op vfs.Op) error {
		if op.Kind == "open" && strings.HasPrefix(op.Name, "a/") || op.Kind == kind {
			ops = append(ops, op.Kind)
		}
		return nil
	}), func(by int) {
		open += by
		most = max(most, open)
	}}, nil)
	if _, err := s.Write(t.Context(), store.Assemble(store.MustKey("b/m"), woven), store.Flush); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(ops, " "), strings.ReplaceAll("open copy open copy open copy", "copy", kind); got != want {
		t.Errorf("operations are %q, want %q", got, want)
	}
	if most != 1 || open != 0 {
		t.Errorf("%d files are open, at most %d were", open, most)
	}
	if got := valueOf(t, s, "b/m"); got != wovenValue {
		t.Errorf("the value is %q, want %q", got, wovenValue)
	}
}

// opens counts the files that are open for reading.
type opens struct {
	vfs.FS
	count func(by int)
}

func (o opens) Open(name string) (vfs.File, error) {
	f, err := o.FS.Open(name)
	if err != nil {
		return nil, err
	}
	o.count(1)
	return counting{f, o.count}, nil
}

type counting struct {
	vfs.File
	count func(by int)
}

func (c counting) Close() error {
	c.count(-1)
	return c.File.Close()
}

// TestAssembleWhileReplaced replaces or deletes a source before each operation of an
// assembly that takes from it before and after another one. The ranges are of one
// version.
func TestAssembleWhileReplaced(t *testing.T) { eachWay(t, assembleWhileReplaced) }

func assembleWhileReplaced(t *testing.T, kind string) {
	source, key := store.MustKey("a/k"), store.MustKey("b/m")
	for _, end := range []string{"9876543210", gone} {
		ends := map[string]int{}
		race(t, func() *vfs.Disk { return onWoven(t) }, func(s *filestore.Store) error {
			_, err := s.Write(t.Context(), store.Assemble(key, woven), store.Sync)
			return err
		}, func(_ context.Context, s *filestore.Store) (err error) {
			if end == gone {
				_, err := s.Write(t.Context(), store.Delete(source), store.Sync)
				return err
				// waits for no lock
			}
			_, err = s.Write(t.Context(), store.Put(source, []byte(end)), store.Flush)
			return err
		}, func(label string, d *vfs.Disk, first, second error) {
			got := valueOf(t, filestore.On(d, nil), "b/m")
			ends[got]++
			whole := got == wovenValue || got == "98765|abcde43210"
			if first != nil || (second == nil) != whole || second != nil && got != "before" {
				t.Errorf("%s: the value is %q; errors %v and %v", label, got, first, second)
			}
			if second != nil && !errors.Is(second, store.ErrConflict) && (end != gone || !errors.Is(second, fs.ErrNotExist)) {
				t.Errorf("%s: error is %v, want %v", label, second, store.ErrConflict)
			}
			if left := diskNames(d, "b"); !slices.Equal(left, []string{"m"}) {
				t.Errorf("%s: left over: %q", label, left)
			}
		})
		if len(ends) < 2 || ends["before"] == 0 || ends[wovenValue] == 0 {
			t.Errorf("the ends were %v", ends)
		}
	}
}

// TestAssembleOfChangedFile lets another program change a source in place while it is
// copied.
func TestAssembleOfChangedFile(t *testing.T) { eachWay(t, assembleOfChangedFile) }

func assembleOfChangedFile(t *testing.T, kind string) {
	for name, change := range map[string]func(f *os.File) error{
		"cut":       func(f *os.File) error { return f.Truncate(1) },
		"longer":    func(f *os.File) error { return f.Truncate(1000) },
		"rewritten": func(f *os.File) error { _, err := f.WriteAt([]byte("X"), 5); return err },
	} {
		for at := 1; at <= 3; at++ {
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
				if copies++; copies != at {
					return nil
				}
				time.Sleep(tick) // so that the change has another time
				f, err := os.OpenFile(filepath.Join(dir, "a", "k"), os.O_RDWR, 0)
				if err != nil {
					return err
				}
				return errors.Join(change(f), f.Close())
			}), nil)
			put(t, s, "a/k", "0123456789")
			put(t, s, "a/l", "abcdef")
			if _, err := s.Write(t.Context(), store.Assemble(store.MustKey("b/m"), woven), store.Flush); !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s at copy %d: error is %v, want %v", name, at, err, store.ErrConflict)
			}
			if left := below(t, dir); !slices.Equal(left, []string{"a/k", "a/l"}) {
				t.Errorf("%s at copy %d: the files are %q", name, at, left)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAssembleLeavesNothing fails each operation before the rename, and ends the context
// during a copy. The old value stays, and there are no other files.
func TestAssembleLeavesNothing(t *testing.T) { eachWay(t, assembleLeavesNothing) }

func assembleLeavesNothing(t *testing.T, kind string) {
	for i := int64(0); ; i++ {
		hook, failed := vfs.FailAt(i, syscall.ENOSPC)
		d, renamed := onWoven(t), false
		s := filestore.On(vfs.Hook(d, func(op vfs.Op) error {
			err := hook(op)
			renamed = renamed || op.Kind == "rename" && err == nil
			return err
		}), nil)
		_, err := s.Write(t.Context(), store.Assemble(store.MustKey("b/m"), woven), store.Flush)
		want := "before"
		if renamed {
			want = wovenValue
		}
		if got := valueOf(t, filestore.On(d, nil), "b/m"); got != want || err == nil && !renamed {
			t.Errorf("fault at operation %d: the key has %q, want %q; error is %v", i, got, want, err)
		}
		if left := diskNames(d, "b"); !slices.Equal(left, []string{"m"}) {
			t.Errorf("fault at operation %d: the files are %q", i, left)
		}
		if !failed() {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := filestore.On(vfs.Hook(onWoven(t), func(op vfs.Op) error {
		if op.Kind == kind {
			cancel()
		}
		return nil
	}), nil)
	if _, err := s.Write(ctx, store.Assemble(store.MustKey("b/m"), woven), store.Sync); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want %v", err, context.Canceled)
	}
	if got := valueOf(t, s, "b/m"); got != "before" {
		t.Errorf("the key has %q", got)
	}
}

// TestAssembleThroughLinks assembles behind links from values behind links.
func TestAssembleThroughLinks(t *testing.T) {
	s := linkedStore(t) // l -> x/y, x/y/f -> v
	put(t, s, "v", "0123456789")
	parts := []store.Part{part("l/f", 0, 5), part("v", 5, 5), part("x/y/f", 0, 1)}
	v, err := s.Write(t.Context(), store.Assemble(store.MustKey("l/new"), parts), store.Flush)
	if err != nil || v.Version != present(t, s, "x/y/new") || valueOf(t, s, "x/y/new") != "01234567890" {
		t.Errorf("version %v, error %v, the value is %q", v.Version, err, fmt.Sprint(valueOf(t, s, "x/y/new")))
	}
}
