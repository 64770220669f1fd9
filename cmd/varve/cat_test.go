// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCat(t *testing.T) {
	got := must(t, "", "cat", "testdata/rect_2d.zarr")
	want := `[[ 704087823          1          1 …         35 -128928051         40]
 [        42         39         36 … -109420278         25         28]
 [        31         30         27 … 1606612459         44         43]
 …
 [       149        150        150 …        121        124        121]
 [       120        123        122 …        125        128        127]
 [1580196685        128        131 …        140        137        139]]
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestCatEqualsExport compares the ends that an excerpt shows with the values that export
// writes.
func TestCatEqualsExport(t *testing.T) {
	for sel, rows := range map[string][2]string{
		"::-1":  {"59,:3", "59,-3:"},
		":,::2": {"0,:6:2", "0,-6::2"},
		"3:,1:": {"3,1:4", "3,-3:"},
	} {
		text := must(t, "", "cat", "testdata/rect_2d.zarr", "--select", sel)
		first := strings.Fields(strings.NewReplacer("[", " ", "]", " ", "…", " ").Replace(strings.SplitN(text, "\n", 2)[0]))
		head := strings.Fields(must(t, "", "export", "testdata/rect_2d.zarr", "--format", "csv", "--select", rows[0]))
		tail := strings.Fields(must(t, "", "export", "testdata/rect_2d.zarr", "--format", "csv", "--select", rows[1]))
		if got, want := strings.Join(first, " "), strings.Join(append(head, tail...), " "); got != want {
			t.Errorf("%s: got %s, want %s", sel, got, want)
		}
	}
}

func TestCatShapes(t *testing.T) {
	for _, c := range []struct{ shape, sel, want string }{
		{"", "", "0\n"},
		{"2,2,2", "", "[[[0 0]\n  [0 0]]\n\n [[0 0]\n  [0 0]]]\n"},
		{"2,2,2", "0,1", "[0 0]\n"},
		{"2,2,2", "0,1,1", "0\n"},
		{"0,3", "", "[]  (shape 0 × 3)\n"},
		{"1000000000000", "", "[0 0 0 … 0 0 0]\n"},
		{"1001,2", "", "[[0 0]\n [0 0]\n [0 0]\n …\n [0 0]\n [0 0]\n [0 0]]\n"},
		{"40", "", "[" + strings.Repeat("0 ", 38) + "0\n 0]\n"},
	} {
		node := newNode(t, "--shape", c.shape, "--dtype", "int8")
		if got := must(t, "", "cat", node, "--select", c.sel); got != c.want {
			t.Errorf("%s[%s]: got\n%s\nwant\n%s", c.shape, c.sel, got, c.want)
		}
	}
}

func TestCatJSON(t *testing.T) {
	got := must(t, "", "cat", "--json", "testdata/rect_2d.zarr", "--select", "0,:3")
	want := `{"path": "testdata/rect_2d.zarr", "shape": [3], "data_type": "int32", "values": [704087823,1,1]}` + "\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestCatJSONIsWholeOrNothing(t *testing.T) {
	node := fixture(t, "rect_2d.zarr")
	overwrite(t, filepath.Join(node, "c", "2", "3"), "no zstd frame")
	for _, args := range [][]string{{"cat", "--json", node}, {"export", "--format", "json", node}, {"cat", node}} {
		if out, errs, status := execute(t, "", args...); status != 1 || out != "" || !strings.Contains(errs, "c/2/3") {
			t.Errorf("%q: status %d, %.60q, %s", args, status, out, errs)
		}
	}
}

func TestCatBools(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", "bool")
	must(t, "", "write", node, "--select", "1", "--value", "true")
	if got := must(t, "", "cat", node); got != "[False  True]\n" {
		t.Error(got)
	}
	if got := must(t, "", "export", node, "--format", "csv"); got != "false\ntrue\n" {
		t.Error(got)
	}
}

func TestCatTimes(t *testing.T) {
	for _, c := range []struct{ dtype, attributes, values, want string }{
		{"int64", `{"units": "days since 2000-01-01"}`, "[0,59,366]", "[2000-01-01 2000-02-29 2001-01-01]\n"},
		{"float32", `{"units": "days since 2000-01-01"}`, `[0.5,1,"NaN"]`, "[2000-01-01T12:00:00          2000-01-02                 NaT]\n"},
		{"int32", `{"units": "hours since 1900-01-01 00:00:00", "calendar": "gregorian"}`, "[24,25,-1]", "[1900-01-02T00:00:00 1900-01-02T01:00:00 1899-12-31T23:00:00]\n"},
		{"uint8", `{"units": "minutes since 2000-1-1T06:30:00Z"}`, "[0,1,2]", "[2000-01-01T06:30:00 2000-01-01T06:31:00 2000-01-01T06:32:00]\n"},
		{"int8", `{"units": "days since 2000-01-01", "calendar": "noleap"}`, "[0,1,2]", "[2000-01-01 2000-01-02 2000-01-03]\n"},
		{"int8", `{"units": "days since 0001-01-01"}`, "[0,1,2]", "[0001-01-01 0001-01-02 0001-01-03]\n"},
		{"int8", `{"units": "months since 2000-01-01"}`, "[0,1,2]", "[0 1 2]\n"},
		{"int8", `{"units": 5}`, "[0,1,2]", "[0 1 2]\n"},
		{"int8", `{"units": "seconds since 2000-01-01 00:00:00.5"}`, "[0,1,2]", "[2000-01-01T00:00:00.5 2000-01-01T00:00:01.5 2000-01-01T00:00:02.5]\n"},
		{"float64", `{"units": "seconds since 1970-01-01"}`, "[0.25,1e300,-1]", "[1970-01-01T00:00:00.25                 1e+300    1969-12-31T23:59:59]\n"},
	} {
		node := newNode(t, "--shape", "3", "--dtype", c.dtype, "--attributes", c.attributes)
		must(t, c.values, "write", node, "--format", "json")
		if got := must(t, "", "cat", node); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.attributes, c.values, got, c.want)
		}
	}
}

// TestCatTooManyBytes prints the ends of an array whose size in bytes overflows 64 bits.
// Commands that need all elements must fail.
func TestCatTooManyBytes(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.zarr"), filepath.Join(dir, "b.zarr")
	must(t, "", "create", a, "--shape", "9223372036854775807", "--dtype", "int32", "--chunks", "1000")
	must(t, "", "create", b, "--shape", "4", "--dtype", "int32")
	if got := must(t, "", "cat", a); got != "[0 0 0 … 0 0 0]\n" {
		t.Errorf("cat: %s", got)
	}
	for _, args := range [][]string{{"cat", a, "--json"}, {"export", a, "-o", filepath.Join(dir, "x.npy")}, {"export", a, "-o", filepath.Join(dir, "x.csv")}, {"write", b, a}} {
		if _, stderr, status := execute(t, "", args...); status != 1 || !strings.Contains(stderr, "64 bits") {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
	}
	must(t, "", "create", a, "--overwrite", "--yes", "--shape", "9223372036854775806", "--dtype", "int8", "--chunks", "1000")
	if _, stderr, status := execute(t, "", "export", a, "-o", filepath.Join(dir, "x.csv"), "--limit", "1GiB"); status != 1 || !strings.Contains(stderr, "limit") {
		t.Errorf("export of bytes: status %d, %s", status, stderr)
	}
}
