// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// counted returns a store whose operations are counted by kind, and fail with the errors
// of refuse.
func counted(d vfs.FS, refuse map[string]error) (*filestore.Store, map[string]int) {
	counts := map[string]int{}
	return filestore.On(vfs.Hook(d, func(op vfs.Op) error {
		counts[op.Kind]++
		return refuse[op.Kind]
	}), nil), counts
}

// clone clones a/k to name and returns the result.
func clone(t *testing.T, s *filestore.Store, name string, from store.Version, d store.Durability) store.Written {
	t.Helper()
	made, err := s.Write(t.Context(), store.Clone(store.MustKey(name), store.MustKey("a/k"), from), d)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestCloneWays clones on file systems that share bytes, that have only hard links, and
// that have neither.
func TestCloneWays(t *testing.T) {
	for _, c := range []struct {
		name          string
		shares        bool
		refuse        map[string]error
		moved         int64
		oneFile       bool
		shared, links int
	}{
		{"shares", true, nil, 0, false, 2, 0},
		{"links", false, nil, 0, true, 1, 3}, // the first fails, as its directory is missing
		{"too many links", false, map[string]error{"link": syscall.EMLINK}, 5, false, 1, 2},
		{"copies", false, map[string]error{"link": syscall.EPERM, "share": syscall.EINVAL}, 5, false, 2, 2},
	} {
		d := vfs.NewDisk()
		d.Shares = c.shares
		s, counts := counted(d, c.refuse)
		put(t, s, "a/k", "value")
		v := present(t, s, "a/k")
		for _, name := range []string{"b/1", "b/2"} {
			made := clone(t, s, name, v, store.Flush)
			if made.Moved != c.moved || made.Size != 5 || made.Version != present(t, s, name) || made.Source != present(t, s, "a/k") {
				t.Errorf("%s: %+v, want %d bytes moved", c.name, made, c.moved)
			}
			if (made.Source == made.Version) != c.oneFile || (made.Source == v) == c.oneFile {
				t.Errorf("%s: the source has version %v, and had %v; the clone has %v", c.name, made.Source, v, made.Version)
			}
			if got := valueOf(t, s, name); got != "value" {
				t.Errorf("%s: %q", c.name, got)
			}
			v = made.Source
		}
		if counts["share"] != c.shared || counts["link"] != c.links {
			t.Errorf("%s: %v", c.name, counts)
		}
	}
}

// TestCloneAgain clones to a key that already is a link to the same file. The rename then
// does nothing. No file is left, and the time of the key is that of the clone.
func TestCloneAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	put(t, s, "a/k", "value")
	for range 3 {
		for _, name := range []string{"a/2", "a/k", "b/3"} {
			made := clone(t, s, name, present(t, s, "a/k"), store.Sync)
			if made.Version != present(t, s, name) || made.Source != present(t, s, "a/k") {
				t.Errorf("%s: %+v", name, made)
			}
		}
	}
	if got, want := below(t, dir), []string{"a/2", "a/k", "b/3"}; !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
}

// TestCloneLooksNew clones a value that seems to be of another year. Readers must notice
// that the key was written.
func TestCloneLooksNew(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no change time there")
	}
	dir := t.TempDir()
	s := open(t, dir, nil)
	put(t, s, "a/k", "value")
	old := time.Now().AddDate(-1, 0, 0)
	if err := os.Chtimes(filepath.Join(dir, "a/k"), old, old); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-tick)
	clone(t, s, "a/2", store.Version{}, store.Flush)
	if info, err := s.Stat(t.Context(), store.MustKey("a/2")); err != nil || info.Modified.Before(before) {
		t.Errorf("the clone is of %v, want %v or later; error %v", info.Modified, before, err)
	}
}

