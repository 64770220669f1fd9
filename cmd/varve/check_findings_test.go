// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheckFindings damages a group in several ways, and reads the list of findings that
// scripts read.
func TestCheckFindings(t *testing.T) {
	g := t.TempDir() + "/g.zarr"
	must(t, "", "create", g, "--group")
	for _, name := range []string{"/x", "/y"} {
		must(t, "", "create", g+name, "--shape", "6", "--dtype", "int16", "--chunks", "2", "--dimension-names", "t")
		must(t, "", "write", g+name, "--value", "7")
	}
	must(t, "", "consolidate", g)
	sound := decode(t, must(t, "", "check", g, "--json"))
	if checked, _ := sound["checked"].(map[string]any); len(sound["findings"].([]any)) != 0 || checked["arrays"] != 2.0 || checked["chunks"] != 6.0 {
		t.Error(sound)
	}
	spoil(t, g+"/x/c/1", func(b []byte) []byte { return b[:1] })
	if err := os.Remove(filepath.Join(g, "y/c/2")); err != nil {
		t.Fatal(err)
	}
	// Another program changes the length of one array, and not the consolidated metadata.
	spoil(t, g+"/y/zarr.json", func(b []byte) []byte { return bytes.Replace(b, []byte("6"), []byte("5"), 1) })
	out, errs, status := execute(t, "", "check", g, "--json", "--complete")
	var kinds []string
	for _, f := range decode(t, out)["findings"].([]any) {
		f := f.(map[string]any)
		kinds = append(kinds, f["kind"].(string))
		if f["message"] == "" || f["repair"] == "" || f["path"] == "" {
			t.Error(f)
		}
		if f["kind"] == "missing" && (f["key"] != "y/c/2" || !slices.Equal(f["chunk"].([]any), []any{2.0})) {
			t.Error(f)
		}
	}
	if want := []string{"corrupt", "missing", "dimensions", "stale"}; status != 1 || errs != "" || !slices.Equal(kinds, want) {
		t.Errorf("status %d, %s, kinds %q, want %q\n%s", status, errs, kinds, want, out)
	}
	// A repair updates the consolidated metadata, and leaves all else as it is.
	out, _, status = execute(t, "", "check", g, "--json", "--repair")
	r := decode(t, out)
	if status != 1 || len(r["stale"].([]any)) != 0 || len(r["findings"].([]any)) != 2 {
		t.Errorf("status %d\n%s", status, out)
	}
}

// TestRepairKeepsCopies removes a document. The consolidated metadata has the only copy
// then, and a repair does not overwrite it.
func TestRepairKeepsCopies(t *testing.T) {
	g := t.TempDir() + "/g.zarr"
	must(t, "", "create", g, "--group")
	must(t, "", "create", g+"/x", "--shape", "6", "--dtype", "int16")
	must(t, "", "consolidate", g)
	before, err := os.ReadFile(g + "/zarr.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(g + "/x/zarr.json"); err != nil {
		t.Fatal(err)
	}
	out, _, status := execute(t, "", "check", g, "--repair", "--json")
	after, err := os.ReadFile(g + "/zarr.json")
	if err != nil || !bytes.Equal(before, after) || status != 1 || !strings.Contains(out, "forget them") {
		t.Errorf("status %d, %v, %s\n%s", status, err, after, out)
	}
}

// TestCheckOrphans counts what a re-gridding leaves and what lies beyond the extent.
func TestCheckOrphans(t *testing.T) {
	node := newNode(t, "--shape", "6", "--dtype", "int16", "--chunks", "2", "--compressor", "none")
	must(t, "", "write", node, "--value", "7")
	if n := decode(t, must(t, "", "check", node, "--json"))["orphans"]; n != 0.0 {
		t.Errorf("%v orphans", n)
	}
	must(t, "", "rechunk", node, "--chunks", "3")
	r := decode(t, must(t, "", "check", node, "--json"))
	if n, _ := r["orphans"].(float64); n < 3 || r["bytes_orphaned"].(float64) < 12 {
		t.Errorf("%v orphans of %v bytes", n, r["bytes_orphaned"])
	}
	out := must(t, "", "check", node)
	if !strings.Contains(out, "does not describe (superseded, such as c/0, c/1, c/2)") || !strings.Contains(out, "varve vacuum keeps them: readers may still use it until") {
		t.Error(out)
	}
	first := r["orphaned"].([]any)[0].(map[string]any)
	if keys := fmt.Sprint(first["keys"]); keys != "[c/0 c/1 c/2]" || first["values"] != 3.0 || first["kind"] != "superseded" {
		t.Errorf("%v", first)
	}
}

// TestCheckOtherKeys checks arrays whose chunks have other keys than the document names.
// All elements are fill values, and a vacuum deletes nothing.
func TestCheckOtherKeys(t *testing.T) {
	for format, change := range map[string][2]string{
		"2": {`"dimension_separator":"."`, `"dimension_separator":"/"`}, "3": {`"separator":"/"`, `"separator":"."`},
	} {
		node := newNode(t, "--zarr-format", format, "--shape", "4,2", "--dtype", "int16", "--chunks", "2,2", "--compressor", "none")
		must(t, "", "write", node, "--value", "7")
		name := node + "/zarr.json"
		if format == "2" {
			name = node + "/.zarray"
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		compact := new(bytes.Buffer)
		if err := json.Compact(compact, raw); err != nil {
			t.Fatal(err)
		}
		other := strings.Replace(compact.String(), change[0], change[1], 1)
		if other == compact.String() {
			t.Fatal(other)
		}
		overwrite(t, name, other)
		out, errs, status := execute(t, "", "check", node)
		if status != 1 || !strings.Contains(out, "no chunk is stored under the keys of the document") || !strings.Contains(errs, "other keys than the document names") {
			t.Errorf("format %s: status %d, %s%s", format, status, out, errs)
		}
		// All commands say the same of these values: no grid has been superseded.
		for _, line := range []string{"check", "info --stats", "vacuum --dry-run --grace 0s", "vacuum --dry-run --json", "vacuum --grace 0s --yes"} {
			out, _, _ := execute(t, "", append(strings.Fields(line), node)...)
			if !strings.Contains(out, "unexplained") || strings.Contains(out, "superseded") {
				t.Errorf("format %s: %s: %s", format, line, out)
			}
		}
		overwrite(t, name, string(raw))
		if out := must(t, "", "check", node); strings.Contains(out, "other keys") {
			t.Error(out)
		}
	}
}
