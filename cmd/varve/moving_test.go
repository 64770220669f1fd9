// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/rechunk"
)

// window creates a group with a field of 90 days and its coordinate, in three months.
func window(t *testing.T) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	must(t, "", "create", group+"/t2m", "--shape", "90,2", "--dtype", "int16", "--chunks", "[[31,28,31],2]", "--dimension-names", "time,x")
	must(t, "", "create", group+"/time", "--shape", "90", "--dtype", "int32", "--chunks", "[[31,28,31]]", "--dimension-names", "time")
	must(t, "", "create", group+"/x", "--shape", "2", "--dtype", "int8", "--dimension-names", "x")
	must(t, numbers(0, 180), "write", group+"/t2m", "--format", "json")
	must(t, numbers(0, 90), "write", group+"/time", "--format", "json")
	return group
}

func elementsAt(t *testing.T, node, sel string) string {
	t.Helper()
	return strings.TrimSpace(must(t, "", "export", node, "--select", sel, "--format", "json"))
}

func TestDrop(t *testing.T) {
	group := window(t)
	node := group + "/time"
	_, errs, status := execute(t, "", "drop", node, "--range", "10:40", "--yes")
	if status != 1 || !strings.Contains(errs, "varve drop GROUP --axis") || !strings.Contains(errs, "--alone") {
		t.Errorf("one of several arrays: status %d, %s", status, errs)
	}
	if _, errs, status = execute(t, "", "drop", group, "--axis", "time", "--range", "10:40"); status != 2 || !strings.Contains(errs, "drops time 10:40 of 2 arrays") {
		t.Errorf("without --yes: status %d, %s", status, errs)
	}
	plan := decode(t, must(t, "", "drop", group, "--axis", "time", "--range", "10:40", "--dry-run", "--json"))
	first, _ := plan["arrays"].([]any)[0].(map[string]any)
	if first["operation"] != "drop" || first["chunks_rewritten"] != 2.0 || first["changed"] != true || first["dry_run"] != true || first["strategy"] != "namespace-flip" {
		t.Error(plan)
	}
	if got := chunkShapes(t, node); got != "[[31,28,31]]" {
		t.Errorf("a dry run left %s", got)
	}
	must(t, "", "drop", group, "--axis", "time", "--range", "10:40", "--yes", "--expect", "90")
	for name, want := range map[string]string{"time": "[[10,19,31]]", "t2m": "[[10,19,31],2]"} {
		if got := chunkShapes(t, group+"/"+name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if a, b := elementsAt(t, node, "9:12"), elementsAt(t, group+"/t2m", "9:11"); a != "[9,40,41]" || b != "[[18,19],[80,81]]" {
		t.Errorf("%s %s", a, b)
	}
	// The same again, as after a lost answer.
	if _, errs, status = execute(t, "", "drop", group, "--axis", "time", "--range", "10:40", "--yes", "--expect", "90"); status != 1 || !strings.Contains(errs, "60 planes, not 90") {
		t.Errorf("a second time: status %d, %s", status, errs)
	}
	must(t, "", "revert", node)
	if got := elementsAt(t, node, "9:12"); got != "[9,10,11]" {
		t.Errorf("reverted: %s", got)
	}
}

func TestDropRange(t *testing.T) {
	node := newNode(t, "--shape", "9,1000000", "--dtype", "int16", "--chunks", "3,1000000")
	for _, c := range []struct {
		arguments []string
		status    int
		words     string
	}{
		{[]string{"--range", "1:3"}, 1, "only whole chunks of 3 move: --unlock permits"},
		{[]string{"--range", "0:10", "--unlock"}, 1, "there are 9"},
		{[]string{"--range", "3"}, 2, "--range 0:31"},
		{[]string{"--range", ":"}, 2, "give at least one end, as in --range 0:"},
		{[]string{"--range", "-3:"}, 2, "--range 0:31"},
		{nil, 2, "--range"},
		{[]string{"--range", "0:3", "--axis", "2"}, 1, "axis 2"},
	} {
		_, errs, status := execute(t, "", append([]string{"drop", node, "--yes"}, c.arguments...)...)
		if status != c.status || !strings.Contains(errs, c.words) {
			t.Errorf("%v: status %d, %s", c.arguments, status, errs)
		}
	}
	node = newNode(t, "--shape", "9", "--dtype", "int16", "--chunks", "3")
	must(t, numbers(0, 9), "write", node, "--format", "json")
	out := must(t, "", "drop", node, "--range", "6:", "--unlock", "--yes")
	if !strings.Contains(out, "1 dropped") || elementsAt(t, node, "") != "[0,1,2,3,4,5]" {
		t.Errorf("%s %s", out, elementsAt(t, node, ""))
	}
	facts := decode(t, must(t, "", "drop", node, "--range", ":1", "--yes", "--json"))
	if facts["changed"] != true || facts["chunks_dropped"] != 0.0 || elementsAt(t, node, "") != "[1,2,3,4,5]" {
		t.Error(facts)
	}
}

func TestInsert(t *testing.T) {
	node := newNode(t, "--shape", "4", "--dtype", "int32", "--chunks", "[[2,2]]")
	must(t, numbers(0, 4), "write", node, "--format", "json")
	f := files(t, "[10,11,12]", "[13]")
	must(t, "", "insert", node, "--at", "0", f[0], f[1])
	if got := chunkShapes(t, node); got != "[[3,1,[2,2]]]" {
		t.Error(got)
	}
	must(t, "\x14\x00\x00\x00\x15\x00\x00\x00", "insert", node, "--at", "5", "--grow", "fixed:1")
	if got, cut := elementsAt(t, node, ""), chunkShapes(t, node); got != "[10,11,12,13,0,20,21,1,2,3]" || cut != "[[3,[1,5],2]]" {
		t.Errorf("%s in %s", got, cut)
	}
	must(t, "", "vacuum", node, "--grace", "0s", "--yes")
	for _, c := range []struct {
		arguments []string
		words     string
	}{
		{[]string{f[0]}, "--at 0"},
		{[]string{"--at", "11", f[0]}, "there are 10"},
		{[]string{"--at", "0", "--grow", "calendar:month", f[0]}, "calendar"},
		{[]string{"--at", "0", "absent.npy"}, "absent.npy"},
	} {
		if _, errs, status := execute(t, "", append([]string{"insert", node}, c.arguments...)...); status == 0 || !strings.Contains(errs, c.words) {
			t.Errorf("%v: status %d, %s", c.arguments, status, errs)
		}
	}
	regular := newNode(t, "--shape", "4", "--dtype", "int32", "--chunks", "2")
	refuses(t, "--grow fixed:1: the axis is regular", "insert", regular, "--at", "2", "--grow", "fixed:1", f[0])
	must(t, "", "insert", regular, "--at", "1", f[1])
	if got := chunkShapes(t, regular); got != "every [2]" {
		t.Error(got)
	}
	must(t, "", "drop", regular, "--range", "1:2", "--yes")
	must(t, "", "insert", regular, "--at", "2", "--unlock", "--grace", "0s", f[0])
	if got := chunkShapes(t, regular); got != "[[[2,2],1,2]]" {
		t.Error(got)
	}
}

func TestInsertTogether(t *testing.T) {
	group := window(t)
	f := files(t, "[[7,8],[9,10]]", "[-2,-1]")
	_, errs, status := execute(t, "", "insert", group, "--axis", "time", "--at", "0", "t2m="+f[0])
	if status != 1 || !strings.Contains(errs, "varve insert GROUP NAME=FILE") {
		t.Errorf("one of two: status %d, %s", status, errs)
	}
	out := must(t, "", "insert", group, "--axis", "time", "--at", "0", "t2m="+f[0], "time="+f[1], "--json")
	if got := fmt.Sprint(decode(t, out)["path"]); got != group {
		t.Error(out)
	}
	if a, b := elementsAt(t, group+"/time", "0:3"), elementsAt(t, group+"/t2m", "1:3"); a != "[-2,-1,0]" || b != "[[9,10],[0,1]]" {
		t.Errorf("%s %s", a, b)
	}
	if _, errs, status = execute(t, "", "insert", group, "--axis", "time", "--at", "0", "x="+f[1]); status != 1 || !strings.Contains(errs, "no array directly below") {
		t.Errorf("an array without the dimension: status %d, %s", status, errs)
	}
	if _, errs, status = execute(t, "", "insert", group, "--at", "0", "time="+f[1]); status != 2 || !strings.Contains(errs, "--axis time") {
		t.Errorf("a number as axis: status %d, %s", status, errs)
	}
}

// TestInsertText inserts elements that differ in length, from two files and along both
// axes.
func TestInsertText(t *testing.T) {
	node := newNode(t, "--shape", "2,2", "--dtype", "string", "--chunks", "[[1,1],[1,1]]")
	must(t, `[["a","bb"],["","ccc"]]`, "write", node, "--format", "json")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		overwrite(t, path, text)
		return path
	}
	must(t, "", "insert", node, "--axis", "0", "--at", "1", "--format", "json", file("rows.json", `[["x","yy"]]`))
	one, two := file("one.json", `[["1"],["2"],["3"]]`), file("two.json", `[["4"],["5"],["6"]]`)
	must(t, "", "insert", node, "--axis", "1", "--at", "2", "--format", "json", one, two)
	want := `[["a","bb","1","4"],["x","yy","2","5"],["","ccc","3","6"]]`
	if out := must(t, "", "export", node, "--format", "json"); strings.Join(strings.Fields(out), "") != want {
		t.Errorf("%s, want %s", out, want)
	}
}

// TestGraceOfCommands gives each command that rechunks a grace, more often than there are
// sets of chunk keys. Without one, the message says what helps, and a dry run works.
func TestGraceOfCommands(t *testing.T) {
	group := window(t)
	node := group + "/t2m"
	grace := []string{"--grace", "0s"}
	for i, args := range [][]string{
		{"compact", node, "--to", "max:59"}, {"rechunk", node, "--chunks", "[[30,60],1]"}, {"compact", node, "--to", "max:90"},
		{"drop", group, "--axis", "time", "--range", "80:", "--yes"}, {"regularize", node, "--chunks", "7,2"}, {"rechunk", node, "--chunks", "[[40,40],2]"},
		{"drop", group, "--axis", "time", "--range", "70:", "--yes"},
	} {
		if out := must(t, "", append(args, grace...)...); i > 0 && !strings.Contains(out, "of superseded grids deleted first") {
			t.Errorf("%q: %s", args, out)
		}
	}
	if a, b := elementsAt(t, group+"/time", "69"), elementsAt(t, node, "69"); a != "69" || b != "[138,139]" {
		t.Errorf("%s %s", a, b)
	}
	for _, n := range []string{"2", "3"} {
		must(t, "", "rechunk", node, "--chunks", n+",2")
	}
	day := func(grace time.Duration) string { return time.Now().UTC().Add(grace).Format("2006-01-02") }
	for _, c := range []struct {
		grace time.Duration
		args  []string
	}{
		{rechunk.DefaultGrace, []string{"rechunk", node, "--chunks", "4,2"}}, {7 * 24 * time.Hour, []string{"rechunk", node, "--chunks", "4,2", "--grace", "7d"}},
		{14 * 24 * time.Hour, []string{"compact", node, "--to", "max:9", "--grace", "2w"}}, {rechunk.DefaultGrace, []string{"drop", node, "--alone", "--unlock", "--range", "0:1"}},
	} {
		args := c.args
		for _, text := range []string{day(c.grace), "varve vacuum " + node + " --grace 0s (or --grace) frees it now", "nothing can show that none is left"} {
			refuses(t, text, args...)
		}
		out, errs, status := execute(t, "", append(args, "--dry-run")...)
		if status != 0 || !strings.Contains(out, "nothing was changed") || !strings.Contains(errs, "no chunk keys are free") {
			t.Errorf("%q: a dry run: %d %s %s", args, status, out, errs)
		}
	}
	if plan := decode(t, must(t, "", "rechunk", node, "--chunks", "4,2", "--dry-run", "--json")); !strings.Contains(fmt.Sprint(plan["blocked"]), "no chunk keys") {
		t.Error(plan)
	}
	if _, errs, status := execute(t, "", "rechunk", node, "--chunks", "4,2", "--dry-run", "--grace", "0"); status != 0 || errs != "" {
		t.Errorf("a dry run of what frees keys: %d %s", status, errs)
	}
	for _, args := range [][]string{{"--grace", "-1s"}, {"--grace", "day"}, {"--grace", "1h", "--plan", "p.json"}} {
		if _, errs, status := execute(t, "", append([]string{"compact", node, "--to", "max:9"}, args...)...); status != 2 || !strings.Contains(errs, "--grace") {
			t.Errorf("%q: %d %s", args, status, errs)
		}
	}
	if _, errs, status := execute(t, "", "rechunk", node, filepath.Join(t.TempDir(), "new"), "--grace", "1h"); status != 2 || !strings.Contains(errs, "--grace") {
		t.Errorf("a new array: %d %s", status, errs)
	}
}

// TestDropSelected drops what a selection names, by position and by coordinate values.
func TestDropSelected(t *testing.T) {
	group := window(t)
	must(t, "", "attrs", group+"/time", "set", "units", `"days since 2001-01-01"`)
	must(t, "", "drop", group, "--select", "time=..2001-01-31", "--yes")
	if a, b := elementsAt(t, group+"/time", "0"), elementsAt(t, group+"/t2m", "0"); a != "31" || b != "[62,63]" {
		t.Errorf("%s %s", a, b)
	}
	must(t, "", "drop", group, "--select", "time=1:3", "--yes")
	if a, b := elementsAt(t, group+"/time", "0:2"), elementsAt(t, group+"/t2m", "1"); a != "[31,34]" || b != "[68,69]" {
		t.Errorf("%s %s", a, b)
	}
	before := must(t, "", "info", group+"/time", "--json")
	for _, c := range []struct {
		args   []string
		status int
		words  string
	}{
		{[]string{"time=1:3,x=0"}, 1, "one range of one dimension"}, {[]string{"time=::2"}, 1, "one range of one dimension"},
		{[]string{`{"orthogonal": {"time": [1, 3, 1]}}`}, 2, "one range of one dimension"},
		{[]string{"time=3"}, 1, "one range of one dimension"}, {[]string{"time=2:1"}, 1, "one range of one dimension"},
		{[]string{"y=0:1"}, 1, "the dimensions are time, x"}, {[]string{"time=..2000-01-01"}, 0, "nothing to drop"},
		{[]string{"0:1"}, 2, "--select time=0:31"}, {[]string{"time=0:1", "--range", "0:1"}, 2, "takes the place of --axis and --range"},
	} {
		if _, errs, status := execute(t, "", append([]string{"drop", group, "--yes", "--select"}, c.args...)...); status != c.status || !strings.Contains(errs, c.words) {
			t.Errorf("%q: %d %s", c.args, status, errs)
		}
	}
	if is := must(t, "", "info", group+"/time", "--json"); is != before {
		t.Errorf("%s\nbefore: %s", is, before)
	}
}

// TestRollingWindow appends an hour to a group and drops the oldest one, more often than
// there are chunk keys. The field has a chunk for each hour, and the coordinate has one
// regular chunk. Programs that know regular grids only continue to read the coordinate.
// The arrays can also be read if the group has consolidated metadata.
func TestRollingWindow(t *testing.T) {
	for name, consolidated := range map[string]bool{"plain": false, "consolidated": true} {
		t.Run(name, func(t *testing.T) { rollWindow(t, consolidated) })
	}
}

func rollWindow(t *testing.T, consolidated bool) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	must(t, "", "create", group+"/t2m", "--shape", "6,2", "--dtype", "int16", "--chunks", "[[1,1,1,1,1,1],2]", "--dimension-names", "time,x")
	must(t, "", "create", group+"/time", "--shape", "6", "--dtype", "int32", "--chunks", "512", "--dimension-names", "time")
	must(t, numbers(0, 12), "write", group+"/t2m", "--format", "json")
	must(t, numbers(0, 6), "write", group+"/time", "--format", "json")
	if consolidated {
		must(t, "", "consolidate", group)
	}
	for hour := 6; hour < 26; hour++ {
		f := files(t, fmt.Sprintf("[[%d,%d]]", 2*hour, 2*hour+1), fmt.Sprintf("[%d]", hour))
		must(t, "", "append", group, "t2m="+f[0], "time="+f[1])
		must(t, "", "drop", group, "--axis", "time", "--range", "0:1", "--expect", "7", "--grace", "0s", "--yes")
		want := strings.Join(strings.Fields(numbers(hour-5, 6)), "")
		if got := elementsAt(t, group+"/time", ""); got != want {
			t.Fatalf("hour %d: %s, want %s", hour, got, want)
		}
		if got := elementsAt(t, group+"/t2m", "0,0"); got != fmt.Sprint(2*(hour-5)) {
			t.Fatalf("hour %d: %s", hour, got)
		}
	}
	if a, b := chunkShapes(t, group+"/time"), chunkShapes(t, group+"/t2m"); a != "every [512]" || b != "[[[1,6]],2]" {
		t.Errorf("%s %s", a, b)
	}
	must(t, "", "check", group)
	must(t, "", "equal", group, group)
	must(t, "", "diff", group, group)
	must(t, "", "vacuum", group, "--grace", "0s", "--yes")
	if dirs, err := filepath.Glob(filepath.Join(group, "*", "[c0-9]*")); err != nil || len(dirs) > 8 {
		t.Errorf("left %q (%v)", dirs, err)
	}
}
