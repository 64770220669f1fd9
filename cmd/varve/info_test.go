// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestInfo(t *testing.T) {
	got := undated(t, must(t, "", "info", "--stats", "testdata/rect_2d.zarr"))
	want := `array testdata/rect_2d.zarr
  format      zarr format 3
  shape       60 × 100
  data type   int32
  size        23 KiB
  chunks      3 × 4, rectilinear
    axis 0    10, 20, 30
    axis 1    25×4
  fill value  0
  codecs      bytes(endian=little), zstd(level=0, checksum=false)
  chunk keys  default(separator=/)
  stored      12 of 12 chunks, 9.9 KiB
  notes       no codec has a checksum: damage that changes values would not be seen
  readable by Varve, zarr-python ≥ 3.2 (array.rectilinear_chunks), zarrs ≥ 0.23.8; not: zarr-python < 3.2, xarray (no dimension names), TensorStore, zarrita, GDAL
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestInfoJSON(t *testing.T) {
	got := decode(t, must(t, "", "info", "--json", "testdata/rect_2d.zarr"))
	for name, want := range map[string]any{
		"path": "testdata/rect_2d.zarr", "kind": "array", "zarr_format": 3.0, "data_type": "int32", "fill_value": 0.0,
		"shape": []any{60.0, 100.0}, "dimension_names": nil, "attributes": map[string]any{}, "is_regular": false,
		"grid_shape": []any{3.0, 4.0}, "grid_cells": []any{3.0, 4.0}, "notes": []any{"no codec has a checksum: damage that changes values would not be seen"},
		"write_chunk_sizes": []any{
			[]any{[]any{10.0, 1.0}, []any{20.0, 1.0}, []any{30.0, 1.0}},
			[]any{[]any{25.0, 4.0}},
		},
		"chunk_grid": map[string]any{"name": "rectilinear", "configuration": map[string]any{
			"kind": "inline", "chunk_shapes": []any{[]any{10.0, 20.0, 30.0}, []any{[]any{25.0, 4.0}}},
		}},
		"chunk_key_encoding": map[string]any{"name": "default", "configuration": map[string]any{"separator": "/"}},
	} {
		if value, ok := got[name]; !ok || !reflect.DeepEqual(value, want) {
			t.Errorf("%s: got %v, want %v", name, value, want)
		}
	}
	if !reflect.DeepEqual(got["read_chunk_sizes"], got["write_chunk_sizes"]) || len(got["codecs"].([]any)) != 2 {
		t.Error(got["read_chunk_sizes"], got["codecs"])
	}
	if _, ok := got["chunks_stored"]; ok {
		t.Error("chunks are counted without --stats")
	}
	got = decode(t, must(t, "", "info", "--json", "--stats", "testdata/rect_2d.zarr"))
	if got["chunks_stored"] != 12.0 || got["bytes_logical"] != 24000.0 || got["bytes_stored"] != 10178.0 {
		t.Error(got)
	}
}

func TestInfoGroup(t *testing.T) {
	got := decode(t, must(t, "", "info", "--json", "testdata/group_consolidated.zarr"))
	want := map[string]any{
		"path": "testdata/group_consolidated.zarr", "kind": "group", "zarr_format": 3.0,
		"attributes": map[string]any{"c": true}, "members": []any{"deep", "one"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
	text := must(t, "", "info", "testdata/group_consolidated.zarr")
	if !strings.Contains(text, "one  int16  8 × 3  chunks 5, 3 | 1, 2\n") {
		t.Error(text)
	}
}

// replaceInDocument replaces a text in the document of a node.
func replaceInDocument(t *testing.T, node, old, new string) {
	t.Helper()
	name := filepath.Join(node, "zarr.json")
	data, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(data), old) {
		t.Fatal(err, old)
	}
	overwrite(t, name, strings.Replace(string(data), old, new, 1))
}

func TestInfoOfWhatCannotBeDecoded(t *testing.T) {
	for _, c := range []struct{ old, new, kind string }{
		{`"int32"`, `"decimal128"`, "unsupported"},
		{`"zstd"`, `"middle-out"`, "unsupported"},
		{`"rectilinear"`, `"hexagonal"`, "unsupported"},
		{`"fill_value": 0`, `"fill_value": "x"`, "invalid-metadata"},
	} {
		array := fixture(t, "rect_2d.zarr")
		replaceInDocument(t, array, c.old, c.new)
		out, errs, status := execute(t, "", "info", array)
		if status != 1 || !strings.Contains(out, "60 × 100") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q, %q", c.new, status, out, errs)
		}
		out, errs, status = execute(t, "", "info", "--json", array)
		facts, _ := decode(t, errs)["error"].(map[string]any)
		if status != 1 || facts["kind"] != c.kind {
			t.Errorf("%s: status %d, %q", c.new, status, errs)
		}
		doc := decode(t, out)
		if notes := doc["notes"].([]any); len(notes) == 0 || !reflect.DeepEqual(doc["shape"], []any{60.0, 100.0}) {
			t.Errorf("%s: %s", c.new, out)
		}
		if note := doc["notes"].([]any)[0].(string); len(note) > 60 || strings.Contains(note, array) {
			t.Errorf("%s: note %q", c.new, note)
		}
		if known := doc["read_chunk_sizes"] != nil; known != (c.old != `"rectilinear"` && c.old != `"zstd"`) {
			t.Errorf("%s: read_chunk_sizes is %v", c.new, doc["read_chunk_sizes"])
		}
		out, _, _ = execute(t, "", "info", "--json", "--stats", array)
		if stats := decode(t, out); c.old != `"rectilinear"` && (stats["chunks_stored"] != 12.0 || stats["bytes_stored"] != 10178.0) {
			t.Errorf("%s: %s", c.new, out)
		}
		if _, _, status = execute(t, "", "grid", array, "--locate", "15,40"); (status == 0) != (c.old != `"rectilinear"`) {
			t.Errorf("%s: grid has status %d", c.new, status)
		}
		if known := doc["grid_shape"] != nil; known != (c.old != `"rectilinear"`) {
			t.Errorf("%s: grid_shape is %v", c.new, doc["grid_shape"])
		}
	}
}

func TestTree(t *testing.T) {
	got := must(t, "", "tree", "testdata/group_consolidated.zarr")
	want := `group_consolidated.zarr
