// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCreateNotesDimensions creates an array that differs in length from others of its
// group, and checks the note.
func TestCreateNotesDimensions(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group+"/time", "--shape", "600", "--dtype", "int8", "--dimension-names", "time")
	must(t, "", "create", group+"/fits", "--shape", "600,2", "--dtype", "int8", "--dimension-names", "time,x")
	create := []string{"create", group + "/pr", "--shape", "5,2", "--dtype", "int8", "--dimension-names", "time,x"}
	for _, args := range [][]string{append(create, "--dry-run"), create, {"copy", group + "/pr", group + "/pr2"}} {
		_, errs, status := execute(t, "", args...)
		if status != 0 || !strings.HasPrefix(errs, "note: "+group+"/pr") || !strings.Contains(errs, `: dimension "time" has length 5 in pr`) || !strings.Contains(errs, "and length 600 in fits, time of its group") {
			t.Errorf("%q: status %d, %q", args, status, errs)
		}
	}
	wantNote(t, group, "create g/deep/pr --shape 5 --dtype int8 --dimension-names time", "length 600 in /time: xarray.open_datatree does not open such a tree")
	must(t, "", "create", group+"/other", "--shape", "5", "--dtype", "int8", "--dimension-names", "y") // old differences are not its own
	must(t, "", "create", group+"/pr3", "--shape", "5", "--dtype", "int8", "--dimension-names", "time", "--json")
}

// TestMeantStore checks that stores with similar names are proposed, and the hint how a
// folder becomes a group.
func TestMeantStore(t *testing.T) {
	dir := t.TempDir()
	must(t, "", "create", dir+"/K.zarr/a", "--shape", "1", "--dtype", "int8")
	must(t, "", "create", dir+"/plain/g/t2m", "--shape", "1", "--dtype", "int8")
	overwrite(t, filepath.Join(dir, "K.zap"), "no store")
	for _, c := range []struct{ node, want string }{
		{"K.zar", "nothing is here (did you mean K.zarr?)"},
		{"k.zarr", "(did you mean K.zarr?)"},
		{"K.zarr/b", "(did you mean a?)"},
		{"plain/g", "(varve create " + dir + "/plain/g --group makes the folder a group)"},
		{"plain/g/t2", "(did you mean t2m?)"},
		{"K.zar/a", "nothing is here (did you mean " + dir + "/K.zarr/a?)"},
		{"K.zarr/entirely-else", "nothing is here: the group " + dir + "/K.zarr has no entirely-else\n"},
		{"K.zarr/a/b", "nothing is here: " + dir + "/K.zarr/a is an array, and no node is below it\n"},
		{"entirely-else/a/b", "nothing is here: " + dir + " has no entirely-else\n"},
		{"K.zarr/sub/b", "nothing is here: " + dir + "/K.zarr has no sub\n"},
	} {
		for _, args := range [][]string{{"info"}, {"cat"}, {"check"}, {"export"}, {"vacuum"}, {"copy", "", dir + "/new.zarr"}} {
			if len(args) == 1 {
				args = append(args, "")
			}
			args[1] = dir + "/" + c.node
			if _, errs, status := execute(t, "", args...); status != 1 || !strings.Contains(errs, c.want) {
				t.Errorf("%q: status %d, %s", args, status, errs)
			}
		}
	}
	for _, node := range []string{"entirely-else.zarr", "K"} {
		if _, errs, _ := execute(t, "", "info", dir+"/"+node); strings.Contains(errs, "did you mean") {
			t.Error(errs)
		}
	}
	must(t, "", "create", dir+"/plain/g", "--group")
	if out := must(t, "", "ls", dir+"/plain/g"); !strings.HasPrefix(out, "t2m") {
		t.Error(out)
	}
	t.Chdir(dir)
	if _, errs, _ := execute(t, "", "info", "K.zar"); !strings.Contains(errs, "(did you mean K.zarr?)") {
		t.Error(errs)
	}
}

// TestPictureName refuses to write SVG to a file of another kind.
func TestPictureName(t *testing.T) {
	node := newNode(t, "--shape", "4", "--dtype", "int8")
	dir := t.TempDir()
	if _, errs, status := execute(t, "", "grid", node, "--svg", dir+"/out.png"); status != 2 || !strings.Contains(errs, ".png") {
		t.Errorf("status %d, %s", status, errs)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Error(entries)
	}
	for _, name := range []string{"out.svg", "out", "out.SVG", ".hidden"} {
		must(t, "", "grid", node, "--svg", dir+"/"+name)
	}
	if out := must(t, "", "grid", node, "--svg", "-"); !strings.Contains(out, "<svg") {
		t.Error(out)
	}
}

// TestGrowFormat2 checks that messages name convert if a policy needs listed chunks,
// which format 2 does not have.
func TestGrowFormat2(t *testing.T) {
	node := newNode(t, "--shape", "3", "--dtype", "int8", "--zarr-format", "2")
	if _, errs, status := execute(t, "[1]", "append", node, "--grow", "fixed:3", "--format", "json"); status != 1 || !strings.Contains(errs, "(varve convert "+node+" --to 3)") || strings.Index(errs, "unlock") < strings.Index(errs, "convert") {
		t.Errorf("status %d, %s", status, errs)
	}
}
