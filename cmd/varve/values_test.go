// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/racing"
)

// newNode creates an array and returns its place.
func newNode(t *testing.T, args ...string) string {
	t.Helper()
	node := filepath.Join(t.TempDir(), "a.zarr")
	createNoted(t, node, args...)
	return node
}

// createNoted creates an array, and permits notes.
func createNoted(t *testing.T, node string, args ...string) {
	t.Helper()
	_, errs, status := execute(t, "", append([]string{"create", node}, args...)...)
	if status != 0 || errs != "" && !strings.HasPrefix(errs, "note: ") {
		t.Fatalf("create %q: status %d, %s", args, status, errs)
	}
}

func TestExport(t *testing.T) {
	node := newNode(t, "--shape", "2,2,3", "--dtype", "int16", "--chunks", "[[1,1],2,2]")
	must(t, "[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,-1]]]", "write", node, "--format", "json")
	for _, c := range []struct{ sel, format, want string }{
		{"", "json", "[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,-1]]]\n"},
		{"", "csv", "0,0,1,2,3\n0,1,4,5,6\n1,0,7,8,9\n1,1,10,11,-1\n"},
		{"1", "csv", "7,8,9\n10,11,-1\n"},
		{"1", "json", "[[7,8,9],[10,11,-1]]\n"},
		{"...,::2", "json", "[[[1,3],[4,6]],[[7,9],[10,-1]]]\n"},
		{"0,0", "csv", "1\n2\n3\n"},
		{"0,0,1", "csv", "2\n"},
		{"0,0,1", "json", "2\n"},
		{":,1:1", "json", "[[],[]]\n"},
		{"1:1", "json", "[]\n"},
		{"1:1", "csv", ""},
		{"1,1", "raw", "\x0a\x00\x0b\x00\xff\xff"},
		{"1,1", "", "\x0a\x00\x0b\x00\xff\xff"},
		{"1:1", "raw", ""},
	} {
		args := []string{"export", node, "--select", c.sel}
		if c.format != "" {
			args = append(args, "--format", c.format)
		}
		if got := must(t, "", args...); got != c.want {
			t.Errorf("%q as %s: got %q, want %q", c.sel, c.format, got, c.want)
		}
	}
}

func TestExportToFile(t *testing.T) {
	dir := t.TempDir()
	for file, want := range map[string]string{"a.json": "[", "a.csv": "704087823,", "a.npy": "\x93NUMPY", "a.bin": "\x0f\x87\xf7)\x01\x00"} {
		name := filepath.Join(dir, file)
		overwrite(t, name, "old")
		got := decode(t, must(t, "", "export", "testdata/rect_2d.zarr", "-o", name, "--json"))
		if got["data_type"] != "int32" || got["output"] != name {
			t.Error(got)
		}
		if data, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(data), want) {
			t.Errorf("%s: %.20q, %v", file, data, err)
		}
	}
	overwrite(t, filepath.Join(dir, "kept"), "old")
	if _, _, status := execute(t, "", "export", "testdata/rect_2d.zarr", "-o", filepath.Join(dir, "kept"), "--select", "99"); status != 1 {
		t.Error("status", status)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "kept")); string(data) != "old" {
		t.Errorf("%q", data)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 5 {
		t.Error(entries)
	}
	_, errs, status := execute(t, "", "export", "testdata/rect_2d.zarr", "-o", filepath.Join(dir, "no", "a.npy"))
	if status != 1 || strings.Count(errs, "\n") != 1 {
		t.Error(errs, status)
	}
}

// TestEmptyListsAreBounded exports an array that has no element and 10^12 empty lists.
func TestEmptyListsAreBounded(t *testing.T) {
	node := newNode(t, "--shape", "1000000000000,0", "--dtype", "int8", "--chunks", "[1000000000,1]")
	if _, errs, status := execute(t, "", "export", node, "--format", "json"); status != 1 || !strings.Contains(errs, "empty lists") {
		t.Error(status, errs)
	}
}

