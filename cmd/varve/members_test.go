// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// staleGroup is a consolidated group in which another program has added the array w with
// a damaged chunk, has made t longer, and has removed u.
func staleGroup(t *testing.T) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	for _, name := range []string{"s", "t", "u"} {
		must(t, "", "create", group+"/"+name, "--shape", "3", "--dtype", "int8", "--dimension-names", "x")
	}
	must(t, "", "write", "--value", "1", group+"/s")
	must(t, "", "consolidate", group)
	before, err := os.ReadFile(filepath.Join(group, "zarr.json"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, "", "create", group+"/w", "--shape", "4", "--dtype", "int8", "--dimension-names", "y")
	must(t, "", "write", "--value", "1", group+"/w")
	overwrite(t, filepath.Join(group, "w", "c", "0"), "damaged")
	must(t, "", "resize", "--alone", group+"/t", "--shape", "4")
	must(t, "", "rm", "--yes", group+"/u")
	overwrite(t, filepath.Join(group, "zarr.json"), string(before))
	return group
}

const staleNote = "consolidated metadata is older than the nodes (1 new, 1 changed, 1 gone): varve consolidate updates it"

// TestCheckStale checks the stored arrays, and reports that the consolidated metadata
// does not list them.
func TestCheckStale(t *testing.T) {
	group := staleGroup(t)
	out, errs, status := execute(t, "", "check", group)
	for _, want := range []string{
		group + "/w  1 stored chunk", "1 fault\n", `dimension "x" has length 3 in s and length 4 in t`, group + "  " + staleNote, "  3 arrays, 2 stored chunks",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if status != 1 || !strings.Contains(errs, "; consolidated metadata is older than the nodes") {
		t.Errorf("status %d, %s", status, errs)
	}
	out, _, _ = execute(t, "", "check", "--json", group)
	stale := decode(t, out)["stale"].([]any)[0].(map[string]any)
	if got := fmt.Sprint(stale["new"], stale["changed"], stale["gone"]); got != "[w] [t] [u]" || stale["path"] != group {
		t.Error(got)
	}
	must(t, "", "rm", "--yes", group+"/w")
	must(t, "", "resize", "--alone", group+"/t", "--shape", "3", "--yes")
	if _, errs, status := execute(t, "", "check", group); status != 1 || !strings.Contains(errs, "0 faults in 0 of 1 stored chunk; consolidated") {
		t.Errorf("stale metadata alone: status %d, %s", status, errs)
	}
	must(t, "", "consolidate", group)
	if out := decode(t, must(t, "", "check", "--json", group)); len(out["stale"].([]any)) != 0 {
		t.Error(out)
	}
}

// TestTreeStale prints the stored nodes, and a note.
func TestTreeStale(t *testing.T) {
	group := staleGroup(t)
	want := []string{"s  int8  3", "t  int8  4", "w  int8  4", "u  array  only in the consolidated metadata"}
	for _, command := range []string{"tree", "ls", "info"} {
		out, errs, status := execute(t, "", command, group)
		if command == "info" {
			errs = out
		}
		if status != 0 || !strings.Contains(errs, staleNote) {
			t.Errorf("%s: status %d, %s", command, status, errs)
		}
		for _, member := range want {
			if !strings.Contains(out, member) {
				t.Errorf("%s: %q is missing in\n%s", command, member, out)
			}
		}
	}
	tree := decode(t, must(t, "", "tree", "--json", group))
	if got := fmt.Sprint(tree["notes"]); got != "["+staleNote+"]" {
		t.Error(got)
	}
	if members := tree["members"].([]any); len(members) != 4 || members[3].(map[string]any)["error"] == nil {
		t.Error(members)
	}
}

// TestCheckStaleDamaged reports a member with a damaged document once, as one that cannot
// be checked.
func TestCheckStaleDamaged(t *testing.T) {
	group := staleGroup(t)
	overwrite(t, filepath.Join(group, "t", "zarr.json"), "{")
	out, errs, status := execute(t, "", "check", group)
	if status != 1 || !strings.Contains(out, "t  cannot be checked") || !strings.Contains(out, "(1 new, 0 changed, 1 gone)") || !strings.Contains(errs, "1 array could not be checked") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
}
