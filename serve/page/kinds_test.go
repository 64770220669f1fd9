// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/ragged"
	"varve.dev/zarr/store"
)

// group returns a location with a group.
func group(t testing.TB) *zarr.Location {
	t.Helper()
	at := inMemory()
	if _, err := at.CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	return at
}

// TestTypes asks all questions about arrays of every data type.
func TestTypes(t *testing.T) {
	at := group(t)
	h := mounted(t, at, nil)
	structs, err := dtype.StructOf(dtype.Field{Name: "id", Type: dtype.Int32}, dtype.Field{Name: "ok", Type: dtype.Bool}, dtype.Field{Name: "z", Type: dtype.Complex64})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := dtype.FixedUTF32(3)
	short, _ := dtype.NullTerminated(4)
	raw, _ := dtype.RawBytes(3)
	days, _ := dtype.DatetimeOf("D", 1)
	hours, _ := dtype.TimedeltaOf("h", 1)
	types := append(dtype.All(), structs, text, short, raw, days, hours)
	for i, typ := range types {
		name := fmt.Sprintf("a%d", i)
		a, err := at.At(name).CreateArray(t.Context(), zarr.Spec{Shape: []int64{5, 7}, Type: typ, Chunks: grid.Chunks(3, 3), DimensionNames: []string{"lat", "lon"}}, &zarr.CreateOptions{Options: zarr.Options{StoreFill: true}})
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		if !typ.Variable() {
			// A pattern that is valid for every type: the fill value, written.
			data := make([]byte, 9*typ.Size())
			if err := a.WriteChunk(t.Context(), []int64{0, 0}, data); err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
		}
		node := "d/" + name
		f := answerTo(t, h, "array", "node", node)
		if f["data_type"] != typ.String() || f["problem"] != nil || f["plane"] == nil {
			t.Errorf("%s: %v", typ, f)
		}
		drawn := slices.Contains([]dtype.Kind{dtype.KindBool, dtype.KindInt, dtype.KindUint, dtype.KindFloat, dtype.KindDatetime, dtype.KindTimedelta, dtype.KindComplex}, typ.Kind())
		for _, question := range []string{"plane", "series"} {
			w := ask(t, h, question, "node", node, "decode", "1")
			if want := map[bool]int{true: 200, false: 406}[drawn]; w.Code != want {
				t.Errorf("%s: %s is %d %.200s", typ, question, w.Code, w.Body)
			}
		}
		v := answerTo(t, h, "value", "node", node, "index", "0,0")
		if v["text"] == nil || v["state"].(float64) > 2 && !typ.Variable() || v["chunk"].(map[string]any)["stored"] != !typ.Variable() {
			t.Errorf("%s: value %v", typ, v)
		}
		if v := answerTo(t, h, "value", "node", node, "index", "4,6"); v["state"] != 3.0 {
			t.Errorf("%s: value %v", typ, v)
		}
		if r := answerTo(t, h, "rows", "node", node); len(r["rows"].([]any)) != 5 || r["total"] != 5.0 {
			t.Errorf("%s: rows %v", typ, r)
		}
		if c := answerTo(t, h, "cost", "node", node, "select", "0:2,0:2"); c["requests"] != 1.0 || c["elements"] != 4.0 {
			t.Errorf("%s: cost %v", typ, c)
		}
		if m := answerTo(t, h, "missing", "node", node, "axis", "0"); !typ.Variable() && fmt.Sprint(m["missing"]) != "[map[first:3 from:3 last:4 to:5]]" {
			t.Errorf("%s: missing %v", typ, m)
		}
	}
	for _, params := range [][]string{{"field", "id"}, {"field", "ok"}, {"field", "z", "part", "phase"}} {
		d := draw(t, h, append([]string{"node", fmt.Sprintf("d/a%d", len(dtype.All()))}, params...)...)
		if d.Height != 5 || d.states[0] != 1 && d.states[0] != 0 {
			t.Errorf("%v: %+v", params, d)
		}
	}
}

