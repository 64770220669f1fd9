// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFormat2 runs the commands on a store of format 2.
func TestFormat2(t *testing.T) {
	root := filepath.Join(t.TempDir(), "old.zarr")
	array := filepath.Join(root, "t2m")
	must(t, "", "create", root, "--group", "--zarr-format", "2", "--attributes", `{"title": "old"}`)
	must(t, "", "create", array, "--shape", "4,6", "--dtype", "int16", "--chunks", "[2,3]", "--dimension-names", "t,x", "--compressor", "gzip:1")
	must(t, "[[1,2,3,4,5,6],[7,8,9,10,11,12],[1,2,3,4,5,6],[7,8,9,10,11,12]]", "write", array, "--format", "json")
	must(t, "", "consolidate", root)
	must(t, "[[1,2,3,4,5,6]]", "append", array, "--format", "json")
	must(t, "", "attrs", array, "set", "units", `"K"`)
	facts := decode(t, must(t, "", "info", "--json", array))
	for name, want := range map[string]any{"zarr_format": 2.0, "data_type": "int16", "is_regular": true, "fill_value": nil} {
		if facts[name] != want {
			t.Errorf("%s is %v, want %v", name, facts[name], want)
		}
	}
	if grid, _ := facts["chunk_grid"].(map[string]any); grid["name"] != "regular" {
		t.Errorf("chunk grid %v", facts["chunk_grid"])
	}
	if notes, _ := facts["notes"].([]any); len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	if out := must(t, "", "tree", root); !strings.Contains(out, "t2m") || !strings.Contains(out, "5") {
		t.Error(out)
	}
	if d := decode(t, must(t, "", "consolidate", root, "--dry-run", "--json")); d["nodes"] != 1.0 || len(d["changed"].([]any)) != 0 || len(d["new"].([]any)) != 0 {
		t.Errorf("drift %v", d)
	}
	overwrite(t, filepath.Join(array, ".zattrs"), `{"units": "C"}`)
	if out := must(t, "", "info", root); !strings.Contains(out, "1 changed") {
		t.Error(out)
	}
	if out := must(t, "", "info", array); !strings.Contains(out, "varve consolidate") {
		t.Error(out)
	}
	overwrite(t, filepath.Join(array, "zarr.json"), `{"zarr_format": 3, "node_type": "group"}`)
	if out := must(t, "", "info", array); !strings.Contains(out, "documents of both formats exist: zarr.json was read, and .zarray was not") {
		t.Error(out)
	}
}

