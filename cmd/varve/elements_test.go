// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
)

// typed has arrays of three elements for every kind of type: the values that are written,
// and how they are printed.
var typed = []struct{ dtype, values, json, csv, cat string }{
	{"int4", "[-8,0,7]", "", "-8\n0\n7\n", "[-8  0  7]\n"},
	{"bfloat16", `[1.5,"NaN",-0.0]`, "", "1.5\nnan\n-0.0\n", "[ 1.5  nan -0.0]\n"},
	{"float8_e5m2", "[1.0,-2.0,0.0]", "", "1\n-2\n0\n", "[ 1.0 -2.0  0.0]\n"},
	{"string", `["a","b, \"c\"",""]`, "", "a\n\"b, \"\"c\"\"\"\n\"\"\n", "[     'a' 'b, \"c\"'       '']\n"},
	{"bytes", `["AAE=",[104,105],""]`, `["AAE=","aGk=",""]`, "0x0001\n0x6869\n0x\n", `[b'\x00\x01'       b'hi'         b'']` + "\n"},
	{"U3", `["äöü","x",""]`, "", "äöü\nx\n\"\"\n", "['äöü'   'x'    '']\n"},
	{`{"name":"null_terminated_bytes","configuration":{"length_bytes":4}}`, `["YWJj","eA==",""]`, "", "abc\nx\n\"\"\n", "[b'abc'   b'x'    b'']\n"},
	{"M8[D]", `[0,"NaT",59]`, `[0,-9223372036854775808,59]`, "1970-01-01\nNaT\n1970-03-01\n", "[1970-01-01        NaT 1970-03-01]\n"},
	{"m8[s]", "[1,-1,0]", "", "1 s\n-1 s\n0 s\n", "[ 1 s -1 s  0 s]\n"},
	{">f4", "[1.0,2.5,-1.0]", "", "1\n2.5\n-1\n", "[ 1.0  2.5 -1.0]\n"},
	{"complex64", "[[1.0,2.0],[0.0,-0.0],[3.0,4.0]]", "", "1.0+2.0j\n0.0-0.0j\n3.0+4.0j\n", "[1.0+2.0j 0.0-0.0j 3.0+4.0j]\n"},
	{`[["x","<i2"],["y",[["z","<f4"],["w","U2"]]]]`, `[{"x":1,"y":{"z":0.5,"w":"a,"}},{"x":-1,"y":{"z":1.0,"w":""}},{"x":0,"y":{"z":0.0,"w":"c"}}]`, "",
		"x,y.z,y.w\n1,0.5,\"a,\"\n-1,1,\"\"\n0,0,c\n", "[(1, (0.5, 'a,'))  (-1, (1.0, ''))  (0, (0.0, 'c'))]\n"},
}

// TestTypes takes elements of every kind through write, cat, export, append, equal and
// conformance.
func TestTypes(t *testing.T) {
	for _, c := range typed {
		node := newNode(t, "--shape", "3", "--dtype", c.dtype, "--chunks", "[[1,2]]")
		must(t, c.values, "write", node, "--format", "json")
		want := c.values
		if c.json != "" {
			want = c.json
		}
		got := must(t, "", "export", node, "--format", "json")
		if got = strings.TrimSuffix(got, "\n"); got != want && !(strings.Contains(got, `"NaT"`) && strings.HasPrefix(c.dtype, "M8")) {
			t.Errorf("%s: json is %s, want %s", c.dtype, got, want)
		}
		if csv := must(t, "", "export", node, "--format", "csv"); csv != c.csv {
			t.Errorf("%s: csv is %q, want %q", c.dtype, csv, c.csv)
		}
		if cat := must(t, "", "cat", node); cat != c.cat {
			t.Errorf("%s: cat is %q, want %q", c.dtype, cat, c.cat)
		}
		lines := strings.TrimSuffix(must(t, "", "conformance", "--array_path", node), "\n")
		if lines = strings.ReplaceAll(lines, "\n", ","); "["+lines+"]" != got {
			t.Errorf("%s: conformance is %s", c.dtype, lines)
		}
		other := newNode(t, "--shape", "0", "--dtype", c.dtype, "--chunks", "[[3]]")
		must(t, got, "append", other, "--format", "json")
		must(t, "", "equal", node, other)
		must(t, "", "write", other, "--select", "2", "--value", strings.TrimSuffix(must(t, "", "export", node, "--select", "0", "--format", "json"), "\n"))
		if out, errs, status := execute(t, "", "equal", node, other); status != 1 || !strings.Contains(errs, "element [2] differs") {
			t.Errorf("%s: status %d, %s%s", c.dtype, status, out, errs)
		}
		if info := must(t, "", "info", node); !strings.Contains(info, "data type") {
			t.Error(info)
		}
	}
}