func TestWriteJSONIsExact(t *testing.T) {
	for _, c := range []struct{ dtype, text, want string }{
		{"int64", "[9223372036854775807,-9223372036854775808,9007199254740993]", ""},
		{"uint64", "[18446744073709551615,0,1e3]", "[18446744073709551615,0,1000]"},
		{"float64", `[0.1,"NaN","-Infinity"]`, ""},
		{"float32", `["0x7fc00001",-0.0,16777217]`, `["0x7fc00001",-0.0,16777216.0]`},
		{"bool", "[true,false,true]", ""},
		{"complex128", `[[1.0,"NaN"],[0.0,-0.0],[1e+300,2.0]]`, ""},
		{"r16", "[[1,2],[3,4],[255,0]]", ""},
	} {
		node := newNode(t, "--shape", "3", "--dtype", c.dtype)
		must(t, c.text, "write", node, "--format", "json")
		want := c.text
		if c.want != "" {
			want = c.want
		}
		if got := must(t, "", "export", node, "--format", "json"); got != want+"\n" {
			t.Errorf("%s: got %s, want %s", c.dtype, got, want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	node := newNode(t, "--shape", "2,2", "--dtype", "int16")
	wrongType := npyFile(t, npy.Header{Type: dtype.Int32, Shape: []int64{2, 2}}, make([]byte, 16))
	wrongShape := npyFile(t, npy.Header{Type: dtype.Int16, Shape: []int64{4, 2}}, make([]byte, 16))
	turned := npyFile(t, npy.Header{Type: dtype.Int16, Shape: []int64{2, 2}, Fortran: true}, make([]byte, 7))
	short := filepath.Join(t.TempDir(), "short.raw")
	overwrite(t, short, "1234567")
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"1234567", nil, "ends after 7 bytes"},
		{"123456789", nil, "more than the 8 bytes"},
		{"", []string{short}, "7 bytes"},
		{"", []string{wrongType}, "int32"},
		{"", []string{wrongShape}, "8 values"},
		{"", []string{turned}, "7 bytes"},
		{"not npy", []string{"--format", "npy"}, "npy"},
		{"[[1,2],[3]]", []string{"--format", "json"}, "/1"},
		{"[[1,2],[3,4],[5,6]]", []string{"--format", "json"}, "6 values"},
		{"[[1,2],[3,70000]]", []string{"--format", "json"}, "70000"},
		{"[[1,2],[3,4]", []string{"--format", "json"}, "standard input"},
		{strings.Repeat("[", 1000), []string{"--format", "json"}, "standard input"},
		{`{"a": 1}`, []string{"--format", "json"}, "standard input"},
		{"[]", []string{"--format", "json"}, "0 values"},
	} {
		_, errs, status := execute(t, c.stdin, append([]string{"write", node}, c.args...)...)
		if status != 1 || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q %q: status %d, %s", c.stdin, c.args, status, errs)
		}
	}
	if got := must(t, "", "cat", node); got != "[[0 0]\n [0 0]]\n" {
		t.Errorf("something was written: %s", got)
	}
}

func TestWrite(t *testing.T) {
	node := newNode(t, "--shape", "2,3", "--dtype", "uint16", "--chunks", "[[1,1],2]")
	got := decode(t, must(t, "\x01\x00\x02\x00\x03\x00", "write", node, "--select", "1", "--json"))
	if got["elements"] != 3.0 || got["path"] != node {
		t.Error(got)
	}
}

func TestFillAndPours(t *testing.T) {
	node := newNode(t, "--shape", "2,3", "--dtype", "float32", "--dimension-names", "y,x")
	must(t, "", "write", node, "--select", "x=1:", "--value", "nan")
	h := npy.Header{Type: dtype.Float32, Shape: []int64{1, 2}, BigEndian: true}
	must(t, "", "write", node, npyFile(t, h, []byte{0x3f, 0x80, 0, 0, 0x40, 0, 0, 0}), "--select", "1,:2")
	if got := must(t, "", "cat", node); got != "[[0.0 nan nan]\n [1.0 2.0 nan]]\n" {
		t.Error(got)
	}
}

