// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// newWeather returns a group with an array along time, lat and lon, whose coordinates are
// times, packed and labels, and arrays of other kinds.
func newWeather(t *testing.T) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "w.zarr")
	must(t, "", "create", group, "--group")
	array := func(name, shape, dtype, dims, attributes, values string) {
		args := []string{"create", group + "/" + name, "--shape", shape, "--dtype", dtype, "--dimension-names", dims, "--attributes", attributes}
		if _, errs, status := execute(t, "", args...); status != 0 { // a note says that odd is shorter than lat
			t.Fatal(errs)
		}
		must(t, values, "write", group+"/"+name, "--format", "json")
	}
	array("time", "2", "int32", "time", `{"units": "days since 2024-02-29", "calendar": "360_day"}`, "[0,1]")
	array("lat", "3", "int16", "lat", `{"scale_factor": 0.5}`, "[1,0,-1]")
	array("name", "2", "string", "name", none, `["a,b","c"]`)
	array("t2m", "2,3,2", "int8", "time,lat,name", `{"scale_factor": 2.0}`, numbersShaped(2, 3, 2))
	array("bare", "3", "int8", "", none, "[7,8,9]")
	array("odd", "2", "int8", "lat", none, "[7,8]")
	array("lead", "2", "m8[h]", "lead", none, "[6,36]")
	array("deep/skill", "2", "float32", "lead", none, "[0.5,0.25]")
	must(t, "", "create", group+"/huge", "--shape", "3037000500,3037000499", "--dtype", "int8", "--chunks", "5793,5793", "--dimension-names", "y,x")
	must(t, "", "create", group+"/point", "--shape", "2", "--dtype", `[["x","i1"],["y","f4"]]`, "--dimension-names", "time")
	return group
}

// numbersShaped returns nested lists of the numbers from 0 on.
func numbersShaped(shape ...int) string {
	n := 1
	for _, k := range shape {
		n *= k
	}
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	for axis := len(shape) - 1; axis >= 0; axis-- {
		var lists []string
		for i := 0; i < len(values); i += shape[axis] {
			lists = append(lists, "["+strings.Join(values[i:i+shape[axis]], ",")+"]")
		}
		values = lists
	}
	return values[0]
}

// TestHeader writes CSV with names and coordinates. The rows have as many cells as the
// first, which a reader of CSV checks.
func TestHeader(t *testing.T) {
	group := newWeather(t)
	for _, c := range []struct{ args, want string }{
		{"t2m --select 0,0,0", "t2m|0"},
		{"t2m --select :,0,0", "time;t2m|2024-02-29;0|2024-02-30;6"},
		{"t2m --select ::-1,0,0 --decode", "time;t2m|2024-02-30;12|2024-02-29;0"},
		{"t2m --select 0", "lat;a,b;c|0.5;0;1|0.0;2;3|-0.5;4;5"},
		{"t2m --select :,1", "time;a,b;c|2024-02-29;2;3|2024-02-30;8;9"},
		{"t2m --select time=:,lat=-0.5..0.0", "time;lat;a,b;c|2024-02-29;0.0;2;3|2024-02-29;-0.5;4;5|2024-02-30;0.0;8;9|2024-02-30;-0.5;10;11"},
		{`t2m --select {"orthogonal":[1,[2,0,2],0]}`, "lat;t2m|-0.5;10|0.5;6|-0.5;10"},
		{`t2m --select {"points":[[0,1],[1,2],[0,0]]}`, "index_0;t2m|0;2|1;10"},
		{"t2m --select 0:0,:,0", "time;0;1;2"},
		{"time", "index_0;time|0;0|1;1"},
		{"bare --select 1:", "index_0;bare|1;8|2;9"},
		{"odd", "lat;odd|0;7|1;8"},
		{"deep/skill", "lead;skill|6 h;0.5|36 h;0.25"},
		{`point --select {"fields":["y"],"basic":"1:"}`, "time;y|2024-02-30;0"},
		{`t2m --select {"blocks":["0","0",0]}`, "time;lat;a,b;c|2024-02-29;0.5;0;1|2024-02-29;0.0;2;3|2024-02-29;-0.5;4;5|2024-02-30;0.5;6;7|2024-02-30;0.0;8;9|2024-02-30;-0.5;10;11"},
		{"huge --select 5,7:9", "x;huge|7;0|8;0"},
		{"point", "time;x;y|2024-02-29;0;0|2024-02-30;0;0"},
	} {
		node, flags, _ := strings.Cut(c.args, " ")
		args := append([]string{"export", group + "/" + node, "--header", "--format", "csv"}, strings.Fields(flags)...)
		out, errs, status := execute(t, "", args...)
		packed := node == "t2m" && !strings.Contains(flags, "--decode") // a note says that only coordinates are decoded
		if status != 0 || strings.Contains(errs, "values are packed") != packed || !packed && errs != "" && (node != "odd" || !strings.Contains(errs, "so the column lat has indices")) {
			t.Errorf("%s: status %d, %s", c.args, status, errs)
		}
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		var want [][]string
		for line := range strings.SplitSeq(c.want, "|") {
			want = append(want, strings.Split(line, ";"))
		}
		if err != nil || !reflect.DeepEqual(rows, want) {
			t.Errorf("%s: %q, want %q, %v", c.args, rows, want, err)
		}
	}
}

