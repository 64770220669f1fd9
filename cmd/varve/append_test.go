// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
)

// numbers returns a JSON list of n numbers from first on.
func numbers(first, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(first + i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func TestAppendPolicies(t *testing.T) {
	for _, c := range []struct {
		name, chunks string
		args         []string
		more         int
		want         string
	}{
		{"append one", "[[4,6]]", nil, 5, "[[4,6,5]]"},
		{"overhang first", "[[4,8]]", nil, 5, "[[4,8,3]]"},
		{"overhang only", "[[4,8]]", nil, 2, "[[4,8]]"},
		{"repeat last", "[[4,6]]", []string{"--grow", "repeat-last"}, 7, "[[4,6,6,6]]"},
		{"fixed", "[[4,6]]", []string{"--grow", "fixed:4"}, 7, "[[4,6,4,4]]"},
		{"pattern", "[[4,6]]", []string{"--grow", "pattern:3,2"}, 7, "[[4,6,3,2,3]]"},
		{"preplanned", "[[4,6]]", []string{"--grow", "preplanned:[[3,4]]"}, 7, "[[4,6,3,3,3,3]]"},
		{"preplanned within the plan", "[[4,6,5,5]]", []string{"--grow", "preplanned:[5,5]"}, 7, "[[4,6,5,5]]"},
		{"month", "[[4,6]]", []string{"--grow", "calendar:month", "--start", "2024-02-20", "--step", "1d"}, 5, "[[4,6,31]]"},
		{"days of 360", "[[4,6]]", []string{"--grow", "calendar:month", "--start", "2024-02-21", "--step", "1d", "--calendar", "360_day"}, 31, "[[4,6,30,30]]"},
		{"hours", "[[4,6]]", []string{"--grow", "calendar:month", "--start", "2024-02-29T14:00", "--step", "1h"}, 1, "[[4,6,744]]"},
		{"months of a year", "[[4,6]]", []string{"--grow", "calendar:year", "--start", "2024-03-01", "--step", "1mo"}, 13, "[[4,6,12,12]]"},
	} {
		node := newNode(t, "--shape", "10", "--dtype", "int16", "--chunks", c.chunks)
		must(t, numbers(0, 10), "write", node, "--format", "json")
		out := decode(t, must(t, numbers(10, c.more), append([]string{"append", node, "--format", "json", "--json"}, c.args...)...))
		if fmt.Sprint(out["shape_before"], out["shape"]) != fmt.Sprintf("[10] [%d]", 10+c.more) || out["path"] != node {
			t.Errorf("%s: %v", c.name, out)
		}
		if got := chunkShapes(t, node); expanded(t, got) != expanded(t, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if got := must(t, "", "export", node, "--format", "json"); got != numbers(0, 10+c.more)+"\n" {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// TestAppendNothing appends a file without elements, which changes nothing.
func TestAppendNothing(t *testing.T) {
	node := newNode(t, "--shape", "3,2", "--dtype", "int8", "--chunks", "[[1,2],2]")
	empty := filepath.Join(t.TempDir(), "none.npy")
	must(t, "", "create", node+"0", "--shape", "0,2", "--dtype", "int8")
	must(t, "", "export", node+"0", "-o", empty)
	before := must(t, "", "info", node, "--json")
	for _, args := range [][]string{{empty}, {empty, "--grow", "fixed:2"}, {empty, "--axis", "-2"}} {
		if got := must(t, "", append([]string{"append", node}, args...)...); got != node+"  3 × 2 → 3 × 2\n" {
			t.Errorf("%q: %s", args, got)
		}
	}
	if after := must(t, "", "info", node, "--json"); after != before {
		t.Error(after)
	}
	if _, errs, status := execute(t, "", "append", node, empty, "--axis", "1"); status != 1 || !strings.Contains(errs, "does not continue") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, errs, status := execute(t, "", "append", filepath.Dir(node), empty); status != 1 || strings.Contains(errs, "NAME=FILE") {
		t.Errorf("status %d, %s", status, errs) // there is no group
	}
	must(t, "", "create", filepath.Dir(node), "--group")
	if _, errs, status := execute(t, "", "append", filepath.Dir(node), empty); status != 1 || !strings.Contains(errs, "NAME=FILE") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// timed creates a group with an array of ten elements, in the given chunks, and a
// coordinate beside it.
func timed(t *testing.T, chunks, values, dtype, attributes string) (array string) {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	array = group + "/t2m"
	must(t, "", "create", array, "--shape", "10", "--dtype", "int8", "--chunks", chunks)
	length := fmt.Sprint(strings.Count(values, ",") + 1)
	must(t, "", "create", group+"/time", "--shape", length, "--dtype", dtype, "--chunks", "[["+length+"]]", "--attributes", attributes)
	must(t, values, "write", group+"/time", "--format", "json")
	return array
}

const sinceLeapYear = `{"units": "days since 2024-02-20", "calendar": "proleptic_gregorian"}`

func TestAppendByCoordinate(t *testing.T) {
	irregular := `[0,1,2,3,4,5,6,7,8,9,12,13,20,41,42]`
	for _, c := range []struct {
		name, values, dtype, attributes, unit string
		more                                  int
		want                                  string
	}{
		{"what is there", numbers(0, 10), "int32", sinceLeapYear, "month", 5, "[[4,6,31]]"},
		{"what is to come", numbers(0, 15), "int64", sinceLeapYear, "month", 5, "[[4,6,31]]"},
		{"irregular", irregular, "float64", sinceLeapYear, "month", 5, "[[4,6,3,30]]"},
		{"hours", "[0,24,48,72,96,120,144,168,192,216]", "float32", `{"units": "hours since 2024-12-22"}`, "year", 1, "[[4,6,365]]"},
		{"no leap", numbers(0, 10), "uint16", `{"units": "days since 2024-01-19", "calendar": "365_day"}`, "month", 5, ""},
		{"middle of months", "[15.5,45,74.5,105,135.5,166,196.5,227.5,258,288.5]", "float64", `{"units": "days since 2001-01-01", "calendar": "noleap"}`, "year", 3, ""},
		{"middle of months from March on", "[74.5,105,135.5,166,196.5,227.5,258,288.5,319,349.5]", "float64", `{"units": "days since 2001-01-01", "calendar": "noleap"}`, "year", 3, "[[4,6,12]]"},
	} {
		array := timed(t, "[[4,6]]", c.values, c.dtype, c.attributes)
		args := []string{"append", array, "--format", "json", "--grow", "calendar:" + c.unit, "--time", "time"}
		if c.want == "" {
			_, errs, status := execute(t, numbers(10, c.more), args...)
			if status != 1 || !strings.Contains(errs, "end at element 10") || !strings.Contains(errs, array) {
				t.Errorf("%s: status %d, %s", c.name, status, errs)
			}
			continue
		}
		must(t, numbers(10, c.more), args...)
		if got := chunkShapes(t, array); expanded(t, got) != expanded(t, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestAppendToCoordinate cuts a coordinate by its own values, old and new.
func TestAppendToCoordinate(t *testing.T) {
	array := timed(t, "[[4,6]]", numbers(0, 10), "int32", sinceLeapYear)
	coordinate := strings.TrimSuffix(array, "t2m") + "time"
	must(t, "[11,13,20,42]", "append", coordinate+"/", "--format", "json", "--grow", "calendar:month", "--time", "time")
	if got := chunkShapes(t, coordinate); expanded(t, got) != "[[10,3,29]]" {
		t.Error(got)
	}
	if got := must(t, "", "export", coordinate, "--select", "8:", "--format", "json"); got != "[8,9,11,13,20,42]\n" {
		t.Error(got)
	}
}

func TestAppendByWrongCoordinate(t *testing.T) {
	for _, c := range []struct {
		name, values, dtype, attributes, want string
	}{
		{"shorter than the axis", numbers(0, 9), "int32", sinceLeapYear, "has 9 elements, but the axis has 10"},
		{"irregular and at its end", "[0,1,2,3,4,5,6,7,9,11]", "int32", sinceLeapYear, "coordinate too short"},
		{"falls", "[9,8,7,6,5,4,3,2,1,0]", "int32", sinceLeapYear, "times must increase"},
		{"no number", `[0,1,2,3,4,5,6,7,8,"NaN"]`, "float64", sinceLeapYear, "times must increase"},
		{"no units", numbers(0, 10), "int32", `{}`, "lacks the attribute units"},
		{"wrong units", numbers(0, 10), "int32", `{"units": "K"}`, "days since 1950-01-01"},
		{"wrong calendar", numbers(0, 10), "int32", `{"units": "days since 2024-02-20", "calendar": "maya"}`, "maya"},
		{"months", numbers(0, 10), "int32", `{"units": "months since 2024-02-20"}`, "no fixed length"},
		{"truths", "[true,true,true,true,true,true,true,true,true,true]", "bool", sinceLeapYear, "type bool"},
		{"too large", "[0,1,2,3,4,5,6,7,8,18446744073709551615]", "uint64", sinceLeapYear, "at index 9 is not a time"},
	} {
		kind := "invalid-argument"
		if c.name == "months" { // a unit that is known
			kind = "unsupported"
		}
		array := timed(t, "[[4,6]]", c.values, c.dtype, c.attributes)
		out, errs, status := execute(t, "[1]", "append", array, "--format", "json", "--grow", "calendar:month", "--time", "time", "--json")
		facts, _ := decode(t, errs)["error"].(map[string]any)
		message, _ := facts["message"].(string)
		if status != 1 || out != "" || facts["kind"] != kind || facts["path"] != array || !strings.Contains(message, c.want) {
			t.Errorf("%s: status %d, %s", c.name, status, errs)
		}
	}
}

// TestAppendByOtherNodes uses coordinates in other places, of another rank, or too long
// to read.
func TestAppendByOtherNodes(t *testing.T) {
	array := timed(t, "[[4,6]]", numbers(0, 10), "int32", sinceLeapYear)
	elsewhere := filepath.Join(t.TempDir(), "c.zarr")
	coordinateNode(t, elsewhere, "12", "days since 2024-02-20", numbers(0, 12))
	must(t, "[1]", "append", array, "--format", "json", "--grow", "calendar:month", "--time", elsewhere)
	if got := chunkShapes(t, array); got != "[[4,6,31]]" {
		t.Error(got)
	}
	plane := newNode(t, "--shape", "3,4", "--dtype", "int8")
	endless := newNode(t, "--shape", "1000000000000000000", "--dtype", "int8", "--chunks", "[1000000]", "--attributes", sinceLeapYear)
	for node, want := range map[string]string{plane: "one axis", endless: "at most 16,777,216 are read"} {
		_, errs, status := execute(t, "[1]", "append", array, "--format", "json", "--grow", "calendar:month", "--time", node)
		if status != 1 || !strings.Contains(errs, want) {
			t.Errorf("status %d, %s", status, errs)
		}
	}
}

// TestAppendExpects repeats an append with an unknown outcome.
func TestAppendExpects(t *testing.T) {
	node := newNode(t, "--shape", "2,3", "--dtype", "int8", "--chunks", "[[2],3]")
	args := []string{"append", node, "--format", "json", "--expect", "2,3", "--json"}
	must(t, "[[1,2,3]]", args...)
	_, errs, status := execute(t, "[[1,2,3]]", args...)
	facts, _ := decode(t, errs)["error"].(map[string]any)
	if status != 1 || facts["kind"] != "conflict" || !strings.Contains(errs, "the shape is [3 3], [2 3] was expected") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "[[1,2,3]]", "append", node, "--format", "json", "--expect", "3,3")
}

// TestExpectComesFirst repeats changes with data that do not fit, or are gone. That they
// were made before is what the error says.
func TestExpectComesFirst(t *testing.T) {
	group := archive(t)
	bad, gone := files(t, "[[1,2,3]]")[0], filepath.Join(t.TempDir(), "*.npy")
	for _, args := range [][]string{
		{"append", group + "/t2m", bad, "--expect", "9,2"},
		{"append", group + "/t2m", gone, "--expect", "9,2"},
		{"append", group + "/t2m", bad, "--expect", "9,2", "--grow", "calendar:month", "--time", "nothere"},
		{"append", group, "t2m=" + bad, "time=" + bad, "--expect", "9"},
		{"append", group, "t2m=" + gone, "time=" + gone, "--expect", "9"},
		{"insert", group + "/t2m", bad, "--at", "0", "--expect", "9"},
		{"insert", group, "t2m=" + gone, "time=" + gone, "--axis", "time", "--at", "0", "--expect", "9"},
		{"resize", group + "/t2m", "--shape", "12,2", "--grow", "calendar:month", "--time", "nothere", "--expect", "9,2"},
	} {
		_, errs, status := execute(t, "", append(args, "--json")...)
		if facts, _ := decode(t, errs)["error"].(map[string]any); status != 1 || facts["kind"] != "conflict" || !strings.Contains(errs, "was expected") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
}

// TestFirstDay makes an archive of months from its first day on, by the same command for
// every day.
func TestFirstDay(t *testing.T) {
	for first, want := range map[int]string{0: "[[1,30,28],2]", 3: "[[1,27,28],2]", 30: "[[1,28],2]"} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		must(t, "", "create", group+"/time", "--shape", "0", "--dtype", "int32", "--chunks", "100", "--attributes", `{"units": "days since 2023-01-01"}`, "--dimension-names", "time")
		must(t, "", "create", group+"/t2m", "--shape", "0,2", "--dtype", "int8", "--chunks", "calendar:month", "--time", "time", "--grow", "calendar:month", "--dimension-names", "time,x")
		for day := first; day < 35; day++ {
			f := files(t, fmt.Sprintf("[[%d,1]]", day), numbers(day, 1))
			_, errs, status := execute(t, "", "append", group, "t2m="+f[0], "time="+f[1])
			if told := strings.Contains(errs, "one time does not tell"); status != 0 || told != (day == first) {
				t.Fatalf("day %d: status %d, %s", day, status, errs)
			}
		}
		if got := chunkShapes(t, group+"/t2m"); expanded(t, got) != want {
			t.Errorf("from day %d on: %s, want %s", first, got, want)
		}
		if got := must(t, "", "export", group+"/t2m", "--select", ":,0", "--format", "json"); got != numbers(first, 35-first)+"\n" {
			t.Error(got)
		}
	}
}

func TestCompletionOfPolicies(t *testing.T) {
	for flag, want := range map[string]string{"--grow": "repeat-last\n", "--step": "1mo\n", "--calendar": "noleap\n"} {
		if out, _, status := execute(t, "", "__complete", "append", flag, ""); status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, %q", status, out)
		}
	}
	if out, _, status := execute(t, "", "__complete", "create", "--chunks", ""); status != 0 || !strings.Contains(out, "calendar:month\n") {
		t.Errorf("status %d, %q", status, out)
	}
	if out, _, status := execute(t, "", "__complete", "resize", "--shrink", ""); status != 0 || !strings.Contains(out, "trim-exact\n") {
		t.Errorf("status %d, %q", status, out)
	}
}

// TestAppendRefuses appends with policies and data that do not fit, and checks that
// nothing changes.
func TestAppendRefuses(t *testing.T) {
	regular := []string{"--chunks", "[4]"}
	listed := []string{"--chunks", "[[4,6]]"}
	for _, c := range []struct {
		name, kind, want string
		create, args     []string
	}{
		{"fixed on regular chunks", "invalid-argument", "unlock", regular, []string{"--grow", "fixed:3"}},
		{"pattern on regular chunks", "invalid-argument", "unlock", regular, []string{"--grow", "pattern:3,2"}},
		{"plan on regular chunks", "invalid-argument", "unlock", regular, []string{"--grow", "preplanned:[3]"}},
		{"calendar on regular chunks", "invalid-argument", "unlock", regular, []string{"--grow", "calendar:month", "--start", "2024-02-20", "--step", "1d"}},
		{"plan that is too short", "invalid-argument", "1 element before the extent", listed, []string{"--grow", "preplanned:[2]"}},
		{"plan that contradicts", "invalid-argument", "contradicts", []string{"--chunks", "[[4,6,5]]"}, []string{"--grow", "preplanned:[3,3]"}},
		{"sum beyond 64 bits", "overflow", "growth", listed, []string{"--grow", "preplanned:[9223372036854775807]"}},
		{"within a month", "invalid-argument", "within a month that has elements 0 to 28", listed, []string{"--grow", "calendar:month", "--start", "2024-02-01", "--step", "1d"}},
		{"within a year", "invalid-argument", "end at element 10", listed, []string{"--grow", "calendar:year", "--start", "2024-02-01", "--step", "1d"}},
		{"other shape before", "conflict", "[9] was expected", listed, []string{"--expect", "9"}},
		{"other rank before", "conflict", "[10 1] was expected", listed, []string{"--expect", "10,1"}},
		{"no such axis", "invalid-argument", "axis 1", listed, []string{"--axis", "1"}},
	} {
		node := newNode(t, append([]string{"--shape", "10", "--dtype", "int8"}, c.create...)...)
		before := chunkShapes(t, node)
		out, errs, status := execute(t, "[1,2,3]", append([]string{"append", node, "--format", "json", "--json"}, c.args...)...)
		facts, _ := decode(t, errs)["error"].(map[string]any)
		message, _ := facts["message"].(string)
		if status != 1 || out != "" || facts["kind"] != c.kind || facts["op"] != "append" || facts["path"] != node || !strings.Contains(message, c.want) {
			t.Errorf("%s: status %d, %s", c.name, status, errs)
		}
		if got := decode(t, must(t, "", "info", "--json", node)); fmt.Sprint(got["shape"]) != "[10]" || chunkShapes(t, node) != before {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestConcurrentAppends appends from several commands concurrently. Nothing may be lost.
func TestConcurrentAppends(t *testing.T) {
	node := newNode(t, "--shape", "0", "--dtype", "int8", "--chunks", "[[1]]")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 3 {
				var errs bytes.Buffer
				in := strings.NewReader(fmt.Sprintf("[%d,%d]", i, i))
				if run(t.Context(), []string{"append", node, "--format", "json", "--grow", "fixed:3"}, console.Streams{In: in, Out: io.Discard, Err: &errs}) != 0 {
					t.Error(errs.String())
				}
			}
		})
	}
	wg.Wait()
	var got []int
	if err := json.Unmarshal([]byte(must(t, "", "export", node, "--format", "json")), &got); err != nil || len(got) != 24 {
		t.Fatal(got, err)
	}
	for i := 0; i < len(got); i += 2 {
		if got[i] != got[i+1] {
			t.Error(got)
		}
	}
}

// TestAppendRoundUp grows arrays whose inner chunks do not divide what is appended.
func TestAppendRoundUp(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	node := group + "/a"
	must(t, "", "create", node, "--shape", "10,2", "--dtype", "int8", "--shards", "[[6,4],2]", "--chunks", "2", "--dimension-names", "t,x")
	must(t, "", "create", group+"/t", "--shape", "10", "--dtype", "int8", "--chunks", "[[6,4]]", "--dimension-names", "t")
	_, errs, status := execute(t, strings.Repeat("x", 6), "append", node, "--alone", "--json")
	facts, _ := decode(t, errs)["error"].(map[string]any)
	for _, part := range []string{"inner chunk of 2", "append 2 or 4", "--round-up"} {
		if message, _ := facts["message"].(string); !strings.Contains(message, part) {
			t.Errorf("%q is not in %s", part, message)
		}
	}
	if status != 1 || facts["kind"] != "invalid-argument" {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, strings.Repeat("x", 6), "append", node, "--round-up", "--alone")
	if got, want := chunkShapes(t, node), "[[6,[4,2]],2]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	must(t, strings.Repeat("y", 2), "append", node, "--alone") // fills what is declared
	if got, want := chunkShapes(t, node), "[[6,[4,2]],2]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	file := filepath.Join(t.TempDir(), "t.raw")
	overwrite(t, file, "abcd")
	must(t, "", "append", group+"/t", file, "--alone")
	overwrite(t, file, "efg")
	if _, errs, status := execute(t, strings.Repeat("z", 6), "append", group, "a=-", "t="+file); status != 1 || !strings.Contains(errs, "--round-up") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, strings.Repeat("z", 6), "append", group, "a=-", "t="+file, "--round-up")
	for name, want := range map[string]string{"/a": "[[6,[4,3]],2]", "/t": "[[6,[4,2],3]]"} {
		if got := chunkShapes(t, group+name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