func TestAppend(t *testing.T) {
	node := newNode(t, "--shape", "2,2", "--dtype", "int8", "--chunks", "[[1,1],2]")
	for _, c := range []struct {
		stdin string
		args  []string
		want  string // shape afterwards
	}{
		{"\x05\x06\x07\x08", nil, "[4,2]"},
		{"[[9,10]]", []string{"--format", "json"}, "[5,2]"},
		{"", []string{npyFile(t, npy.Header{Type: dtype.Int8, Shape: []int64{2}}, []byte{11, 12})}, "[6,2]"},
		{"", []string{npyFile(t, npy.Header{Type: dtype.Int8, Shape: []int64{6, 1}}, []byte{0, 0, 0, 0, 0, 1})}, ""},
		{"", []string{npyFile(t, npy.Header{Type: dtype.Int8, Shape: []int64{6, 1}}, []byte{0, 0, 0, 0, 0, 1}), "--axis", "-1"}, "[6,3]"},
		{"1", nil, ""},
		{"[[1],[2]]", []string{"--format", "json"}, ""},
	} {
		out, errs, status := execute(t, c.stdin, append([]string{"append", node, "--json"}, c.args...)...)
		if c.want == "" {
			if status != 1 || errs == "" {
				t.Errorf("%q: status %d", c.stdin, status)
			}
			continue
		}
		if status != 0 || !strings.Contains(phrase.Compact([]byte(out)), `"shape":`+c.want) {
			t.Errorf("%q: status %d, %s%s", c.stdin, status, out, errs)
		}
	}
	if got := must(t, "", "export", node, "--format", "json"); got != "[[0,0,0],[0,0,0],[5,6,0],[7,8,0],[9,10,0],[11,12,1]]\n" {
		t.Error(got)
	}
	facts := phrase.Compact([]byte(must(t, "", "info", "--json", node)))
	if !strings.Contains(facts, `"write_chunk_sizes":[[[1,2],[2,1],[1,2]],[[2,1],[1,1]]]`) {
		t.Error(facts)
	}
}

func TestResize(t *testing.T) {
	node := newNode(t, "--shape", "4", "--dtype", "int8", "--chunks", "[[2,2]]", "--fill", "7")
	must(t, "\x01\x02\x03\x04", "write", node)
	if got := must(t, "", "resize", "--yes", node, "--shape", "1"); !strings.HasSuffix(got, "  4 → 1\n") {
		t.Error(got)
	}
	must(t, "", "resize", node, "--shape", "6", "--grow", "append-one", "--shrink", "keep-edges", "--single-writer")
	if got := must(t, "", "cat", node); got != "[1 7 7 7 7 7]\n" {
		t.Error(got)
	}
}

func TestAttributes(t *testing.T) {
	for _, name := range []string{"rect_2d.zarr", "group_consolidated.zarr/deep"} {
		node := fixture(t, strings.Split(name, "/")[0]) + strings.TrimPrefix(name, strings.Split(name, "/")[0])
		must(t, "", "attrs", node, "set", "big", "12345678901234567890123.0")
		must(t, "", "attrs", node, "set", "units", `"K"`)
		if got := phrase.Compact([]byte(must(t, "", "attrs", node))); got != `{"big":12345678901234567890123.0,"units":"K"}` {
			t.Error(got)
		}
		if got := must(t, "", "attrs", node, "get", "units"); got != "\"K\"\n" {
			t.Error(got)
		}
		got := must(t, "", "attrs", node, "unset", "big", "--json")
		if phrase.Compact([]byte(got)) != `{"units":"K"}` {
			t.Error(got)
		}
	}
}

func TestRemove(t *testing.T) {
	group := fixture(t, "group_consolidated.zarr")
	got := decode(t, must(t, "", "rm", "--yes", "--json", group+"/deep"))
	if got["removed"] != true {
		t.Error(got)
	}
	if got := must(t, "", "ls", group); strings.Contains(got, "deep") || !strings.Contains(got, "one") {
		t.Error(got)
	}
}

func TestEqual(t *testing.T) {
	a := fixture(t, "rect_2d.zarr")
	if out := must(t, "", "equal", a, "testdata/rect_2d.zarr"); out != "" {
		t.Error(out)
	}
	must(t, "", "write", a, "--select", "59,99", "--value", "5")
	_, errs, status := execute(t, "", "equal", a, "testdata/rect_2d.zarr")
	if status != 1 || !strings.Contains(errs, "element [59 99] differs: 5 and ") || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %s", status, errs)
	}
	out, errs, status := execute(t, "", "equal", "--json", a, "testdata/fill_nan.zarr")
	if got := decode(t, out); status != 1 || errs != "" || got["equal"] != false || got["difference"].(map[string]any)["what"] != "shape" {
		t.Error(status, out)
	}
}

