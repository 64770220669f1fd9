// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTreeRefused uses a group whose consolidated metadata has an entry that leads out of
// it. tree must print the other entries and then fail with its name; consolidate repairs
// the group.
func TestTreeRefused(t *testing.T) {
	group := consolidatedGroup(t)
	sound := must(t, "", "tree", group)
	file := filepath.Join(group, "zarr.json")
	document, err := os.ReadFile(file)
	if err == nil {
		bad := strings.Replace(string(document), `"metadata": {`, `"metadata": {"../b": {"zarr_format": 3, "node_type": "group"},`, 1)
		err = os.WriteFile(file, []byte(bad), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, errs, status := execute(t, "", "tree", group)
	if out != sound || status == 0 || !strings.Contains(errs, "..~1b") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
	if out := must(t, "", "consolidate", group); !strings.Contains(out, "  gone     ../b\n") {
		t.Error(out)
	}
	if out := must(t, "", "tree", group); out != sound {
		t.Error(out)
	}
}

// TestTreeUnusable uses groups whose consolidated metadata has names that a store may
// have but that no call uses. All nodes are there, with a note on the name, and a copy
// counts the group.
func TestTreeUnusable(t *testing.T) {
	for _, bad := range []string{"__varve", `\udcff`, "..."} {
		group := consolidatedGroup(t)
		sound := must(t, "", "tree", group)
		file := filepath.Join(group, "zarr.json")
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, file, strings.Replace(string(document), `"metadata": {`, `"metadata": {"`+bad+`": {"zarr_format": 3, "node_type": "group"},`, 1))
		for _, command := range []string{"tree", "ls", "info"} {
			out, errs, status := execute(t, "", command, group)
			if status != 0 || command == "tree" && out != sound || !strings.Contains(errs, "names that cannot be used") {
				t.Errorf("%s with %s: status %d\n%s\n%s", command, bad, status, out, errs)
			}
		}
		if out := must(t, "", "copy", group, group+"-copy"); !strings.Contains(out, "2 groups") {
			t.Error(out)
		}
		must(t, "", "consolidate", group)
		if _, errs, status := execute(t, "", "tree", group); status != 0 || errs != "" {
			t.Errorf("consolidated, %s: status %d, %s", bad, status, errs)
		}
	}
}

// TestTreeOfPeriods uses a node whose name is made of periods. Consolidated metadata has
// the others.
func TestTreeOfPeriods(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	if err := os.Mkdir(filepath.Join(group, "..."), 0o777); err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(group, "...", "zarr.json"), `{"zarr_format":3,"node_type":"group"}`)
	must(t, "", "create", group+"/a", "--shape", "3", "--dtype", "int8")
	out, errs, status := execute(t, "", "consolidate", group)
	if status != 1 || !strings.Contains(out, "the metadata of 2 nodes") || !strings.Contains(errs, `"..." (left out of the consolidated metadata`) {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	if out, _, status := execute(t, "", "tree", group); status != 0 || !strings.Contains(out, "...") || !strings.Contains(out, "a  int8") {
		t.Errorf("status %d, %s", status, out)
	}
	document, err := os.ReadFile(filepath.Join(group, "zarr.json"))
	if err != nil || !strings.Contains(string(document), `"a": {`) || strings.Contains(string(document), `"..."`) {
		t.Errorf("%s, %v", document, err)
	}
}
