// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// consolidatedGroup creates a group with four nodes, and consolidates it.
func consolidatedGroup(t *testing.T) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	for _, name := range []string{"a", "b", "deep/c"} {
		must(t, "", "create", group+"/"+name, "--shape", "4", "--dtype", "int8", "--chunks", "[[4]]")
	}
	if out := must(t, "", "consolidate", group); !strings.Contains(out, "the metadata of 4 nodes is now in the group's document\n") {
		t.Error(out)
	}
	return group
}

func TestConsolidate(t *testing.T) {
	group := consolidatedGroup(t)
	document, err := os.ReadFile(filepath.Join(group, "zarr.json"))
	if err != nil || !strings.Contains(phrase.Compact(document), `"consolidated_metadata":{"kind":"inline"`) {
		t.Errorf("%s, %v", document, err)
	}
	// What varve changes keeps it up to date.
	must(t, "[1]", "append", group+"/a", "--format", "json")
	must(t, "", "rm", "--yes", group+"/b")
	must(t, "", "create", group+"/deep/d", "--shape", "1", "--dtype", "int8")
	for _, name := range []string{"", "/a", "/deep/d", "/deep"} {
		if out := must(t, "", "info", group+name); strings.Contains(out, "older") {
			t.Error(out)
		}
	}
	if out := decode(t, must(t, "", "consolidate", group, "--dry-run", "--json")); fmt.Sprint(out["new"], out["changed"], out["gone"], out["nodes"]) != "[] [] [] 4" || out["consolidated"] != true {
		t.Error(out)
	}
}

// drifted is a consolidated group whose nodes another program has changed.
func drifted(t *testing.T) string {
	t.Helper()
	group := consolidatedGroup(t)
	document, err := os.ReadFile(filepath.Join(group, "a", "zarr.json"))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(group, "a", "zarr.json"), strings.Replace(string(document), `"attributes": {}`, `"attributes": {"by": "another"}`, 1))
	overwrite(t, filepath.Join(group, "new", "zarr.json"), string(document))
	overwrite(t, filepath.Join(group, "no node", "file"), "")
	if err := os.RemoveAll(filepath.Join(group, "deep", "c")); err != nil {
		t.Fatal(err)
	}
	return group
}

func TestConsolidateAnew(t *testing.T) {
	group := drifted(t)
	const note = "consolidated metadata is older than the nodes (1 new, 1 changed, 1 gone)"
	if out := must(t, "", "info", group); !strings.Contains(out, note) {
		t.Error(out)
	}
	if out := decode(t, must(t, "", "info", group, "--json")); !strings.Contains(fmt.Sprint(out["notes"]), note) {
		t.Error(out)
	}
	for name, older := range map[string]bool{"a": true, "b": false, "new": true} {
		out := must(t, "", "info", group+"/"+name+"/")
		if strings.Contains(out, "the consolidated metadata of "+group+" is older than this array") != older {
			t.Errorf("%s: %s", name, out)
		}
	}
	before, _ := os.ReadFile(filepath.Join(group, "zarr.json"))
	out := decode(t, must(t, "", "consolidate", group, "--dry-run", "--json"))
	if fmt.Sprint(out["new"], out["changed"], out["gone"], out["nodes"], out["dry_run"]) != "[new] [a] [deep/c] 4 true" {
		t.Error(out)
	}
	if after, _ := os.ReadFile(filepath.Join(group, "zarr.json")); string(after) != string(before) {
		t.Error("a dry run changed the document")
	}
	if out := must(t, "", "consolidate", group, "--dry-run"); !strings.Contains(out, "4 nodes below the group, nothing was changed: 1 new, 1 changed, 1 gone\n") || !strings.Contains(out, "  gone     deep/c\n") {
		t.Error(out)
	}
	must(t, "", "consolidate", group)
	if out := must(t, "", "consolidate", group, "--dry-run"); !strings.Contains(out, "no node differs") {
		t.Error(out)
	}
	if out := must(t, "", "info", group); strings.Contains(out, "older") {
		t.Error(out)
	}
}

