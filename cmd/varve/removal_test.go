// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemovedNamed checks that a dry run names the nodes that would be removed.
func TestRemovedNamed(t *testing.T) {
	dir := t.TempDir()
	g, other := filepath.Join(dir, "g.zarr"), filepath.Join(dir, "o.zarr")
	must(t, "", "create", other, "--shape", "3", "--dtype", "int8")
	for i := range 12 {
		must(t, "", "create", fmt.Sprintf("%s/deep/a%02d", g, i), "--shape", "3", "--dtype", "int8")
	}
	for _, args := range [][]string{
		{"rm", g}, {"create", g, "--group", "--overwrite"}, {"copy", other, g, "--overwrite"}, {"convert", other, g, "--to", "2", "--overwrite"},
		{"create", g, "--shape", "3", "--dtype", "int8", "--overwrite", "--yes"},
	} {
		text := must(t, "", append(args, "--dry-run")...)
		want := fmt.Sprintf("would remove  14 nodes: %s, %[1]s/deep, %[1]s/deep/a00, ", g)
		if !strings.Contains(text, want) || !strings.Contains(text, "/deep/a07 and 4 more\n") {
			t.Errorf("%s: %s", args, text)
		}
		plan := decode(t, must(t, "", append(args, "--dry-run", "--json")...))
		if nodes, _ := plan["nodes_removed"].([]any); len(nodes) != 14 || nodes[13] != g+"/deep/a11" {
			t.Errorf("%s: %v", args, plan)
		}
	}
	for _, args := range [][]string{{"copy", other, g + "/new", "--overwrite"}, {"copy", other, g + "/new"}, {"create", g + "/new", "--group"}} {
		if text := must(t, "", append(args, "--dry-run")...); strings.Contains(text, "would remove") {
			t.Errorf("%s: %s", args, text)
		}
	}
}

// TestRemovalOfNoChunks checks the plan of a removal without stored chunks: it has
// documents only, without those that mark a removal.
func TestRemovalOfNoChunks(t *testing.T) {
	text := must(t, "", "rm", "--dry-run", newNode(t, "--shape", "2", "--dtype", "int8"))
	if !strings.Contains(text, "would write   nothing permanent\n") || !strings.Contains(text, "would delete  0 chunks, 1 document: ") {
		t.Error(text)
	}
}

// TestNewFillNoted checks the note if an array with missing values grows by elements that
// are not missing.
func TestNewFillNoted(t *testing.T) {
	for _, c := range []struct{ flags, want string }{
		{`--attributes {"_FillValue":-32768,"add_offset":280.0,"units":"K"}`, "6 new elements are the fill value 0, which is 280 K decoded, not missing\n"},
		{`--attributes {"_FillValue":-32768}`, "6 new elements are the fill value 0, not missing\n"},
		{`--attributes {"missing_value":-1}`, "6 new elements are the fill value 0, not missing\n"},
		{`--attributes {"_FillValue":-32768} --fill -32768`, ""},
		{`--attributes {"add_offset":280.0}`, ""},
		{`--attributes {"_FillValue":-1} --zarr-format 2 --dimension-names y,x --fill 0`, ""}, // the fill value stands for no value
		{`--attributes {"_FillValue":-1} --zarr-format 2 --fill null`, "6 new elements are the fill value 0, not missing\n"},
	} {
		g := filepath.Join(t.TempDir(), "g.zarr")
		args := append([]string{"create", g + "/t", "--shape", "4,6", "--dtype", "int16"}, strings.Fields(c.flags)...)
		if _, errs, status := execute(t, "", args...); status != 0 {
			t.Fatal(errs)
		}
		wantNote(t, g, "resize g/t --shape 5,6", c.want)
		wantNote(t, g, "resize g/t --shape 5,5 --yes", "")
	}
	g := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", g+"/t", "--shape", "4,6", "--dtype", "int16", "--dimension-names", "y,x", "--attributes", `{"_FillValue":-1}`)
	if _, errs, status := execute(t, "", "resize", g, "y=5"); status != 0 || !strings.Contains(errs, "6 new elements are the fill value 0, not missing") {
		t.Errorf("of a group: %d, %s", status, errs)
	}
}

// TestArchiveKept checks that no message advises to remove an archive to which no node
// can be added.
func TestArchiveKept(t *testing.T) {
	dir := t.TempDir()
	node, zip := filepath.Join(dir, "a.zarr"), filepath.Join(dir, "a.zip")
	must(t, "", "create", node+"/t", "--shape", "2", "--dtype", "int8")
	must(t, "", "copy", node, zip)
	for _, args := range [][]string{{"create", zip + "/q", "--shape", "2", "--dtype", "int8"}, {"copy", node + "/t", zip + "/q"}} {
		_, errs, status := execute(t, "", args...)
		if status != 1 || !strings.Contains(errs, "copy it to a directory and change that") || strings.Contains(errs, "remove it") || strings.Contains(errs, "--overwrite") {
			t.Errorf("%s: %d, %s", args, status, errs)
		}
	}
}

// TestRemoveDocumentNames removes, moves and replaces groups with a member that has the
// name of a document.
func TestRemoveDocumentNames(t *testing.T) {
	for format, names := range map[string][]string{"3": {".zgroup", ".zarray", ".zattrs", ".zmetadata"}, "2": {"zarr.json", ".zattrs"}} {
		for _, name := range names {
			dir := t.TempDir()
			src, other := dir+"/src.zarr", dir+"/other.zarr"
			make := func(place string) {
				must(t, "", "create", place, "--group", "--zarr-format", format)
				must(t, "", "create", place+"/good", "--shape", "4", "--dtype", "int8", "--chunks", "2", "--zarr-format", format)
				must(t, "", "write", place+"/good", "--value", "1")
				if err := os.CopyFS(place+"/"+name, os.DirFS(place+"/good")); err != nil {
					t.Fatal(err)
				}
			}
			gone := func(what string) {
				if _, err := os.Lstat(src); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s with %s: %v", what, name, err)
				}
			}
			make(src)
			must(t, "", "rm", "--yes", src)
			gone("rm")
			make(src)
			must(t, "", "copy", "--move", src, dir+"/moved.zarr")
			gone("move")
			must(t, "", "cat", dir+"/moved.zarr/"+name)
			make(src)
			must(t, "", "create", other, "--group", "--zarr-format", format)
			must(t, "", "copy", "--overwrite", "--yes", other, src)
			if out := must(t, "", "ls", src); out != "" {
				t.Errorf("overwrite with %s leaves %s", name, out)
			}
			must(t, "", "rm", "--yes", src)
			gone("rm after overwrite")
		}
	}
}
