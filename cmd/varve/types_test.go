package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
)

// typed are arrays of three elements of every kind of type: how values are written, and how they come out.
var typed = []struct{ dtype, values, json, csv, cat string }{
	{"int4", "[-8,0,7]", "", "-8\n0\n7\n", "[-8  0  7]\n"},
	{"bfloat16", `[1.5,"NaN",-0.0]`, "", "1.5\nnan\n-0.0\n", "[ 1.5  nan -0.0]\n"},
	{"float8_e5m2", "[1.0,-2.0,0.0]", "", "1.0\n-2.0\n0.0\n", "[ 1.0 -2.0  0.0]\n"},
	{"string", `["a","b, \"c\"",""]`, "", "a\n\"b, \"\"c\"\"\"\n\"\"\n", "[     'a' 'b, \"c\"'       '']\n"},
	{"bytes", `["AAE=",[104,105],""]`, `["AAE=","aGk=",""]`, "0x0001\n0x6869\n0x\n", `[b'\x00\x01'       b'hi'         b'']` + "\n"},
	{"U3", `["äöü","x",""]`, "", "äöü\nx\n\"\"\n", "['äöü'   'x'    '']\n"},
	{`{"name":"null_terminated_bytes","configuration":{"length_bytes":4}}`, `["YWJj","eA==",""]`, "", "abc\nx\n\"\"\n", "[b'abc'   b'x'    b'']\n"},
	{"M8[D]", `[0,"NaT",59]`, `[0,-9223372036854775808,59]`, "1970-01-01\nNaT\n1970-03-01\n", "[1970-01-01        NaT 1970-03-01]\n"},
	{"m8[s]", "[1,-1,0]", "", "1 s\n-1 s\n0 s\n", "[ 1 s -1 s  0 s]\n"},
	{">f4", "[1.0,2.5,-1.0]", "", "1.0\n2.5\n-1.0\n", "[ 1.0  2.5 -1.0]\n"},
	{"complex64", "[[1.0,2.0],[0.0,-0.0],[3.0,4.0]]", "", "1.0+2.0j\n0.0-0.0j\n3.0+4.0j\n", "[1.0+2.0j 0.0-0.0j 3.0+4.0j]\n"},
	{`[["x","<i2"],["y",[["z","<f4"],["w","U2"]]]]`, `[{"x":1,"y":{"z":0.5,"w":"a,"}},{"x":-1,"y":{"z":1.0,"w":""}},{"x":0,"y":{"z":0.0,"w":"c"}}]`, "",
		"x,y.z,y.w\n1,0.5,\"a,\"\n-1,1.0,\"\"\n0,0.0,c\n", "[(1, (0.5, 'a,'))  (-1, (1.0, ''))  (0, (0.0, 'c'))]\n"},
}

// TestTypes takes elements of every kind through write, cat, export, append, equal and conformance.
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

// TestTypesOfFormat2 creates arrays of format 2 of the types that it has, and converts them and back.
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

// TestVariableIsNotRaw refuses formats that cannot tell where elements end, and says what to do.
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