// TestCloneSyncsSource clones a value that was written with Flush. The source is synced
// before it gets a name, but only once for many clones.
func TestCloneSyncsSource(t *testing.T) {
	var syncs []string
	s := filestore.On(vfs.Hook(vfs.NewDisk(), func(op vfs.Op) error {
		if op.Kind == "sync" || op.Kind == "link" {
			syncs = append(syncs, op.Kind)
		}
		return nil
	}), nil)
	put(t, s, "a/k", "value") // with Flush
	b, err := s.Batch(t.Context(), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := b.Write(t.Context(), store.Clone(store.MustKey(fmt.Sprint("a/", i)), store.MustKey("a/k"), store.Version{})); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(syncs, " "), "sync link link link"; got != want {
		t.Errorf("the batch does %q, want %q", got, want)
	}
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, s, "a/k", "other")
	syncs = nil
	clone(t, s, "a/3", store.Version{}, store.Flush)
	clone(t, s, "a/4", store.Version{}, store.Sync)
	if got := strings.Join(syncs, " "); !strings.HasPrefix(got, "link sync link sync") {
		t.Errorf("a clone with Flush and one with Sync do %q", got)
	}
}

// TestCloneThroughLinks clones a value whose key is a symbolic link, and one in a
// directory that is a symbolic link.
func TestCloneThroughLinks(t *testing.T) {
	s := linkedStore(t) // l -> x/y, x/y/f -> v
	put(t, s, "x/y/g", "in a linked directory")
	put(t, s, "v", "behind a link")
	for source, want := range map[string]string{"l/g": "in a linked directory", "x/y/f": "behind a link", "l/f": "behind a link"} {
		made, err := s.Write(t.Context(), store.Clone(store.MustKey("clone"), store.MustKey(source), present(t, s, source)), store.Flush)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := valueOf(t, s, "clone"); got != want || made.Source != present(t, s, source) || made.Version != present(t, s, "clone") {
			t.Errorf("%s: %q, %+v", source, got, made)
		}
		// A clone that is a symbolic link would change with its target.
		put(t, s, "v", "changed")
		put(t, s, "x/y/g", "changed")
		if got := valueOf(t, s, "clone"); got != want {
			t.Errorf("%s: %q after its source changed", source, got)
		}
		put(t, s, "x/y/g", "in a linked directory")
		put(t, s, "v", "behind a link")
	}
	made, err := s.Write(t.Context(), store.Clone(store.MustKey("l/new"), store.MustKey("v"), store.Version{}), store.Flush)
	if err != nil || valueOf(t, s, "x/y/new") != "behind a link" || made.Version != present(t, s, "x/y/new") {
		t.Errorf("a clone behind a link: %+v, error %v", made, err)
	}
}

// TestCloneWhileReplaced replaces or deletes the source before each operation of a clone.
// The clone has the old value, or there is none.
func TestCloneWhileReplaced(t *testing.T) {
	source, key := store.MustKey("a/k"), store.MustKey("b/clone")
	for _, shares := range []bool{false, true} {
		for _, end := range []string{"other", gone} { // of equal length
			disk := func() *vfs.Disk {
				d := vfs.NewDisk()
				d.Shares = shares
				s := filestore.On(d, nil)
				put(t, s, "a/k", "value")
				put(t, s, "b/clone", "before")
				return d
			}
			ends := map[string]int{}
			var from store.Version
			race(t, func() *vfs.Disk {
				d := disk()
				from = present(t, filestore.On(d, nil), "a/k")
				return d
			}, func(s *filestore.Store) error {
				_, err := s.Write(t.Context(), store.Clone(key, source, from), store.Sync)
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
				s := filestore.On(d, nil)
				want := "value"
				if second != nil {
					want = "before"
				}
				ends[want]++
				if got := valueOf(t, s, "b/clone"); got != want || valueOf(t, s, "a/k") != end || first != nil {
					t.Errorf("%s: the clone is %q, want %q; the source is %q; errors %v and %v", label, got, want, valueOf(t, s, "a/k"), first, second)
				}
				if second != nil && !errors.Is(second, store.ErrConflict) {
					t.Errorf("%s: error is %v, want %v", label, second, store.ErrConflict)
				}
				if left := diskNames(d, "b"); !slices.Equal(left, []string{"clone"}) {
					t.Errorf("%s: left over: %q", label, left)
				}
			})
			if len(ends) != 2 {
				t.Errorf("the ends were %v, want both", ends)
			}
		}
	}
}

