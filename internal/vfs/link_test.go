// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestLink gives files second names in every kind of tree.
func TestLink(t *testing.T) {
	root, _ := openTree(t)
	disk := NewDisk()
	if err := disk.Mkdir("dir"); err != nil {
		t.Fatal(err)
	}
	disk.write(t, "file", "text", true)
	disk.write(t, "dir/file", "text", true)
	free := func(Op) error { return nil }
	for name, f := range map[string]FS{"root": root, "disk": disk, "hooked": Hook(disk, free)} {
		s, err := f.Link("file", "dir/link")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		was, err1 := f.Stat("file")
		is, err2 := f.Stat("dir/link")
		if err := errors.Join(err1, err2); err != nil || !s.SameFile(was) || !s.SameData(was) || s != is {
			t.Errorf("%s: the link is %+v, Link says %+v, the file is %+v; error %v", name, is, s, was, err)
		}
		// As POSIX requires, a rename between names of one file does nothing.
		if err := f.Rename("dir/link", "file"); err != nil {
			t.Errorf("%s: Rename: %v", name, err)
		}
		if _, err := f.Stat("dir/link"); err != nil {
			t.Errorf("%s: after a rename that does nothing: %v", name, err)
		}
		for _, c := range []struct {
			from, to string
			want     error
		}{
			{"file", "dir/file", fs.ErrExist}, {"none", "dir/new", fs.ErrNotExist}, {"file", "none/new", fs.ErrNotExist}, {"dir", "new", nil},
		} {
			if _, err := f.Link(c.from, c.to); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: Link of %s to %s: error is %v, want %v", name, c.from, c.to, err, c.want)
			}
		}
		if err := errors.Join(f.Remove("dir/link")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := f.Stat("file"); err != nil || !now.SameData(was) {
			t.Errorf("%s: without the link, the file is %+v, error %v", name, now, err)
		}
	}
}

// TestShare shares bytes of files where a file system can, and finds out where it cannot.
func TestShare(t *testing.T) {
	root, top := openTree(t)
	if err := os.WriteFile(filepath.Join(top, "src"), []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	plain, sharing := NewDisk(), NewDisk()
	sharing.Shares = true
	plain.write(t, "src", "text", true)
	sharing.write(t, "src", "text", true)
	free := func(Op) error { return nil }
	for name, c := range map[string]struct {
		fs   FS
		open func(string) (File, error)
		can  bool
	}{
		"disk": {plain, plain.Open, false}, "sharing disk": {sharing, sharing.Open, true}, "of another disk": {sharing, plain.Open, false},
		"hooked": {Hook(sharing, free), Hook(sharing, free).Open, true}, "of another tree": {root, plain.Open, false},
		"root": {root, root.Open, false}, "root, as package os": {root, root.openPlain, false},
	} {
		src, err := c.open("src")
		if err != nil {
			t.Fatal(err)
		}
		dst, err := c.fs.Create("dst")
		if err != nil {
			t.Fatal(err)
		}
		err = dst.Share(src)
		st, statErr := dst.Stat()
		// The temporary directory may be on a file system that shares.
		if unknown := c.fs == FS(root) && name != "of another tree"; !unknown && (err == nil) != c.can {
			t.Errorf("%s: error is %v, want one: %t", name, err, !c.can)
		}
		if want := map[bool]int64{true: 4, false: 0}[err == nil]; st.Size != want || statErr != nil {
			t.Errorf("%s: the file has %d bytes, want %d; error %v", name, st.Size, want, statErr)
		}
		if c.fs == FS(root) && src.Share(dst) == nil { // a disk in memory allows more
			t.Errorf("%s: a file that was opened to read takes bytes", name)
		}
		if err := errors.Join(dst.Close(), src.Close(), c.fs.Remove("dst")); err != nil {
			t.Error(err)
		}
	}
}
