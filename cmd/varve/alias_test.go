// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/node"
)

// aliasGroup makes the groups g, with the arrays a and sub/a, and h, with b, in one
// store, and links in it.
func aliasGroup(t *testing.T, links map[string]string) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "r.zarr")
	must(t, "", "create", root, "--group")
	for _, group := range []string{"/g", "/g/sub", "/h"} {
		must(t, "", "create", root+group, "--group")
	}
	for _, array := range []string{"/g/a", "/g/sub/a", "/h/b"} {
		must(t, "", "create", root+array, "--shape", "4", "--dtype", "int32", "--chunks", "2", "--dimension-names", "x")
		must(t, "", "write", root+array, "--value", "7")
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	return root
}

// TestMoveIntoItself moves a group into itself through a link, and copies an array over
// itself. Both must fail and change nothing.
func TestMoveIntoItself(t *testing.T) {
	root := aliasGroup(t, map[string]string{"g/ls": "sub", "g/l": "a"})
	want := must(t, "", "cat", root+"/g/a")
	for _, args := range [][]string{
		{"copy", root + "/g/sub", root + "/g/ls/new", "--move"}, {"copy", root + "/g/l", root + "/g/a", "--overwrite"},
		{"copy", root + "/g/ls", root + "/g/sub", "--overwrite", "--yes"}, {"convert", root + "/g/l", root + "/g/a", "--to", "2", "--overwrite"},
		{"copy", root + "/g/ls/a", root + "/h/a", "--move"},
	} {
		if _, errs, status := execute(t, "", args...); status != 2 && status != 1 || errs == "" {
			t.Errorf("%s: status %d, %s", args, status, errs)
		}
		for _, array := range []string{"/g/a", "/g/sub/a"} {
			if got := must(t, "", "cat", root+array); got != want {
				t.Errorf("after %s: %s", args, got)
			}
		}
	}
	if !node.Exists(root + "/g/sub/a/zarr.json") {
		t.Error("a group is gone")
	}
}

// TestMoveOfGroup moves a group that is a store. Its folder must be removed, too.
func TestMoveOfGroup(t *testing.T) {
	root := aliasGroup(t, nil)
	must(t, "", "copy", root, root+"2.zarr", "--move")
	if node.Exists(root) {
		t.Error("the folder is left")
	}
	must(t, "", "cat", root+"2.zarr/g/sub/a")
	if err := os.Symlink("r.zarr2.zarr", root); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if _, errs, status := execute(t, "", "copy", root, root+"3.zarr", "--move"); status == 0 || !strings.Contains(errs, "symbolic link") {
		t.Errorf("by a link: status %d, %s", status, errs)
	}
	must(t, "", "cat", root+"2.zarr/g/sub/a")
}

// TestLostLinks runs commands on a group with a symbolic link that is not followed.
// Commands that only look name it, and those that copy, compare, convert or check fail.
// A removal removes the link, and nothing through it.
func TestLostLinks(t *testing.T) {
	for name, c := range map[string]struct{ at, target, words string }{
		"a member elsewhere": {"g/out", "../../other.zarr", "leads out of the store"},
		"nothing":            {"g/out", "none", "a symbolic link to nothing"},
		"itself":             {"g/out", "out", "or to itself"},
		"a group above":      {"g/sub/out", "..", "a directory that contains it"},
		"an absolute path":   {"g/out", t.TempDir(), "an absolute path"},
		"a lost chunk":       {"g/a/c/1", "../nothing", "a symbolic link to nothing"},
	} {
		t.Run(name, func(t *testing.T) { lostLink(t, c.at, c.target, c.words) })
	}
}

