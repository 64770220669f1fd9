// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReaders checks which programs are said to read arrays of several kinds, in info and
// after unlock.
func TestReaders(t *testing.T) {
	names := []string{"--dtype", "int8", "--dimension-names", "y,x"}
	lists := "zarr-python ≥ 3.2 (array.rectilinear_chunks), xarray ≥ 2026.9 (array.rectilinear_chunks, no appends), " +
		"zarrs ≥ 0.23.8; not: zarr-python < 3.2, xarray < 2026.9, TensorStore, zarrita, GDAL\n"
	lz4 := `["bytes", {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}]`
	nested := `[{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "codecs": [{"name": "sharding_indexed", "configuration": ` +
		`{"chunk_shape": [1, 3], "codecs": ["bytes"], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}], ` +
		`"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]`
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(names, "--chunks", "[2,3]"), "Varve, zarr-python ≥ 3.0, xarray ≥ 2025.1 (zarr ≥ 3.0), zarrs ≥ 0.23.8, TensorStore ≥ 0.1.85, zarrita ≥ 0.7.5, GDAL ≥ 3.13\n"},
		{[]string{"--dtype", "int8", "--chunks", "[2,3]"}, "Varve, zarr-python ≥ 3.0, zarrs ≥ 0.23.8, TensorStore ≥ 0.1.85, zarrita ≥ 0.7.5, GDAL ≥ 3.13; not: xarray (no dimension names)\n"},
		{append(names, "--chunks", "[[2,2],3]"), lists},
		{[]string{"--dtype", "bfloat16", "--chunks", "[[2,2],3]"}, "Varve, zarrs ≥ 0.23.8; not: xarray (no dimension names), TensorStore, zarrita, GDAL; not known: zarr-python\n"},
		{[]string{"--dtype", "string", "--chunks", "[2,3]"}, "Varve, zarr-python ≥ 3.0, zarrs ≥ 0.23.8, zarrita ≥ 0.7.5, GDAL ≥ 3.13; not: xarray (no dimension names), TensorStore\n"},
		{[]string{"--dtype", "M8[s]", "--chunks", "[2,3]"}, "Varve, zarr-python ≥ 3.1, zarrs ≥ 0.23.8; not: xarray (no dimension names); not known: TensorStore, zarrita, GDAL\n"},
		{append(names, "--zarr-format", "2", "--chunks", "[2,3]", "--compressor", "none"), "Varve, zarr-python ≥ 2.18, xarray ≥ 2025.1 (zarr ≥ 3.0), TensorStore ≥ 0.1.85, zarrita ≥ 0.7.5, GDAL ≥ 3.13; not known: zarrs\n"},
		{[]string{"--dtype", "int8", "--zarr-format", "2"}, "not: xarray (no dimension names)"},
		{append(names, "--shards", "[4,3]", "--chunks", "[2,3]"), "Varve, zarr-python ≥ 3.0, xarray ≥ 2025.1 (zarr ≥ 3.0), zarrs ≥ 0.23.8, TensorStore ≥ 0.1.85, zarrita ≥ 0.7.5, GDAL ≥ 3.13\n"},
		{append(names, "--shards", "[4,3]", "--chunks", "[2,3]", "--index-location", "start"), "TensorStore ≥ 0.1.85, GDAL ≥ 3.13; not: zarrita\n"},
		{append(names, "--chunks", "[4,3]", "--codecs", nested), "Varve, zarr-python ≥ 3.1, xarray ≥ 2026.9, zarrs ≥ 0.23.8, TensorStore ≥ 0.1.85, GDAL ≥ 3.13; not: zarrita\n"},
		{append(names, "--shards", "[4,3]", "--chunks", "[2,3]", "--codecs", lz4), "zarr-python ≥ 3.2, xarray ≥ 2026.9; not known: zarrs, TensorStore, zarrita, GDAL\n"},
	} {
		node := newNode(t, append([]string{"--shape", "4,3"}, c.args...)...)
		if got := undated(t, must(t, "", "info", node)); !strings.Contains(got, c.want) {
			t.Errorf("%q: %s", c.args, got)
		}
	}
	regular := newNode(t, append(names, "--shape", "4,3", "--chunks", "[3,3]")...)
	if got := undated(t, must(t, "", "unlock", regular)); !strings.Contains(got, "  readable by Varve, "+lists) {
		t.Error(got)
	}
	for _, command := range []string{"info", "unlock"} {
		facts := decode(t, must(t, "", command, "--json", regular))
		if is, not := facts["readable_by"].([]any), facts["not_readable_by"].([]any); len(is) != 3 || fmt.Sprint(not) != "[zarr-python < 3.2 xarray < 2026.9 TensorStore zarrita GDAL]" {
			t.Errorf("%s: the programs are %q, not %q", command, is, not)
		}
	}
}