// TestHeaderUnfit exports arrays whose coordinates do not fit: the columns have indices,
// and a note says why, also with --json. Without a coordinate there is no note.
func TestHeaderUnfit(t *testing.T) {
	group := t.TempDir() + "/g.zarr"
	array := func(name, shape, dims string) {
		t.Helper()
		// A note says that xarray does not open such a group.
		if _, errs, status := execute(t, "", "create", group+"/"+name, "--shape", shape, "--dtype", "int16", "--dimension-names", dims, "--overwrite"); status != 0 {
			t.Fatal(errs)
		}
		must(t, "", "write", group+"/"+name, "--value", "5")
	}
	array("v", "3,2", "t,x")
	export := func(note string) {
		t.Helper()
		out, errs, status := execute(t, "", "export", group+"/v", "--format", "csv", "--header")
		if status != 0 || !strings.HasPrefix(out, "t,0,1\n0,5,5\n1,5,5\n") {
			t.Errorf("status %d, %s", status, out)
		}
		if note == "" && errs != "" || note != "" && errs != "note: "+group+"/v: "+note+"\n" {
			t.Errorf("%q, want the note %q", errs, note)
		}
		_, errs, _ = execute(t, "", "export", group+"/v", "--format", "csv", "--header", "--json")
		if notes, _ := decode(t, errs)["notes"].([]any); (len(notes) == 1) != (note != "") {
			t.Errorf("notes of the JSON: %v", notes)
		}
	}
	export("")
	array("t", "4", "t")
	export(`coordinate t has 4 elements, dimension "t" has 3, so the column t has indices`)
	array("t", "3", "other")
	export(`array t has dimension "other", so it is not the coordinate of "t", so the column t has indices`)
	array("t", "3,1", "t,x")
	export("array t has shape [3 1]: the coordinate of a dimension has one axis, so the column t has indices")
}

// TestHeaderOnly checks that CSV without the flag does not change, and that other formats
// refuse the flag.
func TestHeaderOnly(t *testing.T) {
	group := newWeather(t)
	if got := must(t, "", "export", group+"/t2m", "--format", "csv", "--select", ":,:,0"); got != "0,2,4\n6,8,10\n" {
		t.Error(got)
	}
	for _, args := range [][]string{{"--format", "json"}, {"-o", group + ".npy"}, {}} {
		_, errs, status := execute(t, "", append([]string{"export", group + "/t2m", "--header"}, args...)...)
		if status != 2 || !strings.Contains(errs, "--format csv") {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}

// TestHeaderOfTooMany refuses arrays with more elements than 64 bits count, without wrong
// coordinates in the message.
func TestHeaderOfTooMany(t *testing.T) {
	node := newNode(t, "--shape", "9223372036854775807,3", "--dtype", "int8")
	_, errs, status := execute(t, "", "export", node, "--header", "--format", "csv", "--select", "0:2,0")
	if status != 1 || !strings.Contains(errs, "2^63 elements") {
		t.Errorf("status %d, %s", status, errs)
	}
}
