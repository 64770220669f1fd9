// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/metadata"
)

// TestStoredGrowth makes an archive with a stored policy and an empty coordinate, and
// appends to it without --grow.
func TestStoredGrowth(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	field, time := group+"/t2m", group+"/time"
	must(t, "", "create", time, "--shape", "0", "--dtype", "int32", "--chunks", "100", "--attributes", `{"units": "days since 2024-01-30"}`, "--dimension-names", "time")
	must(t, "", "create", field, "--shape", "0,2", "--dtype", "int8", "--chunks", "calendar:month", "--time", "time", "--grow", "calendar:month",
		"--attributes", `{"units": "K"}`, "--dimension-names", "time,x")
	if got := strings.Join(strings.Fields(must(t, "", "attrs", field)), " "); !strings.Contains(got, `"varve:growth": { "policy": "calendar:month", "time": "time" }`) || !strings.Contains(got, `"units"`) {
		t.Error(got)
	}
	day := 0
	for _, c := range []struct {
		days int
		want string
	}{{4, "[[2,29],2]"}, {10, "[[2,29],2]"}, {18, "[[2,29,31],2]"}, {60, "[[2,29,31,30],2]"}} {
		f := files(t, "["+strings.Repeat("[1,2],", c.days-1)+"[1,2]]", numbers(day, c.days))
		must(t, "", "append", group, "t2m="+f[0], "time="+f[1])
		day += c.days
		if got := chunkShapes(t, field); expanded(t, got) != expanded(t, c.want) {
			t.Errorf("%d days: %s, want %s", day, got, c.want)
		}
	}
	if got := must(t, "", "resize", field, "--shape", "124,2", "--alone"); !strings.Contains(got, "92 × 2 → 124 × 2") {
		t.Error(got)
	}
	if got := chunkShapes(t, field); expanded(t, got) != expanded(t, "[[2,29,31,30,31,30],2]") {
		t.Error(got)
	}
}

// TestGrowOverrules gives another policy than the stored one.
func TestGrowOverrules(t *testing.T) {
	node := newNode(t, "--shape", "31", "--dtype", "int8", "--chunks", "[[31]]", "--grow", "calendar:month", "--start", "2023-01-01", "--step", "1d")
	must(t, "xxx", "append", node)
	if got := chunkShapes(t, node); got != "[[31,28]]" {
		t.Error(got)
	}
	_, errs, status := execute(t, strings.Repeat("x", 30), "append", node, "--grow", "append-one")
	if want := "--grow append-one differs from the stored policy, calendar:month"; status != 0 || !strings.Contains(errs, want) {
		t.Errorf("status %d, %s", status, errs)
	}
	if got := chunkShapes(t, node); got != "[[31,28,5]]" {
		t.Error(got)
	}
	if _, errs, status := execute(t, "x", "append", node); status != 1 || !strings.Contains(errs, "end at element 64") || !strings.Contains(errs, "instead of the attribute") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "attrs", node, "unset", "varve:growth")
	must(t, "x", "append", node)
	must(t, "", "attrs", node, "set", "varve:growth", `{"policy": "fixed:4", "axis": -1}`)
	must(t, "xxxxxx", "append", node)
	if got := chunkShapes(t, node); expanded(t, got) != "[[31,28,5,1,4,4]]" {
		t.Error(got)
	}
}