// TestUnknownFormat2 describes an array of format 2 that cannot be read, and lists it.
func TestUnknownFormat2(t *testing.T) {
	root := filepath.Join(t.TempDir(), "old.zarr")
	overwrite(t, filepath.Join(root, ".zgroup"), `{"zarr_format": 2}`)
	overwrite(t, filepath.Join(root, "a", ".zarray"), `{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|O", "compressor": null,
		"fill_value": 0, "order": "C", "filters": [{"id": "pickle"}]}`)
	out, errs, status := execute(t, "", "info", filepath.Join(root, "a"))
	if status != 1 || !strings.Contains(out, "4") || !strings.Contains(errs, `"pickle"`) {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
	if out := must(t, "", "tree", root); !strings.Contains(out, "a") || !strings.Contains(out, "cannot be read") {
		t.Error(out)
	}
}

// TestInfoOfFormat2 checks the format, NaT, null, and the spelling of types in info.
func TestInfoOfFormat2(t *testing.T) {
	root := filepath.Join(t.TempDir(), "old.zarr")
	overwrite(t, filepath.Join(root, ".zgroup"), `{"zarr_format": 2}`)
	if out := must(t, "", "info", root); !strings.Contains(out, "format   zarr format 2\n") && !strings.Contains(out, "format  zarr format 2\n") {
		t.Error(out)
	}
	columns := regexp.MustCompile(" {2,}")
	for dtype, c := range map[string]struct{ fill, text string }{
		`"<i4"`:                         {"null", "null, read as 0"},
		`"<f8"`:                         {`"NaN"`, `"NaN"`},
		`"<M8[s]"`:                      {"-9223372036854775808", "NaT"},
		`"<M8[D]"`:                      {"1", "1970-01-02"},
		`"<m8[s]"`:                      {"null", "null, read as NaT"},
		`[["id",">i4"],["p","|O",[3]]]`: {"null", "null"},
	} {
		node := filepath.Join(root, "a")
		overwrite(t, filepath.Join(node, ".zarray"), `{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": `+dtype+`, "compressor": null,
			"fill_value": `+c.fill+`, "order": "C", "filters": null}`)
		out, _, _ := execute(t, "", "info", node)
		out = columns.ReplaceAllString(out, "  ")
		if !strings.Contains(out, "format  zarr format 2\n") || !strings.Contains(out, "fill value  "+c.text+"\n") || strings.Contains(out, `\`) {
			t.Errorf("%s: %s", dtype, out)
		}
		if strings.HasPrefix(dtype, "[") && !strings.Contains(out, "data type  "+dtype+"\n") {
			t.Error(out)
		}
		out, _, _ = execute(t, "", "info", "--json", node)
		if facts := decode(t, out); facts["zarr_format"] != 2.0 {
			t.Error(out)
		}
	}
}

// TestUnsetMissingFormat2 removes attributes that nodes of format 2 do not have.
func TestUnsetMissingFormat2(t *testing.T) {
	root := filepath.Join(t.TempDir(), "old.zarr")
	must(t, "", "create", root, "--group", "--zarr-format", "2")
	must(t, "", "create", root+"/t2m", "--shape", "4", "--dtype", "int16")
	must(t, "", "attrs", root+"/t2m", "set", "units", `"K"`)
	for _, args := range [][]string{{root + "/t2m", "unset", "unit"}, {root + "/t2m", "unset", "unit", "--dry-run"}, {root, "unset", "unit"}} {
		_, errs, status := execute(t, "", append([]string{"attrs"}, args...)...)
		if status != 1 || !strings.Contains(errs, `there is no attribute "unit"`) || strings.Contains(errs, "tries") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
}

// TestChunksOfZero reads arrays of both formats with chunks of length 0 along axes
// without elements, converts groups of them, and appends to them.
func TestChunksOfZero(t *testing.T) {
	const (
		old = `{"zarr_format":2,"shape":%[1]s,"chunks":%[2]s,"dtype":"<f4","compressor":null,"fill_value":null,"filters":null,"order":"C"}`
		now = `{"zarr_format":3,"node_type":"array","shape":%[1]s,"data_type":"float32","fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":%[2]s}},"chunk_key_encoding":{"name":"v2"}}`
	)
	for _, c := range []struct{ shape, chunks, rows, elements string }{
		{"[0]", "[0]", "[5,6]", "[5.0,6.0]"},
		{"[0,3]", "[0,3]", "[[1,2,3]]", "[[1.0,2.0,3.0]]"},
		{"[0,3]", "[0,2]", "[[1,2,3],[4,5,6]]", "[[1.0,2.0,3.0],[4.0,5.0,6.0]]"},
	} {
		for format, text := range map[string]string{"2": old, "3": now} {
			root, other := filepath.Join(t.TempDir(), "s.zarr"), "3"
			document := "e/zarr.json"
			must(t, "", "create", root, "--group", "--zarr-format", format)
			if format == "2" {
				document = "e/.zarray"
			} else {
				other = "2"
			}
			overwrite(t, filepath.Join(root, document), fmt.Sprintf(text, c.shape, c.chunks))
			if out := must(t, "", "info", root+"/e"); !strings.Contains(out, "chunk length 0 of an axis without elements was read as 1") || strings.Contains(out, "not: zarr-python") {
				t.Errorf("format %s: %s", format, out)
			}
			if out := must(t, "", "export", root+"/e", "--format", "json"); strings.TrimSpace(out) != "[]" {
				t.Errorf("format %s, %s: elements %s", format, c.chunks, out)
			}
			must(t, "", "check", root)
			must(t, "", "convert", root, root+".copy", "--to", other)
			must(t, "", "convert", root, "--to", other)
			for _, array := range []string{root + "/e", root + ".copy/e"} {
				must(t, "", "check", array)
				must(t, c.rows, "append", array, "--format", "json")
				if out := strings.Join(strings.Fields(must(t, "", "export", array, "--format", "json")), ""); out != c.elements {
					t.Errorf("format %s, %s: appended elements %s", format, c.chunks, out)
				}
				if out := must(t, "", "info", array); strings.Contains(out, "chunk length 0") {
					t.Errorf("format %s: the document that was written: %s", format, out)
				}
			}
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.zarr")
	overwrite(t, filepath.Join(bad, ".zarray"), fmt.Sprintf(old, "[0,3]", "[1,0]"))
	if _, errs, status := execute(t, "", "info", bad); status == 0 || !strings.Contains(errs, "must not be 0 elements long, the axis has 3") {
		t.Errorf("status %d: %s", status, errs)
	}
}