func TestConformance(t *testing.T) {
	got := must(t, "", "conformance", "--array_path", "testdata/fill_nan.zarr")
	if lines := strings.Split(got, "\n"); len(lines) != 21 || lines[0] != "-24.13756" || lines[1] != `"NaN"` || lines[3] != `"Infinity"` {
		t.Errorf("%q", got)
	}
}

// endless is a stream of zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestWriteOfLongStreams writes streams that are longer than a slab and end too early.
func TestWriteOfLongStreams(t *testing.T) {
	node := newNode(t, "--shape", fmt.Sprint(export.SlabBytes+2), "--dtype", "int8", "--chunks", fmt.Sprint(export.SlabBytes/2), "--compressor", "none")
	must(t, "", "write", node, "--select", ":5", "--value", "7")
	var errs bytes.Buffer
	status := run(t.Context(), []string{"write", node}, console.Streams{In: io.LimitReader(endless{}, export.SlabBytes+1), Out: io.Discard, Err: &errs})
	if status != 1 || !strings.Contains(errs.String(), "ends after 134,217,729 bytes") {
		t.Errorf("status %d, %s", status, errs.String())
	}
	if got := must(t, "", "cat", node, "--select", ":6"); got != "[7 7 7 7 7 0]\n" {
		t.Errorf("the array was changed: %s", got)
	}
}

