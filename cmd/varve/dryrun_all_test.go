// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
)

// changesNothing are the commands without --dry-run, because they change no node that is
// there. Some write a file, or a new directory of their own.
var changesNothing = []string{
	"bench", "cat", "completion", "conformance", "demo", "diff", "doctor", "equal", "export", "grid", "help", "info", "ls", "man", "plan", "serve", "tree", "version", "view",
}

// TestEveryChangeHasDryRun runs one case of every command that changes something. With
// --dry-run it changes nothing, and prints a document with --json; without it, it does.
func TestEveryChangeHasDryRun(t *testing.T) {
	lines := map[string]string{
		"append":       "append G/x G/y",
		"attrs":        "attrs G/x set units 1",
		"check":        "check G --repair",
		"compact":      "compact G/x --to max:4",
		"consolidate":  "consolidate G",
		"convert":      "convert G/regular DIR/v2.zarr --to 2",
		"copy":         "copy G DIR/copy.zarr",
		"create":       "create G/new --shape 4 --dtype int8",
		"drop":         "drop G/x --axis 0 --range 0:1 --yes",
		"filter":       "filter G/x DIR/kept.zarr --mask DIR/mask.npy --axis 0",
		"icechunk":     "icechunk branch DIR/repo dev --delete --yes",
		"insert":       "insert G/x --at 0 G/y",
		"materialize":  "materialize DIR/n.vz DIR/real.zarr",
		"pyramid":      "pyramid G/plane --levels 1",
		"rechunk":      "rechunk G/regular --chunks 3",
		"regularize":   "regularize G/x --chunks 2",
		"reservations": "reservations G/held --cancel ID --yes",
		"resize":       "resize G/x --shape 8",
		"revert":       "revert G/dropped",
		"rm":           "rm G/x --yes",
		"run":          "run DIR/plan.json",
		"stats":        "stats G/plane",
		"stitch":       "stitch G/x G/y",
		"unlock":       "unlock G/regular",
		"vacuum":       "vacuum G/dropped --grace 0s --yes",
		"virtualize":   "virtualize DIR/n.npy -o DIR/other.vz",
		"write":        "write G/x --value 7 --yes",
	}
	for _, c := range newRoot().Commands() {
		_, changes := lines[c.Name()]
		if !c.IsAvailableCommand() || c.Run == nil && c.RunE == nil {
			continue
		}
		if changes == slices.Contains(changesNothing, c.Name()) {
			t.Errorf("varve %s belongs into one of the lists", c.Name())
		}
		if has := c.Flags().Lookup("dry-run") != nil; has != changes {
			t.Errorf("varve %s: --dry-run %t, and changes something %t", c.Name(), has, changes)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		dir := t.TempDir()
		group := filepath.Join(dir, "g.zarr")
		id := dryRunAll(t, dir, group)
		args := strings.Fields(strings.NewReplacer("G/", group+"/", " G", " "+group, "DIR", dir, "ID", id).Replace(lines[name]))
		before := treeOf(t, dir)
		text, errs, status := execute(t, "", append(args, "--dry-run")...)
		if status != 0 && (status != 1 || name != "check") { // a dry run repairs nothing, so the faults stay
			t.Fatalf("varve %q --dry-run: status %d, %s", args, status, errs)
		}
		out, _, _ := execute(t, "", append(args, "--dry-run", "--json")...)
		decode(t, out)
		if after := treeOf(t, dir); after != before {
			t.Errorf("varve %q --dry-run prints %s and has changed\n%s\ninto\n%s", args, text, before, after)
		}
		must(t, "", args...)
		if treeOf(t, dir) == before {
			t.Errorf("varve %q changes nothing, so the case shows nothing", args)
		}
	}
}

// dryRunAll makes a group with what every command needs. It returns the ID of a
// reservation.
func dryRunAll(t *testing.T, dir, group string) (id string) {
	t.Helper()
	must(t, "", "create", group, "--group")
	must(t, "", "icechunk", "init", dir+"/repo")
	must(t, "", "icechunk", "branch", dir+"/repo", "dev")
	for name, chunks := range map[string]string{"x": "[[2,2]]", "y": "[[2,2]]", "regular": "2", "dropped": "[[2,2]]", "held": "[[2,2]]"} {
		must(t, "", "create", group+"/"+name, "--shape", "4", "--dtype", "int32", "--chunks", chunks)
		must(t, "[1,2,3,4]", "write", group+"/"+name, "--format", "json")
	}
	must(t, "", "create", group+"/plane", "--shape", "8,8", "--dtype", "int8", "--chunks", "4")
	must(t, "", "write", group+"/plane", "--value", "3")
	must(t, "", "drop", group+"/dropped", "--axis", "0", "--range", "0:2", "--yes")
	must(t, "", "consolidate", group)
	must(t, "", "export", group+"/x", "-o", dir+"/n.npy")
	must(t, "", "virtualize", dir+"/n.npy", "-o", dir+"/n.vz")
	must(t, "", "create", dir+"/mask", "--shape", "4", "--dtype", "bool")
	must(t, "[true,false,true,true]", "write", dir+"/mask", "--format", "json")
	must(t, "", "export", dir+"/mask", "-o", dir+"/mask.npy")
	must(t, "", "rechunk", group+"/regular", "--chunks", "4", "--plan", dir+"/plan.json")
	a, err := zarr.OpenArray(t.Context(), group+"/held", &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r, err := a.Reserve(t.Context(), 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	// The consolidated metadata no longer agrees, for check and consolidate.
	overwrite(t, group+"/late/zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	return r.ID()
}

// TestDryRunOfRevert reverts two arrays of a group that were dropped together: the plan
// has the grids that the command then publishes.
func TestDryRunOfRevert(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	for _, name := range []string{"a", "b"} {
		must(t, "", "create", group+"/"+name, "--shape", "4", "--dtype", "int32", "--chunks", "[[2,2]]", "--dimension-names", "x")
		must(t, "[1,2,3,4]", "write", group+"/"+name, "--format", "json")
	}
	must(t, "", "drop", group, "--axis", "x", "--range", "0:3", "--yes")
	before := treeOf(t, group)
	text := must(t, "", "revert", group, "--dry-run")
	plan := decode(t, must(t, "", "revert", group, "--dry-run", "--json"))
	if treeOf(t, group) != before || !strings.HasPrefix(text, "dry run, nothing was changed\n"+group+"/a  rectilinear chunks 2×2\n") {
		t.Error(text)
	}
	done := decode(t, must(t, "", "revert", group, "--json"))
	if !reflect.DeepEqual(plan["result"], any(done)) || !strings.Contains(fmt.Sprint(done), "chunk_grid:map[") {
		t.Errorf("%v planned, %v done", plan["result"], done)
	}
	must(t, "", "create", filepath.Dir(group)+"/new", "--shape", "4", "--dtype", "int32")
	refuses(t, "there is no rechunk to revert", "revert", filepath.Dir(group)+"/new", "--dry-run")
}
