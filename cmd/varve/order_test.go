// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestAppendTwice appends a month twice, like a job that was started again. With a
// calendar policy it must fail, and the advice of the message must work. Without one it
// succeeds with a note, and check reports it.
func TestAppendTwice(t *testing.T) {
	group := dailyGroup(t)
	fields, times := dailySources(t, "npy", 31)
	args := []string{"append", group, "t2m=" + fields[0], "time=" + times[0]}
	calendar := append(args, "--grow", "calendar:month", "--time", "time")
	must(t, "", calendar...)
	must(t, "", "check", group)
	before := treeOf(t, group)
	_, errs, status := execute(t, "", calendar...)
	if status != 1 || !strings.Contains(errs, "element 31 would be 2024-01-01 and element 30 before it is 2024-01-31") || !strings.Contains(errs, "--grow append-one") || treeOf(t, group) != before {
		t.Errorf("status %d, %s", status, errs)
	}
	const want = "element 31 is 2024-01-01, but element 30 before it is 2024-01-31"
	for name, dry := range map[string][]string{"dry run": {"--dry-run"}, "append": nil} {
		out, errs, status := execute(t, "", append(append(args, "--grow", "append-one"), dry...)...)
		if status != 0 || !strings.Contains(errs, "note: "+group+"/time: ") || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s%s", name, status, out, errs)
		}
		must(t, "", "resize", group+"/t2m", "--shape", "31,2", "--yes", "--alone")
		must(t, "", "resize", group+"/time", "--shape", "31", "--yes", "--alone")
	}
	facts := decode(t, must(t, "", append(args, "--json")...))
	if got := fmt.Sprint(facts["arrays"]); !strings.Contains(got, "notes:[its times are not in order: "+want) {
		t.Error(got)
	}
	out, errs, status := execute(t, "", "check", group) // 0 is the fill value, too
	if status != 1 || !strings.Contains(out, "element 32 is 2024-01-02, but element 30 before it is 2024-01-31") || !strings.Contains(errs, "the times of 1 coordinate are out of order") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	// Once it is so, each further append follows the end, and the calendar has no months.
	if _, errs, status := execute(t, "", calendar...); status != 1 || !strings.Contains(errs, "element 31 is 2024-01-01") || !strings.Contains(errs, "correct the coordinate") {
		t.Errorf("status %d, %s", status, errs)
	}
	// What was too much is taken off again, whatever policy is stored.
	must(t, "", "attrs", group+"/t2m", "set", "varve:growth", `{"policy": "calendar:month", "time": "time"}`)
	must(t, "", "resize", group, "time=31", "--yes", "--shrink", "trim-edges")
	must(t, "", "check", group)
	fields, times = dailySources(t, "npy", 31, 29)
	must(t, "", "append", group, "t2m="+fields[1], "time="+times[1])
	if got := chunkShapes(t, group+"/t2m"); got != "[[31,29],2]" {
		t.Error(got)
	}
}