// TestWriteOntoItself reverses an array that is larger than a slab by writing it onto
// itself under another name. No value may be lost, and no temporary file may stay.
func TestWriteOntoItself(t *testing.T) {
	racing.Skip(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	node := newNode(t, "--shape", fmt.Sprint(export.SlabBytes+4), "--dtype", "int8", "--chunks", fmt.Sprint(export.SlabBytes/2), "--compressor", "none")
	must(t, "[1,2,3]", "write", node, "--select", ":3", "--format", "json")
	must(t, "[4,5,6]", "write", node, "--select=-3:", "--format", "json")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(node, link); err != nil {
		link = node + "/"
	}
	must(t, "", "write", node, link, "--select", "::-1")
	for part, want := range map[string]string{":4": "[6 5 4 0]\n", "-4:": "[0 3 2 1]\n"} {
		if got := must(t, "", "cat", node, "--select="+part); got != want {
			t.Errorf("%s is %s, want %s", part, got, want)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSettle(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, c := range []struct {
		n    int64 // bytes of the stream
		want string
	}{{5, ""}, {4, "ends after 4 bytes"}, {6, "more than the 5 bytes"}} {
		v := &input.Values{Type: dtype.Int8, Total: -1, Name: "x", Reader: strings.NewReader("123456"[:c.n])}
		err := v.Settle(5)
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d: %v", c.n, err)
		}
		if data, all := v.All(); c.want == "" && (err != nil || all != nil || string(data.Data) != "12345") {
			t.Errorf("%q, %v, %v", data.Data, err, all)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAppendTellsTheAxis(t *testing.T) {
	node := newNode(t, "--shape", "2,3", "--dtype", "int8")
	for _, c := range []struct {
		stdin string
		args  []string
		axis  float64
		want  string
	}{
		{"", nil, 0, "no values were given"},
		{"", []string{"--axis", "-1"}, 1, "no values were given"},
		{"1234", nil, 0, "4 bytes, which is not a whole number of planes of 3 bytes"},
		{"[[1,2]]", []string{"--format", "json"}, 1, "does not continue"},
		{"[[[1,2]]]", []string{"--format", "json"}, 0, "does not continue"},
	} {
		_, errs, status := execute(t, c.stdin, append([]string{"append", node, "--json"}, c.args...)...)
		facts, _ := decode(t, errs)["error"].(map[string]any)
		if status != 1 || facts["axis"] != c.axis || facts["op"] != "append" || facts["path"] != node || !strings.Contains(errs, c.want) {
			t.Errorf("%q %q: status %d, %s", c.stdin, c.args, status, errs)
		}
	}
}

func TestSqueezedShapesFit(t *testing.T) {
	v := &input.Values{Type: dtype.Int8, Total: 6, Name: "x", Shape: []int64{1, 2, 3}}
	for _, c := range []struct {
		shape []int64
		want  bool
	}{{[]int64{2, 3}, true}, {[]int64{2, 1, 3}, true}, {[]int64{3, 2}, false}, {[]int64{6}, false}, {[]int64{7}, false}} {
		if err := v.Fits(c.shape); (err == nil) != c.want || err != nil && zarr.KindOf(err) != "invalid-argument" {
			t.Errorf("%v: %v", c.shape, err)
		}
	}
}

// TestWriteTimes writes times and durations, as numbers and as text.
func TestWriteTimes(t *testing.T) {
	moments := newNode(t, "--shape", "4", "--dtype", "M8[D]")
	must(t, `["2020-05-05","NaT",1,"1969-12-31"]`, "write", moments, "--format", "json")
	if got := must(t, "", "export", moments, "--format", "csv"); got != "2020-05-05\nNaT\n1970-01-02\n1969-12-31\n" {
		t.Error(got)
	}
	for value, want := range map[string]string{`"2020-05-06"`: "2020-05-06", "2020-05-07": "2020-05-07", "NaT": "NaT", `"NaT"`: "NaT"} {
		must(t, "", "write", moments, "--select", "0", "--value", value)
		if got := must(t, "", "export", moments, "--select", "0:1", "--format", "csv"); got != want+"\n" {
			t.Errorf("%s: %s", value, got)
		}
	}
	if _, errs, status := execute(t, "", "write", moments, "--value", `"2020-05-05T12:00"`); status != 1 || !strings.Contains(errs, "2006-01-02") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status := execute(t, `["x",1,2,3]`, "write", moments, "--format", "json"); status != 1 || !strings.Contains(errs, "/0") {
		t.Errorf("status %d, %s", status, errs)
	}
	durations := newNode(t, "--shape", "3", "--dtype", "m8[s]")
	must(t, `["10 s","NaT",-3]`, "write", durations, "--format", "json")
	must(t, "", "write", durations, "--select", "0", "--value", `"11 s"`)
	if got := must(t, "", "export", durations, "--format", "json"); got != "[11,\"NaT\",-3]\n" && got != "[11,-9223372036854775808,-3]\n" {
		t.Error(got)
	}
}

// TestTimesAreNumbers checks the hint that CF times are written as numbers.
func TestTimesAreNumbers(t *testing.T) {
	node := filepath.Join(t.TempDir(), "time.zarr")
	must(t, "", "create", node, "--shape", "2", "--dtype", "int32", "--attributes", `{"units": "days since 1950-01-01"}`)
	for input, args := range map[string][]string{"": {"--value", "2024-03-05"}, `["2024-03-05", 1]`: {"--format", "json"}} {
		_, errs, status := execute(t, input, append([]string{"write", node}, args...)...)
		if status != 1 || !strings.Contains(errs, "its numbers count days since 1950-01-01: give numbers") || strings.Contains(errs, "fill value") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
	must(t, "", "attrs", node, "unset", "units")
	if _, errs, _ := execute(t, "", "write", node, "--value", "x"); strings.Contains(errs, "its numbers") {
		t.Error(errs)
	}
}

// TestTypedValues takes JSON from a terminal and refuses raw bytes from there.
func TestTypedValues(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", "uint8")
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"append", node}, 2}, {[]string{"write", node, "-"}, 2}, {[]string{"write", node, "--format", "npy"}, 2},
		{[]string{"write", node, "--format", "json"}, 0},
	} {
		var errs bytes.Buffer
		status := run(t.Context(), c.args, console.Streams{In: typing("[7,\n8]\n"), Out: new(bytes.Buffer), Err: &errs})
		if status != c.want || (status == 2) != strings.Contains(errs.String(), "cannot be typed at a terminal: name a FILE") {
			t.Errorf("%v: status %d, %s", c.args, status, errs.String())
		}
	}
	if got := must(t, "", "cat", node, "--json"); !strings.Contains(got, "[7,8]") {
		t.Errorf("the array is %s", got)
	}
}