├── deep
│   └── two  int16  8 × 3  chunks 5, 3 | 1, 2
└── one  int16  8 × 3  chunks 5, 3 | 1, 2
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	list := must(t, "", "ls", "testdata/group_consolidated.zarr")
	if want := "deep  group\none  int16  8 × 3  chunks 5, 3 | 1, 2\n"; list != want {
		t.Errorf("got\n%s", list)
	}
	leaf := func(name string) map[string]any {
		return map[string]any{
			"name": name, "kind": "array", "members": []any{}, "shape": []any{8.0, 3.0}, "data_type": "int16", "dimension_names": nil,
			"chunks": []any{[]any{5.0, 3.0}, []any{1.0, 2.0}},
		}
	}
	tree := map[string]any{"name": "group_consolidated.zarr", "kind": "group", "members": []any{
		map[string]any{"name": "deep", "kind": "group", "members": []any{leaf("two")}}, leaf("one"),
	}}
	if got := decode(t, must(t, "", "tree", "--json", "testdata/group_consolidated.zarr")); !reflect.DeepEqual(got, tree) {
		t.Error(got)
	}
	if got := must(t, "", "tree", "testdata/rect_2d.zarr"); !strings.HasPrefix(got, "rect_2d.zarr  int32") {
		t.Error(got)
	}
}

