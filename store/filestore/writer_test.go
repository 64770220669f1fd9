// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// dying returns a store that crashes after n operations: later operations have no effect,
// and its locks end.
func dying(t *testing.T, dir string, n int64) (s *Store, kill func()) {
	t.Helper()
	root, err := vfs.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := vfs.StopAt(n)
	s = On(vfs.Hook(root, before), nil)
	return s, func() {
		if s.writer.file != nil {
			s.writer.file.Close()
		}
		root.Close()
	}
}

// left lists everything below a directory, directories with a slash.
func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if p != dir && err == nil {
			p, err = filepath.Rel(dir, p)
			if e.IsDir() {
				p += "/"
			}
			names = append(names, filepath.ToSlash(p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// writing puts values one by one, in a batch and under conditions.
func writing(t *testing.T, s *Store) error {
	ctx, key := t.Context(), store.MustKey
	_, err := s.Write(ctx, store.Put(key("a/c/0"), []byte("v")), store.Sync)
	if err == nil {
		_, err = s.Write(ctx, store.PutIf(key("k"), []byte("v"), store.IfAbsent()), store.Sync)
	}
	b, batchErr := s.Batch(ctx, store.Sync)
	if err = errors.Join(err, batchErr); err != nil {
		return err
	}
	defer b.Discard()
	return errors.Join(errOf(b.Write(ctx, store.Put(key("a/c/1"), []byte("v")))), errOf(b.Write(ctx, store.Put(key("b/c/1"), []byte("v")))), b.Commit(ctx))
}

// TestSweep crashes a writer before each of its operations. The next writer removes its
// temporary files, and none of a running writer.
func TestSweep(t *testing.T) {
	for n := int64(0); ; n++ {
		dir := t.TempDir()
		s, kill := dying(t, dir, n)
		err := writing(t, s)
		alive, openErr := OpenStore(dir, nil)
		if openErr != nil {
			t.Fatal(openErr)
		}
		tmp := alive.temporaryIn("a")
		if writeErr := errors.Join(os.MkdirAll(filepath.Join(dir, "a"), 0o777), os.WriteFile(filepath.Join(dir, tmp), nil, 0o666)); writeErr != nil {
			t.Fatal(writeErr)
		}
		kill()
		next, openErr := OpenStore(dir, nil)
		if openErr != nil {
			t.Fatal(openErr)
		}
		next.Sweep(t.Context())
		for _, name := range left(t, dir) {
			if strings.Contains(name, own.Temporary) && name != tmp && !strings.Contains(name, alive.writer.id) && name != own.Writers+"/" {
				t.Errorf("killed at operation %d: %s is left", n, name)
			}
		}
		if _, statErr := os.Stat(filepath.Join(dir, tmp)); statErr != nil {
			t.Errorf("killed at operation %d: the file of a live writer: %v", n, statErr)
		}
		alive.drop(tmp)
		next.Sweep(t.Context())
		if _, statErr := os.Stat(filepath.Join(dir, own.Writers)); !errors.Is(statErr, fs.ErrNotExist) {
			t.Errorf("killed at operation %d: %v", n, statErr)
		}
		if err := errors.Join(store.Close(alive), store.Close(next)); err != nil {
			t.Error(err)
		}
		if err == nil {
			break
		}
	}
}

// TestSweepKnowsMachines checks that a sweep keeps files of another boot on a network
// file system, where locks may not be visible, and removes them on a local one.
func TestSweepKnowsMachines(t *testing.T) {
	for name, c := range map[string]struct {
		boot  string
		local bool
		gone  bool
	}{
		"this machine": {"this", false, true}, "another machine": {"other", false, false}, "before a restart": {"other", true, true},
		"a machine that cannot tell": {"", false, false},
	} {
		d := vfs.NewDisk()
		dead := On(d, nil)
		dead.boot = c.boot
		tmp := dead.temporaryIn(".")
		if f, err := d.Create(tmp); err != nil || f.Close() != nil || dead.writer.file.Close() != nil {
			t.Fatal(err)
		}
		next := On(mountedDisk{d, c.local}, nil)
		next.boot = "this"
		want := writerUnknown
		if c.gone {
			want = writerGone
		}
		for f, err := range next.listTemporary(t.Context(), store.Path{}) {
			if f.Name != tmp || f.writer != want || err != nil {
				t.Errorf("%s: %v, want state %d (%v)", name, f, want, err)
			}
		}
		next.Sweep(t.Context())
		if _, err := d.Stat(tmp); errors.Is(err, fs.ErrNotExist) != c.gone {
			t.Errorf("%s: %v, want it gone: %t", name, err, c.gone)
		}
	}
}

// mountedDisk is a disk that may be a network mount.
type mountedDisk struct {
	vfs.FS
	local bool
}

func (e mountedDisk) Local() bool { return e.local }

// TestManyDirectories writes to more directories than a writer records.
func TestManyDirectories(t *testing.T) {
	d := vfs.NewDisk()
	s := On(d, nil)
	s.begin()
	var tmp string
	for i := range mostDirs + 2 {
		tmp = s.temporaryIn("d/" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + string(rune(0x4e00+i)))
		s.end(nil)
	}
	if len(s.writer.dirs) != mostDirs+1 || !s.writer.dirs[everywhere] {
		t.Errorf("%d directories are named", len(s.writer.dirs))
	}
	dir := filepath.ToSlash(filepath.Dir(tmp))
	if err := errors.Join(d.Mkdir("d"), d.Mkdir(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create(tmp); err != nil {
		t.Fatal(err)
	}
	s.writer.file.Close()
	next := On(d, nil)
	next.Sweep(t.Context())
	if _, err := d.Stat(tmp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", tmp, err)
	}
}

// TestNoWriterFile writes to a store where the file of the writer cannot be made, and to
// one without locks.
func TestNoWriterFile(t *testing.T) {
	for _, kind := range []string{"mkdir", "lock"} {
		d := vfs.NewDisk()
		s := On(vfs.Hook(d, func(op vfs.Op) error {
			if op.Kind == kind && strings.HasPrefix(op.Name, own.Writers) {
				return fs.ErrPermission
			}
			return nil
		}), nil)
		if _, err := s.Write(t.Context(), store.Put(store.MustKey("a/k"), []byte("v")), store.Sync); err != nil {
			t.Error(err)
		}
		var names []string
		for e := range d.ReadDir(".") {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, []string{"a"}) {
			t.Errorf("without %s: %q are there", kind, names)
		}
	}
}

// TestRemoveTemporaryOfUnknown removes old files of unknown writers, and keeps new ones.
func TestRemoveTemporaryOfUnknown(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenStore(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(s)
	tmp := filepath.Join(dir, s.temporaryIn("."))
	defer s.end(nil)
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{tmp, filepath.Join(dir, "__tmp-000000000000x-1"), filepath.Join(dir, "__tmp-000000000000y")} {
		if err := errors.Join(os.WriteFile(name, nil, 0o666), os.Chtimes(name, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.removeTemporary(t.Context(), 2*time.Hour); n != 0 || err != nil {
		t.Errorf("%d young files were removed, %v", n, err)
	}
	if n, err := s.removeTemporary(t.Context(), time.Minute); n != 2 || err != nil {
		t.Errorf("%d old files were removed, %v", n, err)
	}
	if _, err := os.Stat(tmp); err != nil {
		t.Errorf("the file of a live writer: %v", err)
	}
}
