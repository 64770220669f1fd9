// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// symlink makes a symbolic link, or skips the test.
func symlink(t *testing.T, top, name, target string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(top, filepath.FromSlash(name))); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

func pathOf(t *testing.T, text string) store.Path {
	t.Helper()
	p, err := store.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDeleteTreeFollowsNoLink deletes a directory with every kind of link. It removes the
// links, and their targets stay.
func TestDeleteTreeFollowsNoLink(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "store")
	s := open(t, dir, &filestore.Options{Create: true})
	write(t, filepath.Join(outer, "far", "zarr.json"), "far")
	for _, name := range []string{"zarr.json", "a/zarr.json", "a/c/0", "a/sub/zarr.json", "b/zarr.json", "b/c/0"} {
		put(t, s, name, "v")
	}
	for name, target := range map[string]string{
		"a/node": "../b", "a/sub/chunks": "../../b/c", "a/file": "../b/c/0", "a/zarr2": "../b/zarr.json", "a/top": "..",
		"a/self": ".", "a/out": "../../far", "a/abs": filepath.Join(outer, "far"), "a/broken": "none",
	} {
		symlink(t, dir, name, target)
	}
	order := store.TreeOrder{First: []string{"zarr.json"}}
	if err := store.DeleteTree(t.Context(), s, pathOf(t, "a"), order, store.Sync); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s); !slices.Equal(got, []string{"b/c/0", "b/zarr.json", "zarr.json"}) {
		t.Errorf("the store holds %q", got)
	}
	if _, err := os.Lstat(filepath.Join(dir, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outer, "far", "zarr.json")); err != nil {
		t.Error(err)
	}
}

// TestDeleteTreeOfDocumentNames deletes a tree in which directories have the names of the
// values that come first and last.
func TestDeleteTreeOfDocumentNames(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	for _, name := range []string{"g/first/zarr.json", "g/first/c/0", "g/sub/second/k", "g/last/first/k", "g/second", "other/k"} {
		put(t, s, name, "v")
	}
	order := store.TreeOrder{First: []string{"first", "second"}, Last: "last"}
	if err := store.DeleteTree(t.Context(), s, pathOf(t, "g"), order, store.Sync); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s); !slices.Equal(got, []string{"other/k"}) {
		t.Errorf("the store holds %q", got)
	}
	if _, err := os.Lstat(filepath.Join(dir, "g")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

// TestDeleteTreeOfLink checks that DeleteTree refuses a directory that is a link, and
// deletes one whose parent is a link to a node.
func TestDeleteTreeOfLink(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	for _, name := range []string{"g/zarr.json", "g/a/zarr.json", "g/a/c/0", "plain/x/k"} {
		put(t, s, name, "v")
	}
	symlink(t, dir, "link", "g")
	symlink(t, dir, "other", "plain")
	for _, name := range []string{"link", "other", "other/x"} {
		if err := store.DeleteTree(t.Context(), s, pathOf(t, name), store.TreeOrder{}, store.Flush); !errors.Is(err, vfs.ErrLinked) {
			t.Errorf("%s: error is %v, want %v", name, err, vfs.ErrLinked)
		}
	}
	if err := store.DeleteTree(t.Context(), s, pathOf(t, "link/a"), store.TreeOrder{}, store.Flush); err != nil {
		t.Error(err)
	}
	got := names(t, s)
	if want := []string{"g/zarr.json", "link/zarr.json", "other/x/k", "plain/x/k"}; !slices.Equal(got, want) {
		t.Errorf("the store holds %q, want %q", got, want)
	}
}

// TestDeleteTreeSwapped replaces a directory by a link to another node while its tree is
// deleted.
func TestDeleteTreeSwapped(t *testing.T) {
	for _, kind := range []string{"readdir", "remove"} {
		dir := t.TempDir()
		root, err := vfs.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		done, looked := false, false
		s := filestore.On(vfs.Hook(root, func(op vfs.Op) error {
			if done || op.Kind != kind || op.Name != "a/c" && op.Name != "a/c/0" {
				return nil
			}
			if kind == "readdir" && !looked { // nothing is deleted yet
				looked = true
				return nil
			}
			done = true
			return errors.Join(os.Rename(filepath.Join(dir, "a", "c"), filepath.Join(dir, "moved")), os.Symlink("../b/c", filepath.Join(dir, "a", "c")))
		}), nil)
		for _, name := range []string{"a/c/0", "a/c/1", "b/zarr.json", "b/c/0", "b/c/1"} {
			put(t, s, name, "v")
		}
		symlink(t, dir, "probe", "b")
		if err := store.DeleteTree(t.Context(), s, pathOf(t, "a"), store.TreeOrder{}, store.Flush); !errors.Is(err, vfs.ErrLinked) || !done {
			t.Errorf("%s: error is %v, want %v", kind, err, vfs.ErrLinked)
		}
		for _, name := range []string{"b/zarr.json", "b/c/0", "b/c/1"} {
			if _, err := get(t, s, name); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		s.Close()
	}
}

// TestDeleteTreeKeepsLive deletes a directory with files of a running writer, which stay,
// and of crashed writers.
func TestDeleteTreeKeepsLive(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir, nil), open(t, dir, nil)
	put(t, s, "g/a/k", "v")
	put(t, s, "g/b/k", "v")
	for _, name := range []string{"g/b/__varve.lock", "g/b/__varve.publish", "g/__tmp-0000000000001-1", "g/__varve/__tmp-0000000000001-2", "g/__varve/__varve.lock", "g/b/__tmp-000000000000x"} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), "")
	}
	put(t, s, "g/__varve/pending.json", "{}")
	unlock, err := other.Lock(t.Context(), pathOf(t, "g/a"))
	if err != nil {
		t.Skip(err)
	}
	if err := store.DeleteTree(t.Context(), s, pathOf(t, "g"), store.TreeOrder{}, store.Flush); err != nil {
		t.Error(err)
	}
	if got := below(t, dir); !slices.Equal(got, []string{"g/a/__varve.lock"}) {
		t.Errorf("%q are left, want the lock that is held", got)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if got := below(t, dir); len(got) > 0 {
		t.Errorf("%q are left", got)
	}
}