// asOf is the month of what is known about other programs.
var asOf = regexp.MustCompile(`; as of 20\d\d-[01]\d\n`)

// undated removes the month from a list of readers. It fails if there is none.
func undated(t *testing.T, text string) string {
	t.Helper()
	if !asOf.MatchString(text) {
		t.Errorf("the list of readers has no month: %s", text)
	}
	return asOf.ReplaceAllString(text, "\n")
}

// TestReadersOfManifest checks that info says of a manifest that only Varve reads it, and
// that it has a document which other programs refuse.
func TestReadersOfManifest(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "", "create", "data/a.zarr/v", "--shape", "4", "--dtype", "int8", "--chunks", "2", "--dimension-names", "x")
	must(t, "", "write", "data/a.zarr/v", "--value", "7")
	must(t, "", "virtualize", "data/a.zarr", "-o", "data/a.vz")
	for _, node := range []string{"data/a.vz", "data/a.vz/v"} {
		if got := must(t, "", "info", node); !strings.Contains(got, "any other program (varve materialize copies") || strings.Contains(got, "zarr-python") {
			t.Error(got)
		}
	}
	if is := decode(t, must(t, "", "info", "data/a.vz/v", "--json"))["readable_by"].([]any); len(is) > 0 {
		t.Error(is)
	}
	must(t, "", "create", "data/g.zarr", "--group")
	must(t, "", "copy", "data/a.zarr/v", "data/g.zarr/v")
	must(t, "", "virtualize", "data/g.zarr/v", "-o", "data/g.zarr/inside.vz")
	for name, there := range map[string]bool{"data/a.vz": true, "data/g.zarr/inside.vz": false} {
		b, err := os.ReadFile(filepath.Join(name, "zarr.json"))
		if (err == nil) != there || there && !strings.Contains(string(b), "must_understand") {
			t.Errorf("%s: %s, %v", name, b, err)
		}
		must(t, "", "rm", name, "--yes")
		if _, err := os.Stat(filepath.Join(name, "zarr.json")); err == nil {
			t.Error("the document is left")
		}
	}
}

// TestReadersOfPlainFolder checks that a node in a folder whose name ends in .vz is no
// manifest, and that commands which make one there say so.
func TestReadersOfPlainFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	const note = "and no manifest, in spite of its name"
	for _, c := range []struct {
		line  string
		noted bool
	}{
		{"create y.vz --shape 4 --dtype int8 --chunks 2", true},
		{"create g.vz --group", true},
		{"create g.vz/a --shape 2 --dtype int8", false},
		{"create x.zarr --shape 4 --dtype int8", false},
		{"copy x.zarr c.vz", true},
		{"rechunk x.zarr r.vz --chunks 2", true},
		{"regularize x.zarr s.vz --chunks 2", true},
		{"rechunk x.zarr r.zarr --chunks 2", false},
	} {
		if _, errs, status := execute(t, "", strings.Fields(c.line)...); status != 0 || strings.Contains(errs, note) != c.noted {
			t.Errorf("%s: status %d, %q", c.line, status, errs)
		}
	}
	for _, node := range []string{"y.vz", "g.vz", "c.vz", "r.vz", "g.vz/a"} {
		out := must(t, "", "info", node)
		if strings.Contains(out, "any other program") || node != "g.vz" && !strings.Contains(out, "readable by Varve, zarr-python") {
			t.Errorf("%s: %s", node, out)
		}
	}
	if _, errs, status := execute(t, "", "create", "n.zarr", "--from", "y.vz"); status != 1 || !strings.Contains(errs, "varve copy y.vz NODE copies it") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestReadersOfRepaired checks what is said about zarr-python 3.4 and documents that