// TestStates compares the states of a packed array with what was written.
func TestStates(t *testing.T) {
	at := group(t)
	attributes := map[string]any{"scale_factor": 0.5, "add_offset": 10, "_FillValue": -1, "units": "K", "long_name": "temperature"}
	a := create(t, at.At("p"), zarr.Spec{Shape: []int64{4, 6}, Type: dtype.Int16, Chunks: grid.Chunks(2, 3), FillValue: zarr.FillJSON("7"), Attributes: attributes})
	write(t, a, [][2]int64{{0, 2}, {0, 3}}, []int16{1, 2, 3, -1, 7, 4})
	write(t, a, [][2]int64{{0, 2}, {3, 6}}, []int16{0, 0, 0, 0, 0, 0})
	write(t, a, [][2]int64{{2, 4}, {3, 6}}, []int16{1, 1, 1, 1, 1, 1})
	// A damaged chunk.
	put(t, at.Store(), "p/c/1/1", "broken")
	h := mounted(t, at, nil)
	d := draw(t, h, "node", "d/p", "decode", "1")
	wantStates := []byte{0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 3, 3, 3, 6, 6, 6}
	if !slices.Equal(d.states, wantStates) || len(d.Problems) != 1 || d.Problems[0].Key != "p/c/1/1" {
		t.Fatalf("states %v, problems %v", d.states, d.Problems)
	}
	if got := d.numbers[:9]; !slices.Equal(got, []float32{10.5, 11, 11.5, 10, 10, 10, 9.5, 13.5, 12}) || *d.Min != 10 || *d.Max != 12 || d.numbers[12] != 13.5 || d.numbers[15] == d.numbers[15] {
		t.Errorf("numbers %v", d.numbers)
	}
	if d := draw(t, h, "node", "d/p"); d.numbers[0] != 1 || d.numbers[6] != -1 || d.states[6] != 4 {
		t.Errorf("stored numbers %v", d.numbers)
	}
	f := answerTo(t, h, "array", "node", "d/p")
	if f["units"] != "K" || f["long_name"] != "temperature" || f["scale"] != 0.5 || f["offset"] != 10.0 || fmt.Sprint(f["missing"]) != "[-1]" || f["fill_value"] != 7.0 {
		t.Errorf("%v", f)
	}
	if s := f["stored"].(map[string]any); s["chunks"] != 3.0 || s["cells"] != 4.0 || s["complete"] != true {
		t.Errorf("stored %v", s)
	}
	for index, want := range map[string]string{"0,0": "1 10.5 0", "1,0": "-1 NaN 4", "1,1": "7 13.5 1", "2,0": "7 13.5 3", "2,3": "<nil> <nil> 6"} {
		v := answerTo(t, h, "value", "node", "d/p", "index", index)
		if got := fmt.Sprint(v["value"], " ", v["decoded"], " ", v["state"]); got != want && !strings.EqualFold(got, want) {
			t.Errorf("value at %s: %s, want %s", index, got, want)
		}
	}
	m := answerTo(t, h, "chunks", "node", "d/p")
	if fmt.Sprint(m["y"], m["x"], m["stored"], m["by"]) != "[0 2 4] [0 3 6] [1 1 0 1] [1 1]" {
		t.Errorf("chunks %v", m)
	}
	s := answerTo(t, h, "series", "node", "d/p", "axis", "1", "at", "1,-", "decode", "1")
	if fmt.Sprint(s["missing"]) != "1" || s["values"].([]any)[0] != nil || s["values"].([]any)[1] != 13.5 || s["exact"] != true {
		t.Errorf("series %v", s)
	}
	s = answerTo(t, h, "series", "node", "d/p", "axis", "1", "at", "3,-")
	if s["problem"] == nil || s["exact"] != false || s["missing"] != 6.0 {
		t.Errorf("series with a damaged chunk %v", s)
	}
}

// TestShapes asks about arrays of other shapes: of each rank, and without elements.
func TestShapes(t *testing.T) {
	at := group(t)
	h := mounted(t, at, nil)
	for i, shape := range [][]int64{{}, {9}, {0}, {0, 5}, {3, 0, 2}, {2, 3, 2, 2, 3}, {1, 1, 1}} {
		node := fmt.Sprintf("s%d", i)
		create(t, at.At(node), zarr.Spec{Shape: shape, Type: dtype.Float32})
		node = "d/" + node
		f := answerTo(t, h, "array", "node", node)
		if (f["plane"] == nil) != (len(shape) < 2) || f["kind"] != "number" {
			t.Errorf("%v: %v", shape, f)
		}
		w := ask(t, h, "plane", "node", node)
		if want := map[bool]int{true: 200, false: 400}[len(shape) >= 2]; w.Code != want {
			t.Errorf("%v: plane %d %s", shape, w.Code, w.Body)
		}
		if want := map[bool]int{true: 200, false: 400}[len(shape) >= 1]; ask(t, h, "series", "node", node).Code != want || ask(t, h, "chunks", "node", node).Code != want {
			t.Errorf("%v: series %s, chunks %s", shape, ask(t, h, "series", "node", node).Body, ask(t, h, "chunks", "node", node).Body)
		}
		answerTo(t, h, "rows", "node", node)
		answerTo(t, h, "cost", "node", node)
		if index := strings.TrimSuffix(strings.Repeat("0,", len(shape)), ","); !slices.Contains(shape, 0) {
			if v := answerTo(t, h, "value", "node", node, "index", index); v["state"] != 3.0 || v["value"] != 0.0 {
				t.Errorf("%v: %v", shape, v)
			}
		} else if w := ask(t, h, "value", "node", node, "index", index); w.Code != http.StatusBadRequest {
			t.Errorf("%v: value %d", shape, w.Code)
		}
	}
}