// TestTypesOfFormat2 creates arrays of all types of format 2, and converts them and back.
func TestTypesOfFormat2(t *testing.T) {
	for _, c := range typed {
		node := filepath.Join(t.TempDir(), "a.zarr")
		_, errs, status := execute(t, "", "create", node, "--shape", "3", "--dtype", c.dtype, "--chunks", "2", "--zarr-format", "2", "--dimension-names", "x")
		if status != 0 {
			if !strings.Contains(errs, "NumPy has no data type") {
				t.Errorf("%s: %s", c.dtype, errs)
			}
			continue
		}
		must(t, c.values, "write", node, "--format", "json")
		want := must(t, "", "export", node, "--format", "json")
		for _, to := range []string{"3", "2"} {
			must(t, "", "convert", node, "--to", to)
			if got := must(t, "", "export", node, "--format", "json"); got != want {
				t.Errorf("%s: in format %s %s, want %s", c.dtype, to, got, want)
			}
			facts := decode(t, must(t, "", "info", "--json", node))
			if names := facts["dimension_names"].([]any); facts["zarr_format"] != float64(to[0]-'0') || names[0] != "x" {
				t.Errorf("%s: %v", c.dtype, facts)
			}
		}
	}
}

// TestVariableIsNotRaw checks that raw is refused for elements of variable length, with a
// hint.
func TestVariableIsNotRaw(t *testing.T) {
	node := newNode(t, "--shape", "3", "--dtype", "string")
	for _, args := range [][]string{
		{"export", node}, {"export", node, "--format", "npy"}, {"write", node}, {"append", node},
	} {
		_, errs, status := execute(t, "", args...)
		if status != 1 || !strings.Contains(errs, "--format json") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
	small := newNode(t, "--shape", "3", "--dtype", "bfloat16")
	if _, errs, status := execute(t, "", "export", small, "--format", "npy"); status != 1 || !strings.Contains(errs, "--format raw") {
		t.Errorf("status %d, %s", status, errs)
	}
	_, errs, status := execute(t, `["a"]`, "write", node, "--format", "json")
	if status != 1 || !strings.Contains(errs, "1 value") || strings.Contains(errs, "byte") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestWordsOfNPY writes text of a fixed length into arrays of text of any length.
func TestWordsOfNPY(t *testing.T) {
	u, err := dtype.FixedUTF32(2)
	if err != nil {
		t.Fatal(err)
	}
	data := []byte("a\x00\x00\x00b\x00\x00\x00c\x00\x00\x00\x00\x00\x00\x00")
	file := npyFile(t, npy.Header{Type: u, Shape: []int64{2}}, data)
	node := newNode(t, "--shape", "2", "--dtype", "string")
	must(t, "", "write", node, file)
	if got := must(t, "", "cat", node); got != "['ab'  'c']\n" {
		t.Error(got)
	}
	from := filepath.Join(t.TempDir(), "from.zarr")
	must(t, "", "create", from, "--from", file)
	if got := must(t, "", "cat", from); got != "['ab'  'c']\n" {
		t.Error(got)
	}
}

// TestStructsAsNPY exports structs to NumPy's format, and creates arrays of both formats
// from such a file.
func TestStructsAsNPY(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", `[["a","<i4"],["b","U2"]]`)
	must(t, `[{"a":1,"b":"x"},{"a":-1,"b":"yz"}]`, "write", node, "--format", "json")
	file := filepath.Join(t.TempDir(), "a.npy")
	must(t, "", "export", node, "-o", file)
	for _, format := range []string{"2", "3"} {
		other := filepath.Join(t.TempDir(), "b.zarr")
		must(t, "", "create", other, "--from", file, "--zarr-format", format)
		must(t, "", "equal", node, other)
	}
}
