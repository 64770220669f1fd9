// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// versions returns the versions of a deep listing.
func versions(tb testing.TB, s store.Store, dir string) map[string]store.Version {
	tb.Helper()
	p, err := store.ParsePath(dir)
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]store.Version{}
	for e, err := range store.Usable(store.List(tb.Context(), s, p, store.Deep|store.WithVersions)) {
		if err != nil {
			tb.Fatal(err)
		}
		all[e.Name] = e.Version
	}
	return all
}

// TestListVersionsThroughLinks lists links to files and directories. They have the
// versions of their targets, as for Stat.
func TestListVersionsThroughLinks(t *testing.T) {
	s := linkedStore(t)
	put(t, s, "x/y/g", "value")
	put(t, s, "b/h", "value")
	for _, dir := range []string{"x/y", "x/a", "l"} {
		got := versions(t, s, dir)
		if len(got) == 0 {
			t.Errorf("%s has no values", dir)
		}
		for name, v := range got {
			if want := present(t, s, dir+"/"+name); v != want {
				t.Errorf("%s/%s: version %v, Stat says %v", dir, name, v, want)
			}
		}
	}
}

// TestListVersionsWhileChanged deletes and replaces files while they are listed.
func TestListVersionsWhileChanged(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	for i := range 10 {
		put(t, s, fmt.Sprintf("d/%d", i), "value")
	}
	at := func(name string) string { return filepath.Join(dir, "d", name) }
	got := map[string]store.Version{}
	for e, err := range s.List(t.Context(), pathOf(t, "d"), store.WithVersions) {
		if err != nil {
			t.Fatal(err)
		}
		if got[e.Name] = e.Version; len(got) > 1 {
			continue
		}
		// The first entry was yielded. The system has read the names of the others.
		var left []string
		for i := range 10 {
			if name := fmt.Sprint(i); name != e.Name {
				left = append(left, name)
			}
		}
		err := errors.Join(os.Remove(at(left[0])),
			os.Remove(at(left[1])), os.Mkdir(at(left[1]), 0o777),
			os.Remove(at(left[2])), os.Symlink("nothing", at(left[2])),
			os.Remove(at(left[3])), os.Symlink(left[4], at(left[3])))
		if err != nil {
			t.Skip("no symbolic links here:", err)
		}
		put(t, s, "d/"+left[5], "newer value")
	}
	want := versions(t, s, "d")
	if len(want) != 7 || !maps.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

// TestListVersionsFaults fails each system call of a listing, and deletes a file before
// each. A deleted file is omitted, and any other error ends the listing.
func TestListVersionsFaults(t *testing.T) {
	for name, fault := range map[string]error{"deleted": syscall.ENOENT, "failed": syscall.EIO} {
		for i := int64(0); ; i++ {
			hook, failed := vfs.FailAt(i, fault)
			d := vfs.NewDisk()
			for _, key := range []string{"a/1", "a/2", "b/1"} {
				put(t, filestore.On(d, nil), key, "value")
			}
			var at vfs.Op
			s := filestore.On(vfs.Hook(d, func(op vfs.Op) error {
				err := hook(op)
				if err != nil {
					at = op
				}
				return err
			}), nil)
			var names []string
			var last error
			for e, err := range s.List(t.Context(), store.Path{}, store.Deep|store.WithVersions) {
				if last = err; err == nil {
					names = append(names, e.Name)
				}
			}
			if !failed() {
				if i < 5 {
					t.Errorf("%d operations, want more", i)
				}
				break
			}
			if fault == syscall.EIO && !errors.Is(last, fault) || fault == syscall.ENOENT && last != nil || slices.Contains(names, at.Name) {
				t.Errorf("%s at %v: %q and error %v", name, at, names, last)
			}
		}
	}
}
