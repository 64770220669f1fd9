// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemoveFollowsNoLink removes an array that contains a symbolic link to another one.
// The other one must stay.
func TestRemoveFollowsNoLink(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	for _, name := range []string{"/a", "/b"} {
		must(t, "", "create", group+name, "--shape", "4", "--dtype", "int32", "--chunks", "2")
		must(t, "", "write", group+name, "--value", "7")
	}
	want := must(t, "", "cat", group+"/b")
	if err := os.Symlink("../b", filepath.Join(group, "a", "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	must(t, "", "rm", "--yes", group+"/a")
	if got := must(t, "", "cat", group+"/b"); got != want {
		t.Errorf("b is %s, want %s", got, want)
	}
	if _, err := os.Lstat(filepath.Join(group, "a")); !os.IsNotExist(err) {
		t.Errorf("a is still there: %v", err)
	}
	if err := os.Symlink("../b", filepath.Join(group, "b", "link")); err != nil {
		t.Fatal(err)
	}
	must(t, "", "create", group+"/b", "--shape", "2", "--dtype", "int8", "--overwrite")
}

// TestReplaceFollowsNoLink replaces and removes nodes by paths through symbolic links.
// Each command must fail and name the target of the link.
func TestReplaceFollowsNoLink(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	for _, name := range []string{"/a", "/real/b"} {
		must(t, "", "create", group+name, "--shape", "4", "--dtype", "int32", "--chunks", "2")
		must(t, "", "write", group+name, "--value", "7")
	}
	for name, target := range map[string]string{"way": "real", "b": "real/b"} {
		if err := os.Symlink(target, filepath.Join(group, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	before := treeOf(t, group)
	a := group + "/a"
	for _, dst := range []string{group + "/way/b", group + "/b"} {
		for _, args := range [][]string{
			{"rm", dst, "--yes"}, {"rm", dst},
			{"create", dst, "--shape", "2", "--dtype", "int8", "--overwrite"}, {"create", dst, "--group", "--overwrite"},
			{"copy", a, dst, "--overwrite"}, {"copy", a, dst, "--overwrite", "--dry-run"}, {"copy", a, dst, "--overwrite", "--move"},
			{"convert", a, dst, "--to", "3", "--overwrite", "--yes"}, {"copy", group + "/real", dst, "--overwrite"},
		} {
			_, errs, status := execute(t, "", args...)
			if status != 1 || !strings.Contains(errs, "symbolic link") || !strings.Contains(errs, "real") || strings.Contains(errs, "--yes") {
				t.Errorf("%q: status %d, %s", args, status, errs)
			}
		}
	}
	if after := treeOf(t, group); after != before {
		t.Errorf("something has changed:\n%s\nwas\n%s", after, before)
	}
}

// TestBrokenLinks puts a link to nothing in the place of a chunk and of each directory
// above it. Whatever reads the chunk fails and names the link; nothing is a fill value.
func TestBrokenLinks(t *testing.T) {
	for _, link := range []string{"c", "c/1", "c/1/1"} {
		node := newNode(t, "--shape", "4,4", "--dtype", "int8", "--chunks", "2,2")
		must(t, "", "write", node, "--value", "3")
		at := filepath.Join(node, filepath.FromSlash(link))
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("nowhere", at); err != nil {
			t.Skip("no symbolic links here:", err)
		}
		for _, args := range [][]string{
			{"cat", node}, {"cat", node, "--select", "3,3"}, {"export", node, "--format", "raw"}, {"check", node}, {"check", node, "--fast"},
			{"check", node, "--digest"}, {"copy", node, node + "-copy"}, {"write", node, "--select", "3,3", "--value", "1"},
		} {
			out, errs, status := execute(t, "", args...)
			if status != 1 || !strings.Contains(out+errs, link) || !strings.Contains(out+errs, "nowhere") && !strings.Contains(out+errs, "link") {
				t.Errorf("%s: %q: status %d, %s%s", link, args[:1], status, out, errs)
			}
		}
	}
}
