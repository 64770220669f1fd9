// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// TestBothFormats checks the note about documents of both formats, and removes those of
// format 2 by a conversion.
func TestBothFormats(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", "int8")
	overwrite(t, filepath.Join(node, ".zarray"), "{}")
	for _, want := range []bool{true, false} {
		notes := decode(t, must(t, "", "info", "--json", node))["notes"].([]any)
		if got := len(notes) == 1 && strings.Contains(notes[0].(string), "documents of both formats exist"); got != want {
			t.Error(notes)
		}
		must(t, "", "convert", node, "--to", "3")
	}
	if _, err := os.Stat(filepath.Join(node, ".zarray")); err == nil {
		t.Error("it is still there")
	}
}

// TestConvert converts groups where they are, and to other places.
func TestConvert(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.zarr")
	must(t, "", "create", old, "--group", "--zarr-format", "2")
	must(t, "", "create", old+"/deep/a", "--shape", "3", "--dtype", "int8", "--chunks", "2", "--dimension-names", "x", "--codecs",
		`[{"name":"numcodecs.delta","configuration":{"dtype":"|i1"}},"bytes",{"name":"numcodecs.zlib","configuration":{"level":1}}]`)
	must(t, "[1,4,9]", "write", old+"/deep/a", "--format", "json")
	must(t, "", "consolidate", old)
	drift := decode(t, must(t, "", "consolidate", old, "--dry-run", "--json"))
	if drift["nodes"] != 2.0 || len(drift["changed"].([]any))+len(drift["new"].([]any)) != 0 {
		t.Error(drift)
	}
	must(t, "", "attrs", old+"/deep/a", "set", "n", "1")
	if text := must(t, "", "info", old); strings.Contains(text, "older than the nodes") {
		t.Error(text)
	}
	before := must(t, "", "tree", old)
	if got := must(t, "", "convert", old, "--to", "3", "--dry-run"); got != old+"  1 array and 2 groups to convert to format 3, nothing was changed\n" {
		t.Error(got)
	}
	facts := decode(t, must(t, "", "convert", old, "--to", "3", "--json"))
	if facts["arrays"] != 1.0 || facts["groups"] != 2.0 || facts["destination"] != nil || len(facts["nodes"].([]any)) != 3 {
		t.Error(facts)
	}
	if got := must(t, "", "tree", old); got != before {
		t.Errorf("%s\nwas\n%s", got, before)
	}
	if got := must(t, "", "cat", old+"/deep/a", "--select", "x=::-1"); got != "[9 4 1]\n" {
		t.Error(got)
	}
	must(t, "[16]", "append", old+"/deep/a", "--format", "json")
	if got := must(t, "", "cat", old+"/deep/a"); got != "[ 1  4  9 16]\n" {
		t.Error(got)
	}
}

// TestConvertEncodes says which arrays are re-encoded, and why.
func TestConvertEncodes(t *testing.T) {
	dir := t.TempDir()
	_, errs, status := execute(t, "", "convert", "testdata/group_consolidated.zarr", "--to", "2", "--dry-run")
	if status != 1 || !strings.Contains(errs, "give a DST") || !strings.HasPrefix(errs, "varve: convert testdata/group_consolidated.zarr: ") {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, dst := range []string{dir + "/x.zarr", dir + "/x.zip"} {
		got := must(t, "", "convert", "testdata/group_consolidated.zarr", dst, "--to", "2")
		if !strings.Contains(got, "2 arrays and 2 groups copied in format 2\n") || !strings.Contains(got, "re-encoded    /deep/two: ") {
			t.Error(got)
		}
		again := strings.TrimSuffix(dst, filepath.Ext(dst)) + "-again" + filepath.Ext(dst)
		for _, args := range [][]string{{"--dry-run"}, nil} {
			got = must(t, "", append([]string{"convert", dst, again, "--to", "2"}, args...)...)
			if !strings.Contains(got, "; in the source 4 already had it\n") || strings.Contains(got, " now") {
				t.Error(got)
			}
		}
		must(t, "", "equal", "testdata/group_consolidated.zarr/deep/two", dst+"/deep/two")
		if got := must(t, "", "tree", dst); !strings.Contains(got, "two  int16  8 × 3") {
			t.Error(got)
		}
	}
	if _, errs, status = execute(t, "", "convert", "testdata/rect_2d.zarr"); status != 2 || !strings.Contains(errs, "--to is missing") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status = execute(t, "", "convert", "testdata/rect_2d.zarr", "--to", "3", "--overwrite"); status != 2 || !strings.Contains(errs, "DST") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestInfoOfUnknownFormat2 describes arrays of format 2 with unknown parts.
func TestInfoOfUnknownFormat2(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group", "--zarr-format", "2")
	for name, change := range map[string][2]string{
		"codec":  {`"zstd"`, `"lzx"`},
		"pickle": {`"filters": null`, `"filters": [{"id":"pickle"}]`},
	} {
		node := group + "/" + name
		must(t, "", "create", node, "--shape", "3", "--dtype", "int8")
		document := filepath.Join(node, ".zarray")
		data, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(data), change[0], change[1], 1)
		if name == "pickle" {
			text = strings.Replace(text, `"|i1"`, `"|O"`, 1)
		}
		overwrite(t, document, text)
		out, errs, status := execute(t, "", "info", "--json", node)
		if facts := decode(t, out); status != 1 || facts["zarr_format"] != 2.0 || len(facts["notes"].([]any)) == 0 || facts["grid_shape"] == nil {
			t.Errorf("%s: status %d, %s", name, status, out)
		}
		if failure := decode(t, errs)["error"].(map[string]any); failure["kind"] != "unsupported" {
			t.Error(errs)
		}
		if out := must(t, "", "tree", group); !strings.Contains(out, name+"  array  cannot be read") {
			t.Error(out)
		}
	}
}

// TestInfoTellsWhatIsUnknown checks that the unknown part of a document is named.
func TestInfoTellsWhatIsUnknown(t *testing.T) {
	for add, want := range map[string]string{
		`"storage_transformers": [{"name": "acme.move"}]`: "storage transformer acme.move is not known",
		`"acme": {"must_understand": true}`:               "the value at /acme is not known",
	} {
		node := newNode(t, "--shape", "3", "--dtype", "int8")
		document := filepath.Join(node, "zarr.json")
		data, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(data), `"storage_transformers": [],`, "", 1)
		overwrite(t, document, "{"+add+","+strings.TrimPrefix(strings.TrimSpace(text), "{"))
		out, errs, status := execute(t, "", "info", node)
		if status != 1 || !strings.Contains(out, want) || !strings.Contains(errs, "acme") {
			t.Errorf("status %d, %s%s", status, out, errs)
		}
		if _, _, status := execute(t, "", "info", "--stats", node); status != 1 {
			t.Error("status", status)
		}
	}
}

