// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveFollowsNoLink removes links, and names that lead through links. A link itself
// is removed; names behind links are refused.
func TestRemoveFollowsNoLink(t *testing.T) {
	r, top := openTree(t)
	for name, target := range map[string]string{"to-dir": "dir", "to-file": "file", "dir/up": "..", "broken": "none"} {
		link(t, top, name, target)
	}
	if err := r.Mkdir("dir/empty"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"to-dir/file", "dir/up/file", "to-dir/empty", "dir/up/dir/file"} {
		if err := r.Remove(name); !errors.Is(err, ErrLinked) {
			t.Errorf("Remove %q: error is %v, want %v", name, err, ErrLinked)
		}
		if err := r.RemoveDir(name); !errors.Is(err, ErrLinked) {
			t.Errorf("RemoveDir %q: error is %v, want %v", name, err, ErrLinked)
		}
	}
	for _, name := range []string{"file/x", "none/x"} {
		if err := r.Remove(name); !Missing(err) || errors.Is(err, ErrLinked) {
			t.Errorf("Remove %q: error is %v", name, err)
		}
	}
	for _, name := range []string{"to-dir", "to-file", "dir/up", "broken"} {
		if err := r.RemoveDir(name); err == nil {
			t.Errorf("RemoveDir %q: no error for a link", name)
		}
		if err := r.Remove(name); err != nil {
			t.Errorf("Remove %q: %v", name, err)
		}
		if _, err := os.Lstat(filepath.Join(top, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the link %q is still there: %v", name, err)
		}
	}
	for _, name := range []string{"file", "dir/file", "dir/empty"} {
		if _, err := r.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestReadlink(t *testing.T) {
	r, top := openTree(t)
	link(t, top, "dir/up", "../file")
	if target, err := r.Readlink("dir/up"); target != "../file" || err != nil {
		t.Errorf("it leads to %q, %v", target, err)
	}
	for _, name := range []string{"dir", "file", "none"} {
		if _, err := r.Readlink(name); err == nil {
			t.Errorf("%q counts as a link", name)
		}
	}
}