// TestHuge asks about an array of 10^18 elements with a few stored chunks.
func TestHuge(t *testing.T) {
	at := group(t)
	a := create(t, at.At("h"), zarr.Spec{Shape: []int64{1_000_000_000, 1_000_000_000}, Type: dtype.Float32, Chunks: grid.Chunks(100, 100)})
	write(t, a, [][2]int64{{500_000_000, 500_000_001}, {500_000_000, 500_000_001}}, []float32{3})
	h := mounted(t, at, nil)
	f := answerTo(t, h, "array", "node", "d/h")
	if s := f["stored"].(map[string]any); s["chunks"] != 1.0 || s["cells"] != 1e14 {
		t.Errorf("stored %v", s)
	}
	d := draw(t, h, "node", "d/h", "size", "512,512")
	if d.Height != 512 || d.Exact || d.Chunks > 2048 || d.states[0] != 3 {
		t.Errorf("%d chunks, exact %t, state %d", d.Chunks, d.Exact, d.states[0])
	}
	d = draw(t, h, "node", "d/h", "box", "499999999:500000002,499999999:500000002")
	if d.Height != 3 || d.numbers[4] != 3 || d.states[4] != 0 || d.states[0] != 3 || d.states[5] != 1 {
		t.Errorf("%v %v", d.numbers, d.states)
	}
	m := answerTo(t, h, "chunks", "node", "d/h")
	if n := len(m["stored"].([]any)); n > 1<<16 || n < 1<<14 {
		t.Errorf("%d cells", n)
	}
	share := 0.0
	for _, x := range m["stored"].([]any) {
		share += x.(float64)
	}
	if by := m["by"].([]any); math.Abs(share-1/(by[0].(float64)*by[1].(float64))) > 1e-12 {
		t.Errorf("share %v by %v", share, by)
	}
	s := answerTo(t, h, "series", "node", "d/h", "axis", "1", "at", "500000000,-")
	if s["exact"] != false || s["method"] != "sampled" || len(s["min"].([]any)) > 1000 {
		t.Errorf("series %v %v", s["method"], len(s["min"].([]any)))
	}
	gaps := answerTo(t, h, "missing", "node", "d/h", "axis", "0")["missing"].([]any)
	if len(gaps) != 2 || gaps[0].(map[string]any)["to"] != 5e8 || gaps[1].(map[string]any)["from"] != 500000100.0 {
		t.Errorf("missing %v", gaps)
	}
	if c := answerTo(t, h, "cost", "node", "d/h", "select", "::100,0"); c["requests"] != 1e7 {
		t.Errorf("cost %v", c)
	}
}