// TestOrderOfCoordinates appends numbers of every kind to coordinates, and checks them.
func TestOrderOfCoordinates(t *testing.T) {
	const days = `{"units": "days since 2024-01-01"}`
	for name, c := range map[string]struct {
		dtype, attributes, stored, more string
		note                            string // "" for none
		status                          int    // of check
	}{
		"times that continue":     {"int32", days, "[0,1]", "[2,3]", "", 0},
		"first times":             {"int32", days, "[]", "[0,1,2]", "", 0},
		"times that fall":         {"int32", days, "[9,8]", "[7,6]", "", 0},
		"a time again":            {"int32", days, "[0,1]", "[1]", "element 2 is 2024-01-02, but element 1 before it is 2024-01-02", 1},
		"one time, and before it": {"int32", days, "[5]", "[3]", "element 1 is 2024-01-04", 0},
		"within what is new":      {"int64", days, "[5]", "[6,8,7]", "element 3 is 2024-01-08, but element 2 before it is 2024-01-09", 1},
		"unsigned":                {"int8", `{"units": "days since 2024-01-01", "_Unsigned": "true"}`, "[1,127]", "[-128,-1]", "", 0},
		"packed":                  {"int16", `{"units": "days since 2024-01-01", "scale_factor": -1.0}`, "[5,4]", "[3,2]", "", 0},
		"NaN":                     {"float64", days, "[1,2]", `["NaN"]`, "element 2 is missing", 1},
		"moments":                 {"M8[D]", `{}`, `["2024-01-01","2024-01-02"]`, `["2024-01-01"]`, "element 2 is 2024-01-01, but element 1 before it is 2024-01-02", 1},
		"latitudes":               {"float32", `{}`, "[1.5,0.5]", "[-0.5]", "", 0},
		"latitudes twice":         {"float32", `{}`, "[1.5,0.5]", "[1.5]", "its values neither rise nor fall throughout: element 2 is 1.5, but element 1 before it is 0.5", 0},
		"large numbers":           {"int64", `{}`, "[9007199254740992,9007199254740993]", "[9007199254740994]", "", 0},
		"large again":             {"uint64", `{}`, "[1,18446744073709551615]", "[18446744073709551614]", "element 2 is 18446744073709551614", 0},
		"labels":                  {"string", `{}`, `["b","a"]`, `["b"]`, "", 0},
		"not written yet":         {"int32", days, "[3,4,0,0]", "[]", "", 0},
	} {
		node := filepath.Join(t.TempDir(), "g.zarr", "t")
		n := strings.Count(c.stored, ",") + 1
		if c.stored == "[]" {
			n = 0
		}
		must(t, "", "create", node, "--shape", fmt.Sprint(n), "--dtype", c.dtype, "--chunks", "4", "--dimension-names", "t", "--attributes", c.attributes)
		if n > 0 {
			must(t, c.stored, "write", node, "--format", "json")
		}
		if c.more != "[]" {
			_, errs, status := execute(t, c.more, "append", node, "--format", "json")
			if status != 0 || (errs != "") != (c.note != "") || !strings.Contains(errs, c.note) {
				t.Errorf("%s: status %d, %q", name, status, errs)
			}
		}
		if out, _, status := execute(t, "", "check", filepath.Dir(node)); status != c.status || strings.Contains(out, "element") != (c.note != "" && c.status == 1 || name == "latitudes twice" || name == "large again") {
			t.Errorf("%s: status %d, %s", name, status, out)
		}
		if _, _, status := execute(t, "", "check", node); status != c.status {
			t.Errorf("%s: status %d of the array", name, status)
		}
	}
}

