// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// TestNothingLeft gives arguments that cannot be right to commands that make something.
// They fail before they make anything, also an empty folder or group.
func TestNothingLeft(t *testing.T) {
	racing.Skip(t)
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, "", "create", "g.zarr", "--group")
	must(t, "", "create", "g.zarr/a", "--shape", "64,64", "--dtype", "uint8", "--chunks", "32", "--dimension-names", "y,x")
	list := func() (names string) {
		_ = filepath.WalkDir(".", func(name string, _ fs.DirEntry, _ error) error {
			names += name + "\n"
			return nil
		})
		return names
	}
	before := list()
	for _, line := range []string{
		"pyramid g.zarr/a --levels 0", "pyramid g.zarr/a --levels -2", "pyramid g.zarr/a --levels 63", "pyramid g.zarr/a --levels x",
		"pyramid g.zarr/a --factors y=0", "pyramid g.zarr/a --factors [2,0]", "pyramid g.zarr/a --factors q=2", "pyramid g.zarr/a --factors [1,1]",
		"stats g.zarr/a --memory x", "stats g.zarr/a --drop --print", "stats g.zarr/none",
		"pyramid g.zarr/a --method q", "pyramid g.zarr/a --memory x", "pyramid g.zarr/a --memory 1B",
		"create new/n.zarr --shape 4 --dtype int8 --chunks 0", "create new/n.zarr --shape 4 --dtype int8 --fill x", "create new/n.zarr --shape 4 --dtype int8 --dimension-names a,b",
		"create new/n.zarr --shape 4 --dtype int8 --codecs [{\"name\":\"q\"}]", "create new/n.zarr --shape 4 --dtype int8 --chunks calendar:month --time t",
		"create new/n.zarr --shape 4 --dtype int8 --zarr-format 2 --shards 2", "create new/n.zarr --from none.npy", "create new/n.zarr --group --attributes 1",
		"copy g.zarr/none new.zarr", "copy g.zarr new.zarr --sync --newer-than x", "convert g.zarr new.zarr --to 4", "convert g.zarr/none new.zarr --to 2",
		"rechunk g.zarr/a new.zarr --chunks 0", "rechunk g.zarr/a new.zarr --chunks 9,9,9", "rechunk g.zarr/a new.zarr --chunks 9 --fill x",
		"rechunk g.zarr/a new.zarr --chunks 9 --memory x", "rechunk g.zarr/a new.zarr --chunks 9 --memory 1B", "rechunk g.zarr new.zarr --chunks 9",
		"rechunk g.zarr/a new.zarr --chunks 9 --select q=1", "rechunk g.zarr/a new.zarr --chunks calendar:month", "regularize g.zarr/a new.zarr --chunks 0", "regularize g.zarr/a new.zarr --chunks auto",
		"filter g.zarr/a new.zarr --where q>3", "filter g.zarr/a new.zarr --mask none --axis y", "materialize none.json new.zarr",
		"virtualize none.nc -o new.vz", "stitch g.zarr/a g.zarr/none", "export g.zarr/a -o new.npy --select 99", "export g.zarr/none -o new.npy",
		"grid g.zarr/none --svg new.svg", "compact g.zarr/a --to max:0 --plan new.json", "compact g.zarr/a --to max:9 --axis 7 --plan new.json",
		"drop g.zarr/a --range 9:99 --plan new.json", "demo new --from none",
	} {
		if _, stderr, status := execute(t, "", strings.Fields(line)...); status == 0 || stderr == "" {
			t.Errorf("%s: status %d, %s", line, status, stderr)
		}
		if is := list(); is != before {
			t.Fatalf("%s: left\n%s, there was\n%s", line, is, before)
		}
	}
}

// TestPyramidRemoved makes levels and removes them again: nothing is left of them, except
// what others have put beside them.
func TestPyramidRemoved(t *testing.T) {
	racing.Skip(t)
	g := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", g, "--group")
	must(t, "", "create", g+"/a", "--shape", "64,64", "--dtype", "uint8", "--chunks", "32")
	before := must(t, "", "tree", g)
	must(t, "", "pyramid", g+"/a", "--levels", "-1")
	if is := must(t, "", "tree", g); is != before {
		t.Errorf("without levels: %s", is)
	}
	must(t, "", "pyramid", g+"/a", "--levels", "2")
	must(t, "", "pyramid", g+"/a", "--levels", "-1")
	if is := must(t, "", "tree", g); is != before {
		t.Errorf("levels are left: %s, there was %s", is, before)
	}
	must(t, "", "pyramid", g+"/a", "--levels", "2")
	must(t, "", "create", g+"/a_levels/mine", "--shape", "1", "--dtype", "int8")
	must(t, "", "pyramid", g+"/a", "--levels", "-1")
	if is := must(t, "", "tree", g); !strings.Contains(is, "mine") {
		t.Errorf("a node of others is gone: %s", is)
	}
}