// TestQuoted keeps what could take over a terminal out of blocks of values.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"it's": `"it's"`, `it's "x"`: `'it\'s "x"'`, "a\x1b[2J\n\t\\": `'a\x1b[2J\n\t\\'`, strings.Repeat("x", 99): "'" + strings.Repeat("x", longestWord) + "…'",
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// TestSelections reads and writes by selections of every kind.
func TestSelections(t *testing.T) {
	mask := npyFile(t, npy.Header{Type: dtype.Of[bool](), Shape: []int64{3, 4}, Fortran: true}, []byte{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0})
	node := newNode(t, "--shape", "3,4", "--dtype", "int16", "--chunks", "[[1,2],2]", "--dimension-names", "y,x")
	must(t, "[[0,1,2,3],[10,11,12,13],[20,21,22,23]]", "write", node, "--format", "json")
	selections := []struct{ sel, want string }{
		{"::-1,::-2", "[[23,21],[13,11],[3,1]]"},
		{"x=-1", "[3,13,23]"},
		{`{"basic": "y=1, x=::-1"}`, "[13,12,11,10]"},
		{`{"orthogonal": [[2,0,2], "1:3"]}`, "[[21,22],[1,2],[21,22]]"},
		{`{"orthogonal": [[true,false,true], 1]}`, "[1,21]"},
		{`{"orthogonal": {"x": [3,0]}}`, "[[3,0],[13,10],[23,20]]"},
		{`{"points": [[0,1,2],[3,0,-1]]}`, "[3,10,23]"},
		{`{"points": [[[0],[2]],[0,1]]}`, "[[0,1],[20,21]]"},
		{`{"blocks": ["1", "0"]}`, "[[10,11],[20,21]]"},
		{`{"mask": "` + mask + `"}`, "[0,13,21]"},
	}
	for _, c := range selections {
		if got := must(t, "", "export", node, "--format", "json", "--select", c.sel); got != c.want+"\n" {
			t.Errorf("%s: %swant %s", c.sel, got, c.want)
		}
		if got := must(t, "", "cat", node, "--json", "--select", c.sel); !strings.Contains(compact([]byte(got)), `"values":`+c.want) {
			t.Errorf("%s: cat is %s", c.sel, got)
		}
		text := must(t, "", "cat", node, "--select", c.sel)
		if got, want := strings.Join(strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(text)), ","), strings.NewReplacer("[", "", "]", "").Replace(c.want); got != want {
			t.Errorf("%s: cat is %s", c.sel, text)
		}
		other := newNode(t, "--shape", "3,4", "--dtype", "int16", "--chunks", "[[1,2],2]", "--fill", "-1", "--dimension-names", "y,x")
		must(t, c.want, "write", other, "--format", "json", "--select", c.sel)
		if got := must(t, "", "export", other, "--format", "json", "--select", c.sel); got != c.want+"\n" {
			t.Errorf("%s: what was written is %s", c.sel, got)
		}
		must(t, "", "write", other, "--value", "7", "--select", c.sel)
		if got := must(t, "", "export", other, "--format", "csv"); strings.Contains(got, "2") || !strings.Contains(got, "-1") && c.sel != "::-1,::-2" {
			t.Errorf("%s: filled, %s", c.sel, got)
		}
	}
}

// TestFields reads and writes fields of structs.
func TestFields(t *testing.T) {
	node := newNode(t, "--shape", "3", "--dtype", `[["a","<i4"],["b","<f8"],["c","U2"]]`)
	must(t, "[1,2,3]", "write", node, "--format", "json", "--select", `{"fields": ["a"]}`)
	must(t, `[{"c":"x","b":0.5}]`, "write", node, "--format", "json", "--select", `{"fields": ["c","b"], "basic": "1:2"}`)
	if got := must(t, "", "export", node, "--format", "csv"); got != "a,b,c\n1,0.0,\"\"\n2,0.5,x\n3,0.0,\"\"\n" {
		t.Errorf("%q", got)
	}
	if got := must(t, "", "export", node, "--format", "csv", "--select", `{"fields": ["c","a"], "basic": "::-1"}`); got != "c,a\n\"\",3\nx,2\n\"\",1\n" {
		t.Errorf("%q", got)
	}
	if got := must(t, "", "export", node, "--select", `{"fields": ["a"], "basic": "1"}`); got != "\x02\x00\x00\x00" {
		t.Errorf("%q", got)
	}
}

// TestMaskThatDoesNotFit names the file that is wrong.
func TestMaskThatDoesNotFit(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", "int8")
	for _, file := range []string{
		npyFile(t, npy.Header{Type: dtype.Of[int8](), Shape: []int64{2}}, make([]byte, 2)),
		npyFile(t, npy.Header{Type: dtype.Of[bool](), Shape: []int64{2}}, make([]byte, 3)),
		npyFile(t, npy.Header{Type: dtype.Of[bool](), Shape: []int64{1 << 40, 1 << 22}}, make([]byte, 3)),
		npyFile(t, npy.Header{Type: dtype.Of[bool](), Shape: []int64{3}}, make([]byte, 3)),
	} {
		_, errs, status := execute(t, "", "cat", node, "--select", `{"mask": "`+file+`"}`)
		if status != 1 || !strings.Contains(errs, "mask") {
			t.Errorf("status %d, %s", status, errs)
		}
	}
}

