// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInfoCountsSuperseded shows what a vacuum would free, now and later.
func TestInfoCountsSuperseded(t *testing.T) {
	node := merged(t)
	is := decode(t, must(t, "", "info", node, "--stats", "--json"))
	if is["bytes_to_free"] != 0.0 || is["bytes_to_keep"] != 10.0 || is["chunks_stored"] != 3.0 {
		t.Errorf("%v", is)
	}
	if out := must(t, "", "info", node, "--stats"); !strings.Contains(out, "to vacuum") || !strings.Contains(out, "10 B from 2") {
		t.Error(out)
	}
	if out := must(t, "", "info", node); !strings.Contains(out, "varve vacuum deletes them after a day") {
		t.Error(out)
	}
	must(t, "", "vacuum", node, "--grace", "0", "--yes")
	if out := must(t, "", "info", node, "--stats"); strings.Contains(out, "vacuum") {
		t.Error(out)
	}
}

// TestReplacedDocument puts back the document of before, as zarr-python does that appends
// to an array which it opened before it was rechunked. The repair that check names
// brings the elements back.
func TestReplacedDocument(t *testing.T) {
	node := newNode(t, "--shape", "6", "--dtype", "int16", "--chunks", "[[[1,6]]]", "--compressor", "none")
	must(t, numbers(0, 6), "write", node, "--format", "json")
	document := filepath.Join(node, "zarr.json")
	old, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	must(t, "", "compact", node, "--to", "max:2")
	must(t, numbers(10, 6), "write", node, "--format", "json")
	if out := must(t, "", "check", node); strings.Contains(out, "repair") {
		t.Error(out)
	}
	overwrite(t, document, string(old))
	out, stderr, status := execute(t, "", "check", node)
	for _, part := range []string{"another program has put back an older", "(compact) since", "repair: stop the other program", `the member "to" of __varve/grids/000000-`} {
		if status != 1 || !strings.Contains(out, part) || !strings.Contains(stderr, "replaced") {
			t.Errorf("%d %s %s\nlacks %q", status, out, stderr, part)
		}
	}
	out, _, _ = execute(t, "", "check", node, "--json")
	found := decode(t, out)["findings"].([]any)[0].(map[string]any)
	if found["kind"] != "document-replaced" || found["path"] != node || found["repair"] == "" {
		t.Errorf("%v", found)
	}
	// A vacuum deletes nothing.
	files := func() string { // without the time of the directory, in which it takes a lock
		_, rest, _ := strings.Cut(treeOf(t, node), "\n")
		return rest
	}
	before := files()
	if out := must(t, "", "vacuum", node, "--grace", "0", "--yes"); !strings.Contains(out, "0 B freed") || files() != before {
		t.Error(out)
	}
	// The repair.
	_, name, _ := strings.Cut(found["repair"].(string), `"to" of `)
	name, _, _ = strings.Cut(name, " in ")
	raw, err := os.ReadFile(filepath.Join(node, name))
	if err != nil {
		t.Fatal(err)
	}
	var record struct{ To json.RawMessage }
	if err := json.Unmarshal(raw, &record); err != nil {
		t.Fatal(err)
	}
	overwrite(t, document, string(record.To))
	if out := must(t, "", "export", node, "--format", "json"); strings.Join(strings.Fields(out), "") != "[10,11,12,13,14,15]" {
		t.Error(out)
	}
	must(t, "", "check", node)
	if out := must(t, "", "vacuum", node, "--grace", "0", "--yes"); !strings.Contains(out, "10 B freed") {
		t.Error(out)
	}
}