// TestPackedTimes cuts months by packed coordinates, decoded as by --decode.
func TestPackedTimes(t *testing.T) {
	for name, c := range map[string]struct{ dtype, attributes, stored string }{
		"plain":     {"float64", `{"units": "days since 2024-02-20"}`, numbers(0, 10)},
		"unsigned":  {"int8", `{"units": "days since 2023-10-15", "_Unsigned": "true"}`, "[-128,-127,-126,-125,-124,-123,-122,-121,-120,-119]"},
		"scaled":    {"int16", `{"units": "hours since 2024-02-20", "scale_factor": 24}`, numbers(0, 10)},
		"offset":    {"int32", `{"units": "days since 2024-02-10", "add_offset": 10}`, numbers(0, 10)},
		"downwards": {"int32", `{"units": "days since 2024-02-20", "scale_factor": -1.0}`, "[0,-1,-2,-3,-4,-5,-6,-7,-8,-9]"},
	} {
		array := timed(t, "[[4,6]]", c.stored, c.dtype, c.attributes)
		must(t, "[1]", "append", array, "--format", "json", "--grow", "calendar:month", "--time", "time")
		if got := chunkShapes(t, array); got != "[[4,6,31]]" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestUnwrittenTimes checks that unwritten times before written ones are reported, and
// those that a resize adds. Unwritten times at the end are accepted, and so is a time
// that happens to be the fill value.
func TestUnwrittenTimes(t *testing.T) {
	for values, want := range map[string]string{
		"[1,2,3,0,0]":    "",
		"[0,1,2,0,0]":    "",
		"[-2,-1,0,1,2]":  "",
		"[2,1,0,-1,-2]":  "",
		"[5,6,0,7,8]":    "1 element from 2 on is the fill value, as if never written, but element 3 after that is 2024-01-08",
		"[1,2,0,0,5]":    "2 elements from 2 on are the fill value, as if never written, but element 4 after that is 2024-01-06",
		"[-2,-1,0,0,1]":  "2 elements from 2 on are the fill value",
		"[0,0,0,9,10]":   "2 elements from 1 on are the fill value",
		"[1,2,0,2,0]":    "element 3 is 2024-01-03, but element 1 before it is 2024-01-03",
		"[1,2,0,0,-100]": "element 4 is",
	} {
		node := filepath.Join(t.TempDir(), "g.zarr", "time")
		must(t, "", "create", filepath.Dir(node), "--group")
		must(t, "", "create", node, "--shape", "5", "--dtype", "int32", "--dimension-names", "time", "--attributes", `{"units": "days since 2024-01-01"}`)
		must(t, values, "write", node, "--format", "json")
		out, errs, status := execute(t, "", "check", node)
		if (status == 0) != (want == "") || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, %s%s", values, status, out, errs)
		}
	}
	group := filepath.Join(t.TempDir(), "g.zarr")
	for name, units := range map[string]string{"time": `{"units": "days since 2024-01-01"}`, "x": "{}"} {
		must(t, "", "create", group+"/"+name, "--shape", "5", "--dtype", "int32", "--dimension-names", name, "--attributes", units)
		for lengths, want := range map[string]bool{"7": name == "time", "3": false} {
			node := filepath.Join(t.TempDir(), "g.zarr", name)
			must(t, "", "create", filepath.Dir(node), "--group")
			must(t, "", "copy", group+"/"+name, node)
			for _, args := range [][]string{{node, "--shape", lengths, "--dry-run"}, {node, name + "=" + lengths}} {
				_, errs, status := execute(t, "", append([]string{"resize", "--yes", "--alone"}, args...)...)
				if status != 0 || strings.Contains(errs, "2 new times are the fill value; write them with varve write") != want {
					t.Errorf("%s %s: status %d, %s", name, args, status, errs)
				}
			}
		}
	}
	_, errs, status := execute(t, "", "resize", group, "time=6")
	if status != 0 || !strings.Contains(errs, "1 new time is the fill value") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestNoteOfDisorder has one note for all commands that add elements to a coordinate
// which are out of order beside those that are there.
func TestNoteOfDisorder(t *testing.T) {
	filled := func(group, values string) string {
		must(t, "", "create", group+"/time", "--shape", "3", "--dtype", "int32", "--chunks", "[[3]]", "--dimension-names", "time", "--attributes", `{"units": "days since 2024-01-01"}`)
		must(t, values, "write", group+"/time", "--format", "json")
		return group
	}
	for name, c := range map[string]struct {
		args  []string
		wrong bool
		want  string
	}{
		"append an array":   {[]string{"append", "G/time", "SAME/time"}, true, "element 3 is 2024-01-06, but element 2 before it is 2024-01-08; was this appended before?"},
		"append to a group": {[]string{"append", "G", "time=SAME/time"}, true, "element 3 is 2024-01-06, but element 2 before it is 2024-01-08; was this appended before?"},
		"stitch an array":   {[]string{"stitch", "G/time", "SAME/time"}, true, "element 3 is 2024-01-06, but element 2 before it is 2024-01-08; was this stitched before?"},
		"stitch groups":     {[]string{"stitch", "G", "LATER", "SAME"}, true, "element 6 is 2024-01-06, but element 5 before it is 2024-01-11; was this stitched before?"},
		"stitch in order":   {[]string{"stitch", "G", "LATER"}, false, ""},
		"stitch sorted":     {[]string{"stitch", "G", "MUCH", "LATER", "--sort", "time"}, false, ""},
		"insert in front":   {[]string{"insert", "G/time", "--at", "0", "LATER/time"}, true, "element 3 is 2024-01-06, but element 2 before it is 2024-01-11; was this inserted before?"},
		"insert in groups":  {[]string{"insert", "G", "--axis", "time", "--at", "2", "time=LATER/time"}, true, "element 5 is 2024-01-08, but element 4 before it is 2024-01-11; was this inserted before?"},
		"insert at the end": {[]string{"insert", "G/time", "--at", "3", "LATER/time"}, false, ""},
		"insert in order":   {[]string{"insert", "G/time", "--at", "0", "EARLIER/time"}, false, ""},
	} {
		for _, more := range [][]string{{"--dry-run"}, {"--json"}, nil} {
			dir := t.TempDir()
			places := strings.NewReplacer("G", filled(dir+"/g.zarr", "[5,6,7]"), "SAME", filled(dir+"/s.zarr", "[5,6,7]"), "LATER", filled(dir+"/l.zarr", "[8,9,10]"),
				"MUCH", filled(dir+"/m.zarr", "[11,12,13]"), "EARLIER", filled(dir+"/e.zarr", "[1,2,3]"))
			var args []string
			for _, arg := range append(c.args, more...) {
				args = append(args, places.Replace(arg))
			}
			out, errs, status := execute(t, "", args...)
			if status != 0 {
				t.Fatalf("%s %v: %s", name, more, errs)
			}
			if !strings.Contains(out+errs, c.want) || strings.Contains(out+errs, "its times are not in order") != c.wrong {
				t.Errorf("%s %v: %s%s", name, more, out, errs)
			}
		}
	}
}