// below lists all files below a directory.
func below(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			p, err = filepath.Rel(dir, p)
			names = append(names, filepath.ToSlash(p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestDeleteThroughLinkInGroup checks that a deletion follows a link in a group to an
// array, but not a link in an array, even if that array is the top of the store. The same
// holds for writes.
func TestDeleteThroughLinkInGroup(t *testing.T) {
	const group, array = `{"node_type":"group"}`, `{"node_type":"array"}`
	dir := t.TempDir()
	s := open(t, dir, nil)
	for name, value := range map[string]string{
		"zarr.json": group, "g/zarr.json": group, "b/zarr.json": array, "b/c/0": "v", "b/0": "v", "old/.zarray": "{}",
	} {
		put(t, s, name, value)
	}
	symlink(t, dir, "g/latest", "../b")
	symlink(t, dir, "old/0", "../b")
	symlink(t, dir, "b/__varve", "../g")
	for _, name := range []string{"old/0/c/0", "b/__varve/zarr.json"} {
		if _, err := s.Write(t.Context(), store.Delete(store.MustKey(name)), store.Sync); !errors.Is(err, vfs.ErrLinked) {
			t.Errorf("%s: error is %v, want %v", name, err, vfs.ErrLinked)
		}
		if _, err := s.Write(t.Context(), store.Put(store.MustKey(name+"/new"), nil), store.Sync); !errors.Is(err, vfs.ErrLinked) {
			t.Errorf("Put %s/new: error is %v, want %v", name, err, vfs.ErrLinked)
		}
	}
	if _, err := s.Write(t.Context(), store.PutIf(store.MustKey("g/latest/c/1/0"), nil, store.IfAbsent()), store.Sync); err != nil {
		t.Error(err)
	}
	if _, err := s.Write(t.Context(), store.Delete(store.MustKey("g/latest/c/0")), store.Sync); err != nil {
		t.Error(err)
	}
	put(t, s, "zarr.json", array)
	if _, err := s.Write(t.Context(), store.Delete(store.MustKey("g/latest/0")), store.Sync); !errors.Is(err, vfs.ErrLinked) {
		t.Errorf("below an array: error is %v, want %v", err, vfs.ErrLinked)
	}
}