// deviate from the specification, before and after they are rewritten. The answers were
// tried with zarr-python.
func TestReadersOfRepaired(t *testing.T) {
	const refuse = "Varve; not: zarr-python (until Varve rewrites the document), xarray (until Varve rewrites the document); not known: zarrs, TensorStore, zarrita, GDAL\n"
	const reads = "Varve, zarr-python ≥ 3.2, xarray ≥ 2026.9; not known: zarrs, TensorStore, zarrita, GDAL\n"
	spelled := strings.ReplaceAll(refuse, "until Varve rewrites the document", "integers are written as 2.0")
	level := []string{"--compressor", "zstd:3"}
	for _, c := range []struct {
		args     []string
		old, new string
		want     string
	}{
		{[]string{"--codecs", `[{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes", "configuration": {"endian": "little"}}]`}, `[1, 0]`, `"F"`, refuse},
		{nil, `"fill_value": 0`, `"fill_value": null`, refuse},
		{level, `"level": 3`, `"level": 100`, refuse},
		{level, `"level": 3`, `"level": 3.0`, spelled},
		{nil, `"shape": [2, 3]`, `"shape": [2.0, 3]`, spelled},
		{nil, `"chunk_shape": [2, 3]`, `"chunk_shape": [2, 3e0]`, spelled},
		{nil, `"attributes": {}`, `"attributes": null`, reads},
		{nil, `"attributes": {}`, `"attributes": {"a": NaN}`, strings.NewReplacer("3.2", "3.0", "2026.9", "2025.1 (zarr ≥ 3.0)").Replace(reads)},
	} {
		node := newNode(t, append([]string{"--shape", "2,3", "--dtype", "int16", "--chunks", "2,3", "--dimension-names", "y,x"}, c.args...)...)
		replaceInDocument(t, node, c.old, c.new)
		if got := undated(t, must(t, "", "info", node)); !strings.Contains(got, "  readable by "+c.want) {
			t.Errorf("%s: %s", c.new, got)
		}
		must(t, "", "attrs", node, "set", "b", "1")
		if got := must(t, "", "info", node); strings.Contains(got, "before Varve") {
			t.Errorf("%s, written anew: %s", c.new, got)
		}
	}
	node := newNode(t, "--shape", "2,3", "--dtype", "int16", "--codecs", `[{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes", "configuration": {"endian": "little"}}]`)
	replaceInDocument(t, node, `[1, 0]`, `"F"`)
	if got := must(t, "", "unlock", node); strings.Contains(got, "before Varve") {
		t.Error(got)
	}
}

// TestReadersOfMissing checks the note that xarray opens no group of format 3 in which
// _FillValue of floats is a number, and its advice.
func TestReadersOfMissing(t *testing.T) {
	flags := []string{"--shape", "4", "--dtype", "float32", "--dimension-names", "x", "--attributes", `{"_FillValue": -99.5}`}
	for format, refused := range map[string]bool{"2": false, "3": true} {
		node := filepath.Join(t.TempDir(), "a.zarr")
		_, errs, status := execute(t, "", append([]string{"create", node, "--zarr-format", format}, flags...)...)
		if status != 0 || strings.Contains(errs, `"AAAAAADgWMA="`) != refused {
			t.Errorf("format %s: %s", format, errs)
		}
		if got := must(t, "", "info", node); strings.Contains(got, "xarray (_FillValue of floats is base64)") != refused {
			t.Errorf("format %s: %s", format, got)
		}
		_, errs, status = execute(t, "", "attrs", node, "set", "_FillValue", "1")
		if status != 0 || strings.Contains(errs, `set _FillValue '"AAAAAAAA8D8="'`) != refused {
			t.Errorf("format %s: %s", format, errs)
		}
		_, errs, status = execute(t, "", "attrs", node, "set", "_FillValue", `"AAAAAAAA8D8="`)
		if status != 0 || errs != "" {
			t.Errorf("format %s: %s", format, errs)
		}
		if got := must(t, "", "info", node); !strings.Contains(got, "xarray ≥ 2025.1 (zarr ≥ 3.0)") {
			t.Errorf("format %s: %s", format, got)
		}
	}
}