// TestConsolidateManyNodes checks that only some paths are printed, and that info reads
// no more nodes than allowed.
func TestConsolidateManyNodes(t *testing.T) {
	group := consolidatedGroup(t)
	document, err := os.ReadFile(filepath.Join(group, "a", "zarr.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range facts.MostCompared {
		overwrite(t, filepath.Join(group, fmt.Sprintf("n%04d", i), "zarr.json"), string(document))
	}
	if out := must(t, "", "info", group); !strings.Contains(out, "996 new, 0 changed, 0 gone") {
		t.Error(out)
	}
	if out := must(t, "", "consolidate", group, "--dry-run"); !strings.Contains(out, "  new      … 980 more\n") {
		t.Error(out)
	}
}

func TestConsolidateDamaged(t *testing.T) {
	group := consolidatedGroup(t)
	overwrite(t, filepath.Join(group, "b", "zarr.json"), `{"zarr_format": 3, "node_type": "array"}`)
	for _, more := range []string{"--json", "--dry-run"} {
		_, errs, status := execute(t, "", "consolidate", group, "--json", more)
		facts, _ := decode(t, errs)["error"].(map[string]any)
		if status != 1 || facts["kind"] != "invalid-metadata" || !strings.Contains(errs, "/b") {
			t.Errorf("status %d, %s", status, errs)
		}
	}
	if out := must(t, "", "info", group); !strings.Contains(out, "could not be compared") {
		t.Error(out)
	}
}

// TestInfoTellsRepairs checks the notes about documents that were repaired on reading.
func TestInfoTellsRepairs(t *testing.T) {
	node := newNode(t, "--shape", "8", "--dtype", "int8", "--chunks", "[4]")
	name := filepath.Join(node, "zarr.json")
	document, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(phrase.Compact(document), `"chunk_shape":[4]`, `"chunk_shape":[[3,5]]`, 1)
	text = strings.Replace(text, `"name":"regular"`, `"name":"rectangular"`, 1)
	overwrite(t, name, text)
	if out := must(t, "", "info", node); !strings.Contains(out, `notes`) || !strings.Contains(out, `"rectangular" that zarrs wrote was read as "rectilinear"`) {
		t.Error(out)
	}
	out := decode(t, must(t, "", "info", node, "--json"))
	if notes, _ := out["notes"].([]any); len(notes) != 1 || fmt.Sprint(out["grid_shape"]) != "[2]" {
		t.Error(out)
	}
}

// TestConsolidateUnknown lists arrays, of both formats, that can be described but not
// read. They must not affect other arrays.
func TestConsolidateUnknown(t *testing.T) {
	for format, c := range map[string]struct{ group, name, document string }{
		"2": {".zgroup", ".zarray", `{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|O", "compressor": null,
			"fill_value": 0, "order": "C", "filters": [{"id": "pickle"}]}`},
		"3": {"zarr.json", "zarr.json", `{"zarr_format": 3, "node_type": "array", "shape": [3], "data_type": "int8", "fill_value": 0,
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}}, "chunk_key_encoding": {"name": "default"},
			"codecs": [{"name": "bytes"}], "storage_transformers": [{"name": "crypt"}]}`},
	} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		must(t, "", "create", group+"/b", "--shape", "4", "--dtype", "int8", "--zarr-format", format)
		name := filepath.Join(group, "deep", "unknown", c.name)
		overwrite(t, filepath.Join(group, "deep", c.group), `{"zarr_format": `+format+`, "node_type": "group"}`)
		overwrite(t, name, c.document)
		if out := must(t, "", "consolidate", group, "--dry-run"); !strings.Contains(out, "3 nodes below the group") {
			t.Error(out)
		}
		must(t, "", "consolidate", group)
		if out := must(t, "", "consolidate", group, "--dry-run"); !strings.Contains(out, "no node differs") {
			t.Error(out)
		}
		overwrite(t, name, strings.Replace(c.document, `"fill_value": 0`, `"fill_value": 1`, 1))
		if out := must(t, "", "consolidate", group, "--dry-run"); !strings.Contains(out, "0 new, 1 changed, 0 gone") || !strings.Contains(out, "deep/unknown") {
			t.Error(out)
		}
	}
}

// TestConsolidateUnlisted consolidates groups with members whose names consolidated
// metadata cannot have. All others are consolidated, and each of these is named.
func TestConsolidateUnlisted(t *testing.T) {
	for _, format := range []string{"3", "2"} {
		group := t.TempDir() + "/g.zarr"
		must(t, "", "create", group, "--group", "--zarr-format", format)
		must(t, "", "create", group+"/a", "--shape", "4", "--dtype", "int8", "--zarr-format", format)
		for _, name := range []string{"...", `c:\x`, `p\..`} {
			if err := os.CopyFS(group+"/"+name, os.DirFS(group+"/a")); err != nil {
				t.Skip(err)
			}
		}
		for range 2 {
			_, errs, status := execute(t, "", "consolidate", group)
			for _, name := range []string{`"..."`, `"c:\\x"`, `"p\\.."`} {
				if status != 1 || !strings.Contains(errs, name+" (left out") {
					t.Errorf("format %s: status %d, and %s is not in %s", format, status, name, errs)
				}
			}
		}
		g, err := zarr.OpenGroup(t.Context(), group, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if c := g.Metadata().Consolidated; c == nil || c.Len() != 1 || c.Raw("a") == nil {
			t.Errorf("format %s: %v", format, c)
		}
	}
}