// plantGrowth stores a value of the attribute without a check, like another program.
func plantGrowth(t *testing.T, node, value string) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), node, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	err = a.UpdateAttributes(t.Context(), func(object []byte) ([]byte, error) {
		return metadata.SetAttribute(object, "varve:growth", []byte(value))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStoredGrowthMalformed refuses malformed attributes, with advice. --grow must still
// work.
func TestStoredGrowthMalformed(t *testing.T) {
	node := newNode(t, "--shape", "3", "--dtype", "int8", "--chunks", "[[3]]")
	for _, c := range [][2]string{
		{`"calendar:month"`, "not an object"}, {`{"policy": 5}`, "not an object"}, {`{}`, `policy ""`}, {`{"policy": "calendr:month"}`, `"calendr:month"`},
		{`{"policy": "calendar:month"}`, "start and step"}, {`{"policy": "calendar:month", "time": "../time"}`, "in the same group"},
		{`{"policy": "calendar:month", "time": "time", "step": "1d"}`, "time excludes"}, {`{"policy": "fixed:2", "time": "time"}`, "only a calendar"},
		{`{"policy": "fixed:2", "axis": "lat"}`, "lat"}, {`{"policy": "fixed:2", "axis": 1}`, "no axis 1"}, {`{"policy": "fixed:0"}`, "fixed:0"},
	} {
		plantGrowth(t, node, c[0])
		for _, args := range [][]string{{"append", node}, {"resize", node, "--shape", "9"}} {
			_, errs, status := execute(t, "x", append(args, "--json")...)
			failure, _ := decode(t, errs)["error"].(map[string]any)
			if got := fmt.Sprint(failure["message"]); status != 1 || !strings.Contains(got, c[1]) || !strings.Contains(got, "varve attrs "+node+" set varve:growth") || failure["kind"] != "invalid-metadata" {
				t.Errorf("%s: status %d, %s", c[0], status, errs)
			}
		}
	}
	must(t, "x", "append", node, "--grow", "fixed:4")
}

// TestCreateGrow refuses policies that the new array cannot follow.
func TestCreateGrow(t *testing.T) {
	at := filepath.Join(t.TempDir(), "a.zarr")
	create := []string{"create", at, "--dtype", "int8"}
	for _, c := range []struct {
		status     int
		want, args string
	}{
		{1, "follow the extent", "--shape 3 --chunks 3 --grow fixed:2"},
		{1, "follow the extent", "--shape 3 --chunks 3 --grow fixed:2 --zarr-format 2"},
		{1, "has no axis", "--shape= --grow repeat-last"},
		{2, "--time COORD", "--shape 3 --chunks [[3]] --grow calendar:month"},
		{1, "a coordinate of the same group", "--shape 3 --chunks [[3]] --grow calendar:month --time x/time"},
		{2, "exclude each other", `--shape 3 --chunks [[3]] --grow fixed:2 --attributes {"varve:growth":{}}`},
		{2, "--grow", "--shape 3 --grow fast"},
		{0, "", "--shape 3 --chunks 3 --grow repeat-last --zarr-format 2"},
	} {
		_, errs, status := execute(t, "", append(create, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("%q: status %d, %s", c.args, status, errs)
		}
	}
	must(t, "xxxx", "append", at)
}

// TestFirstTimes begins an archive of months with two times, which give the distance of
// elements. TestFirstDay begins one with a single time.
func TestFirstTimes(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group+"/time", "--shape", "0", "--dtype", "int64", "--chunks", "64", "--dimension-names", "time",
		"--attributes", `{"units":"days since 2021-01-01"}`)
	must(t, "", "create", group+"/t", "--shape", "0,2", "--dtype", "int8", "--chunks", "calendar:month", "--time", "time",
		"--grow", "calendar:month", "--dimension-names", "time,x")
	grow := func(first, n int) (errs string, status int) {
		rows := strings.TrimSuffix(strings.Repeat("[1,2],", n), ",")
		f := files(t, "["+rows+"]", numbers(first, n))
		_, errs, status = execute(t, "", "append", group, "t="+f[0], "time="+f[1])
		return errs, status
	}
	for _, c := range [][2]int{{0, 2}, {2, 1}, {3, 28}, {31, 1}} {
		if errs, status := grow(c[0], c[1]); status != 0 {
			t.Errorf("%d days from %d on: status %d, %s", c[1], c[0], status, errs)
		}
	}
	if got := chunkShapes(t, group+"/t"); got != "[[31,28],2]" {
		t.Errorf("chunks %s", got)
	}
}

// TestGrowthPastGaps appends days with a gap, by a stored policy. If a month turns out to
// be shorter than declared, a chunk begins within the next month, with a note.
func TestGrowthPastGaps(t *testing.T) {
	group := newNode(t, "--group")
	must(t, "", "create", group+"/time", "--shape", "0", "--dtype", "int64", "--chunks", "1000", "--dimension-names", "time",
		"--attributes", `{"units": "days since 2021-01-01"}`)
	must(t, "", "create", group+"/x", "--shape", "0", "--dtype", "int64", "--chunks", "calendar:month", "--time", "time", "--grow", "calendar:month", "--dimension-names", "time")
	days := make([]int64, 0, 120)
	for d := range int64(120) {
		if d != 8 {
			days = append(days, d)
		}
	}
	file := filepath.Join(t.TempDir(), "days.json")
	for _, c := range []struct {
		to   int
		want string
		note bool
	}{
		{5, "[31]", false}, {31, "[31]", false}, {36, "[31,27]", true}, {57, "[31,27]", false}, {60, "[31,27,31]", false}, {119, "[31,27,31,30]", false},
	} {
		from := decode(t, must(t, "", "info", group+"/x", "--json"))["shape"].([]any)[0].(float64)
		overwrite(t, file, string(output.Text(days[int(from):c.to])))
		_, errs, status := execute(t, "", "append", group, "x="+file, "time="+file)
		if status != 0 || strings.Contains(errs, "the times have gaps") != c.note {
			t.Fatalf("up to %d: status %d, %s", c.to, status, errs)
		}
		if got := chunkShapes(t, group+"/x"); expanded(t, got) != "["+c.want+"]" {
			t.Errorf("up to %d: the chunks are %s, want %s", c.to, got, c.want)
		}
	}
	if got := must(t, "", "export", group+"/x", "--format", "json"); strings.TrimSpace(got) != string(output.Text(days)) {
		t.Errorf("the elements are %s", got)
	}
}

// TestStoredTimes merges chunks to months and years by the times that are stored with the
// array. They count along their axis only.
func TestStoredTimes(t *testing.T) {
	a := filepath.Join(t.TempDir(), "a.zarr")
	must(t, "", "create", a, "--shape", "60,2", "--dtype", "int8", "--chunks", "[[[1,60]],2]", "--grow", "calendar:month", "--start", "2024-01-01", "--step", "1d")
	for _, args := range [][]string{{"compact", "--to", "calendar:month"}, {"rechunk", "--chunks", "calendar:month,2"}} {
		if out := must(t, "", args[0], a, args[1], args[2], "--dry-run"); !strings.Contains(out, "chunks 31, 29 | 2") {
			t.Errorf("%v: %s", args, out)
		}
	}
	if _, errs, status := execute(t, "", "compact", a, "--axis", "1", "--to", "calendar:month"); status != 2 || !strings.Contains(errs, "needs the times") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestStoredStart moves the first element of an array whose months count from a stored
// start. Days that are appended later still begin chunks with their months.
func TestStoredStart(t *testing.T) {
	for _, c := range []struct {
		change []string // without the node
		more   int
		want   string
		start  string
	}{
		{nil, 30, "[[31,29,31]]", "2024-01-01"},
		{[]string{"drop", "--axis", "0", "--range", "0:31", "--yes"}, 30, "[[29,31]]", "2024-02-01"},
		{[]string{"drop", "--axis", "0", "--range", ":10", "--yes"}, 30, "[[21,29,31]]", "2024-01-11"},
		{[]string{"drop", "--axis", "0", "--range", "3:5", "--yes"}, 30, "[[29,29,31]]", "2024-01-03"},
		{[]string{"drop", "--axis", "0", "--range", "31:60", "--yes"}, 29, "[[31,29]]", "2024-01-01"},
		{[]string{"insert", "--axis", "0", "--at", "0"}, 30, "[[2,31,29,31]]", "2023-12-30"},
	} {
		node := newNode(t, "--shape", "60", "--dtype", "int8", "--chunks", "calendar:month", "--grow", "calendar:month", "--start", "2024-01-01", "--step", "1d")
		note := ""
		if c.change != nil {
			_, stderr, status := execute(t, "xx", append([]string{c.change[0], node}, c.change[1:]...)...)
			if note = stderr; status != 0 {
				t.Errorf("%v: status %d, %s", c.change, status, stderr)
			}
		}
		if moves := c.start != "2024-01-01"; moves != strings.Contains(note, "its start, 2024-01-01, is now "+c.start) {
			t.Errorf("%v: %q", c.change, note)
		}
		must(t, strings.Repeat("x", c.more), "append", node)
		if got := chunkShapes(t, node); expanded(t, got) != expanded(t, c.want) {
			t.Errorf("%v: %s, want %s", c.change, got, c.want)
		}
		if got := must(t, "", "attrs", node); !strings.Contains(got, `"start": "`+c.start+`"`) {
			t.Errorf("%v: %s, want the start %s", c.change, got, c.start)
		}
	}
}

// TestFilterStart leaves a calendar that is counted from a start out of filtered rows,
// and keeps other policies.
func TestFilterStart(t *testing.T) {
	mask := files(t, "")[0]
	for _, c := range []struct {
		flags []string
		keeps bool
	}{
		{[]string{"--grow", "calendar:month", "--start", "2024-01-01", "--step", "1d"}, false},
		{[]string{"--grow", "fixed:2"}, true},
	} {
		node := newNode(t, append([]string{"--shape", "4", "--dtype", "int8", "--chunks", "[[2,2]]"}, c.flags...)...)
		if err := os.WriteFile(mask, []byte{1, 0, 1, 1}, 0o666); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "to.zarr")
		must(t, "", "filter", node, to, "--mask", mask)
		if got := must(t, "", "attrs", to); strings.Contains(got, "varve:growth") != c.keeps {
			t.Errorf("%v: %s", c.flags, got)
		}
	}
}