func TestTreeWithArrayThatCannotBeDecoded(t *testing.T) {
	group := fixture(t, "group_consolidated.zarr")
	replaceInDocument(t, group, `"int16"`, `"decimal128"`)
	replaceInDocument(t, group+"/one", `"int16"`, `"decimal128"`)
	out := must(t, "", "tree", group)
	if !strings.Contains(out, "one  array  cannot be read") || !strings.Contains(out, "decimal128") || !strings.Contains(out, "two  int16") {
		t.Error(out)
	}
	replaceInDocument(t, group, `"decimal128"`, `5`)
	out, errs, status := execute(t, "", "tree", group)
	if status != 1 || !strings.Contains(out, "two  int16") || !strings.Contains(errs, "one") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

// TestBrokenNeighbours lists a group without consolidated metadata in which some members
// are damaged.
func TestBrokenNeighbours(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	for _, name := range []string{"bad", "good", "ugly"} {
		must(t, "", "create", group+"/"+name, "--shape", "3", "--dtype", "int8")
	}
	replaceInDocument(t, group+"/bad", `"int8"`, `"decimal128"`)
	overwrite(t, group+"/ugly/zarr.json", "{")
	for _, command := range []string{"tree", "ls", "info"} {
		out := must(t, "", command, group)
		if !strings.Contains(out, "bad  array  cannot be read") || !strings.Contains(out, "good  int8  3") || !strings.Contains(out, "ugly  cannot be read") {
			t.Errorf("%s: %s", command, out)
		}
	}
}

func TestTreeTellsWhatCannotBeOpened(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	for _, name := range []string{"bad", "good", "ugly"} {
		must(t, "", "create", group+"/"+name, "--shape", "", "--dtype", "int8")
	}
	replaceInDocument(t, group+"/bad", `"int8"`, `"decimal128"`)
	overwrite(t, group+"/ugly/zarr.json", "{")
	for _, command := range []string{"tree", "ls"} {
		members := decode(t, must(t, "", command, "--json", group))["members"].([]any)
		for i, kind := range []any{"array", "array", nil} {
			m := members[i].(map[string]any)
			if text, _ := m["error"].(string); m["kind"] != kind || (text == "") != (m["name"] == "good") {
				t.Errorf("%s: %v", command, m)
			}
		}
	}
	if out := must(t, "", "tree", group); !strings.Contains(out, "good  int8  scalar\n") {
		t.Error(out)
	}
	out, _, status := execute(t, "", "tree", "--json", group+"/bad")
	if got := decode(t, out); status != 1 || got["kind"] != "array" || got["error"] == nil {
		t.Errorf("status %d, %s", status, out)
	}
}

func TestInfoIsClean(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", "int8", "--dimension-names", "a", "--attributes", `{"units": "\u202eK"}`)
	replaceInDocument(t, node, `["a"]`, `["\u001b[31m\u202e"]`)
	if out := must(t, "", "info", node); strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, `\x1b[31m\u202e`) {
		t.Errorf("%q", out)
	}
	replaceInDocument(t, node, `"int8"`, "{\"name\": \"x\", \"configuration\": {\n \"a\":\n 1}}")
	if out, _, _ := execute(t, "", "info", node); !strings.Contains(out, `{"name":"x","configuration":{"a":1}}`) {
		t.Error(out)
	}
}

func TestInfoIsShortAndPrintable(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", "int8")
	for i := range 25 {
		must(t, "", "attrs", node, "set", "key"+strconv.Itoa(i), `"\u001b[31m`+strings.Repeat("x", 1000)+`"`)
	}
	out := must(t, "", "info", node)
	if !strings.Contains(out, "  attributes  key0: ") || !strings.Contains(out, "… 5 more\n") || len(out) > 4000 {
		t.Error(out)
	}
}

// TestInfoDeclared checks that listed chunks beyond the extent are reported, as text and
// as JSON.
func TestInfoDeclared(t *testing.T) {
	for _, c := range []struct{ shape, chunks, want string }{
		{"0,2", "[[31],2]", "axis 0: its chunks end at element 31, 31 beyond the extent, 1 of them completely; appends fill them first"},
		{"10,2", "[[4,9],2]", "axis 0: its chunks end at element 13, 3 beyond the extent; appends fill them first"},
		{"10,2", "[[4,6],2]", ""},
		{"10,3", "4,2", ""},
	} {
		node := newNode(t, "--shape", c.shape, "--dtype", "int8", "--chunks", c.chunks)
		if got := must(t, "", "info", node); strings.Contains(got, "beyond the extent") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Error(got)
		}
		if got := fmt.Sprint(decode(t, must(t, "", "info", "--json", node))["notes"]); got != "["+c.want+"]" {
			t.Error(got)
		}
	}
}