// TestConvertStores converts every store of zarr-python to the other format, and those of
// format 2 in place and back. The elements do not change.
func TestConvertStores(t *testing.T) {
	racing.Skip(t)
	dir := t.TempDir()
	archive, err := zip.OpenReader("../../testdata/stores.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := os.CopyFS(dir, archive); err != nil {
		t.Fatal(err)
	}
	stores, err := filepath.Glob(filepath.Join(dir, "*.zarr"))
	if err != nil || len(stores) < 100 {
		t.Fatal(len(stores), err)
	}
	converted, inPlace := 0, 0
	for _, store := range stores {
		name := filepath.Base(store)
		facts := decode(t, must(t, "", "info", "--json", store))
		if facts["kind"] != "array" || name == "dimension_names.zarr" { // some of its dimensions have no name
			continue
		}
		to := map[any]string{2.0: "3", 3.0: "2"}[facts["zarr_format"]]
		other := filepath.Join(dir, "converted", name)
		must(t, "", "convert", store, other, "--to", to)
		must(t, "", "equal", store, other)
		converted++
		if to != "3" {
			continue
		}
		copied := filepath.Join(dir, "copied", name)
		must(t, "", "copy", store, copied)
		for _, to := range []string{"3", "2"} {
			must(t, "", "convert", copied, "--to", to)
			must(t, "", "equal", store, copied)
		}
		inPlace++
	}
	t.Logf("%d stores converted, %d of them where they are", converted, inPlace)
	if converted != 118 || inPlace != 15 {
		t.Errorf("%d and %d stores are not as many as there are", converted, inPlace)
	}
}

// TestConvertGrowth converts arrays with stored policies to format 2 and back, where they
// are and elsewhere, and appends to them. Policies that regular chunks cannot follow must
// be removed and reported.
func TestConvertGrowth(t *testing.T) {
	for name, c := range map[string]struct {
		chunks, policy string
		kept           bool
	}{
		"calendar on a list":    {"[[31]]", `{"policy":"calendar:month","start":"2024-01-01","step":"1d"}`, false},
		"fixed on regular":      {"31", `{"policy":"fixed:31"}`, false},
		"what regular ones do":  {"31", `{"policy":"repeat-last"}`, true},
		"another program's own": {"31", `"as ever"`, true},
	} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		must(t, "", "create", group+"/a", "--shape", "31", "--dtype", "int8", "--chunks", c.chunks, "--chunk-key-encoding", "v2/", "--attributes", `{"units":"K"}`)
		plantGrowth(t, group+"/a", c.policy)
		elsewhere := filepath.Join(t.TempDir(), "h.zarr")
		for _, args := range [][]string{{group, elsewhere}, {group}} {
			if len(args) == 1 && c.chunks != "31" {
				continue // only what has regular chunks is converted where it is
			}
			convert := append(append([]string{"convert", "--to", "2", "--yes"}, args...), "--dry-run")
			dry, done := must(t, "", convert...), must(t, "", convert[:len(convert)-1]...)
			for _, text := range []string{dry, done} {
				if strings.Contains(text, "  growth        /a: attribute varve:growth") == c.kept {
					t.Errorf("%s: %s", name, text)
				}
			}
			at := args[len(args)-1]
			must(t, "", "convert", at, "--to", "3")
			attributes := must(t, "", "attrs", at+"/a")
			if strings.Contains(attributes, "varve:growth") != c.kept || !strings.Contains(attributes, "units") {
				t.Errorf("%s: %s", name, attributes)
			}
			if c.policy[0] == '{' {
				must(t, "xx", "append", at+"/a")
			}
		}
	}
}