func lostLink(t *testing.T, at, target, words string) {
	root := aliasGroup(t, nil)
	must(t, "", "create", filepath.Dir(root)+"/other.zarr", "--shape", "1", "--dtype", "int8")
	if err := os.RemoveAll(root + "/" + at); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, root+"/"+at); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	src, dst := root+"/g", root+"-new.zarr"
	directories := regexp.MustCompile(`(?m)^.* d[rwx-]{9} \d+\n`) // whose times temporary files change
	files := func() string { return directories.ReplaceAllString(treeOf(t, filepath.Dir(root)), "") }
	was := files()
	member := !strings.Contains(at, "/c/")
	for _, args := range [][]string{{"tree", root}, {"ls", filepath.Dir(root + "/" + at)}, {"info", filepath.Dir(root + "/" + at)}} {
		if _, errs, status := execute(t, "", args...); member && (status != 0 || !strings.Contains(errs, words)) {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
	for _, args := range [][]string{
		{"copy", src, dst}, {"copy", src, dst, "--dry-run"}, {"copy", src, dst, "--move"}, {"copy", src, dst, "--sync"}, {"copy", src, root + ".zip"},
		{"convert", src, dst, "--to", "2"}, {"convert", src, dst, "--to", "2", "--dry-run"}, {"equal", src, src}, {"diff", src, src},
		{"check", src}, {"consolidate", root}, {"vacuum", src},
	} {
		if !member && (args[0] == "consolidate" || args[0] == "vacuum") {
			continue // these read no chunks
		}
		if out, errs, status := execute(t, "", args...); status != 1 || !strings.Contains(out+errs, "symbolic link") {
			t.Errorf("%q: status %d, %s%s", args, status, out, errs)
		}
		if files() != was {
			t.Fatalf("%q changes files", args)
		}
	}
	if _, errs, status := execute(t, "", "cat", root+"/g/a"); !member && (status != 1 || !strings.Contains(errs, "symbolic link")) {
		t.Errorf("reading: status %d, %s", status, errs)
	}
	must(t, "", "rm", "--yes", src)
	must(t, "", "info", filepath.Dir(root)+"/other.zarr")
}

// TestChangeOfAliases changes the arrays of a group, of which some are links to arrays
// elsewhere.
func TestChangeOfAliases(t *testing.T) {
	root := aliasGroup(t, map[string]string{"g/ls": "sub", "g/l": "a", "g/h": "../h/b"})
	was, err := os.ReadFile(root + "/h/b/zarr.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"unlock", root + "/g"}, {"resize", root + "/g", "x=6"}, {"resize", root + "/g", "x=6", "--alone"}} {
		out, errs, _ := execute(t, "", args...)
		if !strings.Contains(errs, "g/h: is left unchanged: it is a symbolic link to /h/b, which is not in the group") {
			t.Errorf("%s: %s%s", args, out, errs)
		}
		if is, err := os.ReadFile(root + "/h/b/zarr.json"); err != nil || string(is) != string(was) {
			t.Errorf("after %s: %v, %s", args, err, is)
		}
	}
	if out := must(t, "", "info", root+"/g/a"); !strings.Contains(out, "6") {
		t.Error(out)
	}
	if out, errs, status := execute(t, "", "append", root+"/g", "a="+root+"/h/b", "l="+root+"/h/b", "--lock-timeout", "5s"); status == 0 || !strings.Contains(errs, "named twice") {
		t.Errorf("append to both: %s%s", out, errs)
	}
}

// TestExportIntoNode checks that export does not write a file into a node.
func TestExportIntoNode(t *testing.T) {
	root := aliasGroup(t, map[string]string{"g/l": "a"})
	for _, file := range []string{"/g/a/zarr.json", "/g/a/c/0", "/g/a/c/9", "/g/x.npy", "/g/l/c/1", "/values.raw"} {
		before, _ := os.ReadFile(root + file)
		if _, errs, status := execute(t, "", "export", root+"/h/b", "--format", "raw", "-o", root+file); status == 0 || !strings.Contains(errs, "is a Zarr node") {
			t.Errorf("%s: status %d, %s", file, status, errs)
		}
		if after, _ := os.ReadFile(root + file); string(after) != string(before) {
			t.Errorf("%s has changed", file)
		}
	}
	must(t, "", "export", root+"/h/b", "-o", filepath.Dir(root)+"/b.npy")
}