// TestDecode decodes packed numbers and times.
func TestDecode(t *testing.T) {
	packed := newNode(t, "--shape", "4", "--dtype", "int16",
		"--attributes", `{"scale_factor": 0.5, "add_offset": [10], "_FillValue": -1, "missing_value": [-2, -3]}`)
	must(t, "[0,1,-1,-3]", "write", packed, "--format", "json")
	if got := must(t, "", "cat", packed, "--decode"); got != "[10.0 10.5  nan  nan]\n" {
		t.Error(got)
	}
	if got := must(t, "", "export", packed, "--decode", "--format", "json"); got != "[10.0,10.5,\"NaN\",\"NaN\"]\n" {
		t.Error(got)
	}
	if got := must(t, "", "export", packed, "--decode", "--select", "1"); got != "\x00\x00\x00\x00\x00\x00\x25\x40" {
		t.Errorf("%q", got)
	}
	if got := must(t, "", "cat", packed); got != "[ 0  1 -1 -3]\n" {
		t.Error(got)
	}
	floats := newNode(t, "--shape", "2", "--dtype", "float32", "--attributes", `{"_FillValue": "AAAAAAAA8D8="}`) // 1.0, as xarray writes it
	must(t, "[1.0,2.0]", "write", floats, "--format", "json")
	if got := must(t, "", "cat", floats, "--decode"); got != "[nan 2.0]\n" {
		t.Error(got)
	}
	plain := newNode(t, "--shape", "2", "--dtype", "int8")
	if got := must(t, "", "export", plain, "--decode"); got != "\x00\x00" {
		t.Errorf("%q", got)
	}
	bad := newNode(t, "--shape", "2", "--dtype", "int8", "--attributes", `{"scale_factor": "x"}`)
	if _, errs, status := execute(t, "", "cat", bad, "--decode"); status != 1 || !strings.Contains(errs, "scale_factor") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestDecodeTimes decodes times of both formats and of several types.
func TestDecodeTimes(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		for _, c := range []struct{ dtype, values, csv string }{
			{"int32", "[1,31]", "2000-01-02T00:00:00\n2000-02-01T00:00:00\n"},
			{"uint16", "[1,31]", "2000-01-02T00:00:00\n2000-02-01T00:00:00\n"},
			{"float64", `[1.5,"NaN"]`, "2000-01-02T12:00:00.000000\nNaT\n"},
		} {
			node := newNode(t, "--shape", "2", "--dtype", c.dtype, "--zarr-format", format, "--attributes", `{"units": "days since 2000-01-01"}`)
			must(t, c.values, "write", node, "--format", "json")
			if got := must(t, "", "export", node, "--decode", "--format", "csv"); got != c.csv {
				t.Errorf("%s: %s", c.dtype, got)
			}
			if got := must(t, "", "cat", node); !strings.HasPrefix(got, "[2000-01-02") {
				t.Errorf("%s: %s", c.dtype, got)
			}
			if got := must(t, "", "info", node); !strings.Contains(got, "times       2000-01-02") {
				t.Errorf("%s: %s", c.dtype, got)
			}
			facts := decode(t, must(t, "", "info", "--json", node))
			if times, _ := facts["times"].([]any); len(times) != 2 {
				t.Errorf("%s: %v", c.dtype, facts)
			}
		}
	}
}

// TestBothFormats tells of documents of format 2 beside those of format 3, and converts them away.
func TestBothFormats(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", "int8")
	overwrite(t, filepath.Join(node, ".zarray"), "{}")
	for _, want := range []bool{true, false} {
		notes := decode(t, must(t, "", "info", "--json", node))["notes"].([]any)
		if got := len(notes) == 1 && strings.Contains(notes[0].(string), "both formats stand here"); got != want {
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

// TestConvertAnew says which arrays are encoded anew, and why.
func TestConvertAnew(t *testing.T) {
	dir := t.TempDir()
	_, errs, status := execute(t, "", "convert", "testdata/group_consolidated.zarr", "--to", "2", "--dry-run")
	if status != 1 || !strings.Contains(errs, "give a DST") {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, dst := range []string{dir + "/x.zarr", dir + "/x.zip"} {
		got := must(t, "", "convert", "testdata/group_consolidated.zarr", dst, "--to", "2")
		if !strings.Contains(got, "2 arrays and 2 groups are of format 2 now") || !strings.Contains(got, "encoded anew  /deep/two: ") {
			t.Error(got)
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

// TestInfoOfUnknownFormat2 describes arrays of format 2 as far as they are known.
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