// diskNames returns the names in a directory of a disk.
func diskNames(d *vfs.Disk, dir string) (names []string) {
	for e, err := range d.ReadDir(dir) {
		if err == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestCloneOfChangedFile lets another program change the source between the check of its
// version and each way to clone. The clone has the checked version, or fails.
func TestCloneOfChangedFile(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"cut":       func(file string) error { return os.Truncate(file, 2) },
		"longer":    func(file string) error { return os.Truncate(file, 1000) },
		"rewritten": func(file string) error { return os.WriteFile(file, []byte("VALUE"), 0o666) },
		"replaced": func(file string) error {
			return errors.Join(os.WriteFile(file+".new", []byte("VALUE"), 0o666), os.Rename(file+".new", file))
		},
		"deleted": os.Remove,
		"linked": func(file string) error {
			return errors.Join(os.Remove(file), os.WriteFile(file+".2", []byte("VALUE"), 0o666), os.Symlink("k.2", file))
		},
		"a directory": func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o777)) },
	} {
		for _, at := range []string{"share", "link", "copy"} {
			dir := t.TempDir()
			root, err := vfs.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			s := filestore.On(vfs.Hook(sharing{root}, func(op vfs.Op) error {
				switch {
				case op.Kind == "share" && at != "share", op.Kind == "link" && at == "copy":
					return syscall.EOPNOTSUPP // so that this way is tried
				case op.Kind != at:
					return nil
				}
				time.Sleep(tick) // so that the change has another time
				return change(filepath.Join(dir, "a", "k"))
			}), nil)
			put(t, s, "a/k", "value")
			put(t, s, "b/2", "before")
			_, err = s.Write(t.Context(), store.Clone(store.MustKey("b/2"), store.MustKey("a/k"), present(t, s, "a/k")), store.Flush)
			want := "before"
			if err == nil {
				want = "value"
			} else if !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s at %s: error is %v, want %v", name, at, err, store.ErrConflict)
			}
			if got := valueOf(t, s, "b/2"); got != want {
				t.Errorf("%s at %s: the clone is %q after error %v, want %q", name, at, got, err, want)
			}
			for _, file := range below(t, filepath.Join(dir, "b")) {
				if file != "2" {
					t.Errorf("%s at %s: left over: %q", name, at, file)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// sharing is a file system that seems to share bytes.
type sharing struct{ vfs.FS }

func (s sharing) Create(name string) (vfs.File, error) {
	f, err := s.FS.Create(name)
	return sharingFile{f}, err
}

type sharingFile struct{ vfs.File }

func (f sharingFile) Share(src vfs.File) error {
	st, err := src.Stat()
	if err != nil {
		return err
	}
	return f.CopyFrom(src, 0, st.Size)
}

// TestCloneCancelled ends the context before the rename.
func TestCloneCancelled(t *testing.T) {
	d := vfs.NewDisk()
	ctx, cancel := context.WithCancel(t.Context())
	s := filestore.On(vfs.Hook(d, func(op vfs.Op) error {
		if op.Kind == "link" {
			cancel()
		}
		return nil
	}), nil)
	put(t, s, "a/k", "value")
	_, err := s.Write(ctx, store.Clone(store.MustKey("a/2"), store.MustKey("a/k"), store.Version{}), store.Sync)
	if got := diskNames(d, "a"); !errors.Is(err, context.Canceled) || !slices.Equal(got, []string{"k"}) {
		t.Errorf("the files are %q, error is %v", got, err)
	}
}