// TestShards asks about inner chunks that are not stored.
func TestShards(t *testing.T) {
	at := group(t)
	a := create(t, at.At("s"), zarr.Spec{Shape: []int64{8, 8}, Type: dtype.Float32, Chunks: grid.Chunks(4, 8), InnerChunks: grid.Chunks(2, 4)})
	write(t, a, [][2]int64{{0, 2}, {0, 4}}, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	h := mounted(t, at, nil)
	d := draw(t, h, "node", "d/s")
	want := strings.Repeat("00003333", 2) + strings.Repeat("3", 48)
	for i, state := range d.states {
		if state != want[i]-'0' {
			t.Fatalf("state of element %d: %d, want %c", i, state, want[i])
		}
	}
	if d.Decoded != 32 {
		t.Errorf("%d bytes were decoded", d.Decoded)
	}
	m := answerTo(t, h, "chunks", "node", "d/s", "inner", "1")
	if fmt.Sprint(m["y"], m["x"], m["stored"]) != "[0 2 4 6 8] [0 4 8] [1 0 0 0 0 0 0 0]" || m["complete"] != true {
		t.Errorf("inner chunks %v", m)
	}
	v := answerTo(t, h, "value", "node", "d/s", "index", "1,6")
	if in := v["inner"].(map[string]any); v["state"] != 3.0 || in["stored"] != false || v["chunk"].(map[string]any)["stored"] != true {
		t.Errorf("%v", v)
	}
	f := answerTo(t, h, "array", "node", "d/s")
	axis := f["axes"].([]any)[0].(map[string]any)
	if fmt.Sprint(axis["edges"], axis["inner"]) != "[[4 2]] [[2 4]]" {
		t.Errorf("axis %v", axis)
	}
}

// TestCoordinates asks for labels of numbers, texts and times of each calendar.
func TestCoordinates(t *testing.T) {
	at := group(t)
	times := create(t, at.At("time"), zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, DimensionNames: []string{"time"}, Attributes: map[string]any{"units": "days since 2000-02-27", "calendar": "noleap"}})
	write(t, times, nil, []int32{0, 1, 2, 3})
	lat := create(t, at.At("lat"), zarr.Spec{Shape: []int64{3}, Type: dtype.Float32, DimensionNames: []string{"lat"}, Attributes: map[string]any{"units": "degrees_north"}})
	write(t, lat, nil, []float32{-10, 0, 10.5})
	name := create(t, at.At("name"), zarr.Spec{Shape: []int64{2}, Type: dtype.String, DimensionNames: []string{"name"}})
	write(t, name, nil, []string{"a<b", "\"ü\""})
	create(t, at.At("v"), zarr.Spec{Shape: []int64{4, 3, 2, 5}, Type: dtype.Float32, DimensionNames: []string{"time", "lat", "name", "k"}})
	create(t, at.At("w"), zarr.Spec{Shape: []int64{4, 3, 2, 5}, Type: dtype.Float32, DimensionNames: []string{"time", "lat", "name", "k"}})
	h := mounted(t, at, nil)
	for axis, want := range []string{"[2000-02-27 2000-02-28 2000-03-01 2000-03-02]", "[-10 0 10.5]", `[a<b "ü"]`, "[0 1 2 3 4]"} {
		if c := answerTo(t, h, "coordinate", "node", "d/v", "axis", fmt.Sprint(axis)); fmt.Sprint(c["values"]) != want {
			t.Errorf("axis %d: %v, want %s", axis, c["values"], want)
		}
	}
	if c := answerTo(t, h, "coordinate", "node", "d/v", "axis", "0", "from", "1", "max", "2"); fmt.Sprint(c["values"], c["step"], c["from"]) != "[2000-02-28 2000-03-02] 2 1" {
		t.Errorf("%v", c)
	}
	f := answerTo(t, h, "array", "node", "d/v")
	var lines []string
	for _, a := range f["axes"].([]any) {
		a := a.(map[string]any)
		line := fmt.Sprint(a["name"], " ", a["role"])
		if c, is := a["coordinate"].(map[string]any); is {
			line += fmt.Sprint(" ", c["kind"], " ", c["first"], " ", c["last"], " ", c["ascending"], " ", c["even"])
		}
		lines = append(lines, line)
	}
	want := []string{"time time time 2000-02-27 2000-03-02 true true", "lat y number -10 10.5 true false", `name other text a<b "ü" false false`, "k other"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	if p := f["plane"].(map[string]any); p["y"] != 1.0 || p["x"] != 3.0 || p["flip_y"] != true {
		t.Errorf("plane %v", p)
	}
	if fmt.Sprint(f["pair"]) != "[d/w]" {
		t.Errorf("pair %v", f["pair"])
	}
	v := answerTo(t, h, "value", "node", "d/v", "index", "2,1,0,4")
	if fmt.Sprint(v["coordinates"]) != "[2000-03-01 0 a<b 4]" {
		t.Errorf("%v", v)
	}
	v = answerTo(t, h, "value", "node", "d/time", "index", "2")
	if v["decoded"] != "2000-03-01" || v["value"] != 2.0 {
		t.Errorf("%v", v)
	}
}

// TestTables asks for rows of tables, structs and ragged sets.
func TestTables(t *testing.T) {
	at := group(t)
	for _, name := range []string{"b", "a2", "a10"} {
		a := create(t, at.At("table/"+name), zarr.Spec{Shape: []int64{3}, Type: dtype.Int64})
		write(t, a, nil, []int64{1, 2, 3})
	}
	set, err := ragged.Create(t.Context(), at.At("drifters"), []ragged.Field{{Name: "lat", Type: dtype.Float32}, {Name: "id", Type: dtype.Int64, PerRow: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Append(t.Context(), []int64{2, 0, 1}, ragged.Values("lat", []float32{1, 2, 3}), ragged.Values("id", []int64{7, 8, 9})); err != nil {
		t.Fatal(err)
	}
	h := mounted(t, at, nil)
	if r := answerTo(t, h, "rows", "node", "d/table", "from", "1"); fmt.Sprint(r["columns"], r["rows"], r["total"]) != "[map[data_type:int64 name:a2] map[data_type:int64 name:a10] map[data_type:int64 name:b]] [[2 2 2] [3 3 3]] 3" {
		t.Errorf("%v", r)
	}
	if r := answerTo(t, h, "rows", "node", "d/drifters"); fmt.Sprint(r["rows"]) != "[[2 7 1.0, 2.0] [0 8 ] [1 9 3.0]]" {
		t.Errorf("%v", r)
	}
	if g := answerTo(t, h, "group", "node", "d/table"); fmt.Sprint(g["table"], g["members"]) != "map[columns:[a2 a10 b]] 3" {
		t.Errorf("%v", g)
	}
	if w := ask(t, h, "rows", "node", "d"); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestUnknown asks about arrays that cannot be opened.
func TestUnknown(t *testing.T) {
	at := group(t)
	create(t, at.At("a"), zarr.Spec{Shape: []int64{3, 4}, Type: dtype.Float32, DimensionNames: []string{"y", "x"}})
	doc, _, err := at.Store().Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(doc), `"zstd"`, `"lossless9"`, 1)
	put(t, at.Store(), "a/zarr.json", changed)
	put(t, at.Store(), "b/zarr.json", "{")
	h := mounted(t, at, nil)
	f := answerTo(t, h, "array", "node", "d/a")
	if !strings.Contains(f["problem"].(string), "lossless9") || fmt.Sprint(f["shape"], len(f["axes"].([]any))) != "[3 4] 2" {
		t.Errorf("%v", f)
	}
	if w := ask(t, h, "plane", "node", "d/a"); w.Code != http.StatusNotAcceptable || !strings.Contains(w.Body.String(), "lossless9") {
		t.Errorf("plane: %d %s", w.Code, w.Body)
	}
	if w := ask(t, h, "array", "node", "d/b"); w.Code != http.StatusNotAcceptable {
		t.Errorf("damaged document: %d %s", w.Code, w.Body)
	}
	list := answerTo(t, h, "members", "node", "d")["members"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["kind"] != "array" || list[1].(map[string]any)["problem"] == nil {
		t.Errorf("%v", list)
	}
}

// TestExport downloads files of a selection.
func TestExport(t *testing.T) {
	at := group(t)
	names := create(t, at.At("name"), zarr.Spec{Shape: []int64{2}, Type: dtype.String, DimensionNames: []string{"name"}})
	write(t, names, nil, []string{"=1+1", "b"})
	a := create(t, at.At("v"), zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Float32, DimensionNames: []string{"name", "x"}})
	write(t, a, nil, []float32{1, -2, 3, 4, 5, 6})
	h := mounted(t, at, nil)
	w := ask(t, h, "export", "node", "d/v", "format", "csv", "select", "0")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "-2") || w.Header().Get("Content-Disposition") != `attachment; filename="varve_v.csv"` {
		t.Errorf("%d %s %s", w.Code, w.Header(), w.Body)
	}
	if w := ask(t, h, "export", "node", "d/v", "format", "csv", "select", ":,0:1"); !strings.Contains(w.Body.String(), "'=1+1") {
		t.Errorf("%s", w.Body)
	}
	if w := ask(t, h, "export", "node", "d/v", "format", "nc", "select", "x=0:2"); w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "\x89HDF") {
		t.Errorf("%d %.80q", w.Code, w.Body)
	}
	for _, params := range [][]string{{"format", "exe"}, {"format", ""}, {"format", "csv", "select", "9"}} {
		if w := ask(t, h, "export", append([]string{"node", "d/v"}, params...)...); w.Code != http.StatusBadRequest {
			t.Errorf("%v: %d %s", params, w.Code, w.Body)
		}
	}
	// The group above an array is not shown, and neither are its arrays.
	h = mounted(t, at.At("v"), nil)
	if w := ask(t, h, "export", "node", "d", "format", "nc"); w.Code != http.StatusForbidden {
		t.Errorf("%d %.80q", w.Code, w.Body)
	}
	if w := ask(t, h, "export", "node", "d", "format", "csv", "select", ":,0:1"); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "1+1") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
