// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archive creates a group with two fields and a coordinate of ten days from 2024-02-20
// on.
func archive(t *testing.T) string {
	t.Helper()
	group := filepath.Join(t.TempDir(), "g.zarr")
	coordinateNode(t, group+"/time", "10", "days since 2024-02-20", numbers(0, 10))
	names := []string{"--dimension-names", "time,x"}
	must(t, "", append([]string{"create", group + "/t2m", "--shape", "10,2", "--dtype", "int16", "--chunks", "[[4,6],2]"}, names...)...)
	must(t, "", append([]string{"create", group + "/deep/wind", "--shape", "10,2", "--dtype", "int8", "--chunks", "[4,2]"}, names...)...)
	return group
}

// files writes JSON into files and returns their names.
func files(t *testing.T, content ...string) []string {
	t.Helper()
	names := make([]string, len(content))
	for i, text := range content {
		names[i] = filepath.Join(t.TempDir(), "values.json")
		overwrite(t, names[i], text)
	}
	return names
}

func TestAppendTogether(t *testing.T) {
	group := archive(t)
	f := files(t, "[[1,2],[3,4],[5,6]]", "[[1,2],[3,4],[5,6]]", numbers(10, 3))
	inputs := []string{"t2m=" + f[0], "/deep/wind=" + f[1], "time=" + f[2]}
	out := decode(t, must(t, "", append([]string{"append", group + "/", "--grow", "calendar:month", "--time", "time", "--expect", "10", "--json"}, inputs...)...))
	want := "[map[chunk_sizes:[[[4 1] [6 1] [3 1]] [[2 1]]] path:t2m shape:[13 2] shape_before:[10 2]] " +
		"map[chunk_sizes:[[[4 3] [1 1]] [[2 1]]] path:deep/wind shape:[13 2] shape_before:[10 2]] " +
		"map[chunk_sizes:[[[10 1] [3 1]]] path:time shape:[13] shape_before:[10]]]"
	if got := fmt.Sprint(out["arrays"]); got != want || out["path"] != group+"/" {
		t.Error(out)
	}
	for name, want := range map[string]string{"t2m": "[[4,6,31],2]", "deep/wind": "every [4,2]", "time": "[[10,31]]"} {
		if got := chunkShapes(t, group+"/"+name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if got := must(t, "", "export", group+"/t2m", "--select", "10:", "--format", "json"); got != "[[1,2],[3,4],[5,6]]\n" {
		t.Error(got)
	}
	// The same again, as after a lost answer.
	_, errs, status := execute(t, "", append([]string{"append", group, "--expect", "10", "--json"}, inputs...)...)
	facts, _ := decode(t, errs)["error"].(map[string]any)
	if status != 1 || facts["kind"] != "conflict" || !strings.Contains(errs, "[13 2]") {
		t.Errorf("status %d, %s", status, errs)
	}
	text := must(t, numbers(13, 3), append([]string{"append", group, "--format", "json"}, inputs[0], inputs[1], "time=-")...)
	if want := group + "/t2m  13 × 2 → 16 × 2\n"; !strings.HasPrefix(text, want) || strings.Count(text, "\n") != 3 {
		t.Error(text)
	}
}

// TestGroupAppendFiles appends several files to each array of a group, given by
// patterns and by repeated names.
func TestGroupAppendFiles(t *testing.T) {
	group, dir := archive(t), t.TempDir()
	for day := range 11 {
		overwrite(t, filepath.Join(dir, fmt.Sprintf("t2m-%d.json", day)), fmt.Sprintf("[[%d,%d]]", day, day))
		overwrite(t, filepath.Join(dir, fmt.Sprintf("time-%d.json", day)), numbers(10+day, 1))
	}
	out := decode(t, must(t, "", "append", group, "--alone", "--expect", "10", "--json",
		"t2m="+filepath.Join(dir, "t2m-*.json"), "time="+filepath.Join(dir, "time-*.json")))
	want := "[map[chunk_sizes:[[[4 1] [6 1] [1 11]] [[2 1]]] path:t2m shape:[21 2] shape_before:[10 2]] " +
		"map[chunk_sizes:[[[10 1] [1 11]]] path:time shape:[21] shape_before:[10]]]"
	if got := fmt.Sprint(out["arrays"]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := must(t, "", "export", group+"/t2m", "--select", "10:,0", "--format", "json"); got != "[0,1,2,3,4,5,6,7,8,9,10]\n" {
		t.Error("not in natural order:", got)
	}
	if got := chunkShapes(t, group+"/t2m"); got != "[[4,6,[1,11]],2]" {
		t.Error("a file is no chunk of its own:", got)
	}
	f := files(t, "[[1,2]]", "[[3,4]]", numbers(21, 1), "nonsense")
	_, errs, status := execute(t, "", "append", group, "--alone", "t2m="+f[0], "t2m="+f[1], "time="+f[2], "time="+f[3])
	if status != 1 || !strings.Contains(errs, "the first of 2 files of each array is already appended") {
		t.Errorf("status %d, %s", status, errs)
	}
	if got := must(t, "", "info", group+"/t2m"); !strings.Contains(got, "22 × 2") {
		t.Error(got)
	}
}

// TestGroupAppendAtomic appends inputs of which one does not fit. No array may
// change.
func TestGroupAppendAtomic(t *testing.T) {
	group := archive(t)
	for name, c := range map[string]struct {
		t2m, wind, time string
		args            []string
		want            string
	}{
		"other shape":     {"[[1,2]]", "[[1,2,3]]", "[10]", nil, "does not continue shape"},
		"other type":      {"[[1,2]]", "[[1,300]]", "[10]", nil, "300"},
		"more of one":     {"[[1,2]]", "[[1,2],[3,4]]", "[10]", nil, `dimension "time" would grow by 1 in t2m and by 2 in deep/wind`},
		"nothing":         {"[[1,2]]", "[[1,2]]", "[]", nil, "no values were given"},
		"times that fall": {"[[1,2]]", "[[1,2]]", "[3]", []string{"--grow", "calendar:month", "--time", "time"}, "times must increase"},
		"edges that do not fit": {"[[1,2]]", "[[1,2]]", "[10]",
			[]string{"--grow", "calendar:month", "--start", "2024-02-21", "--step", "1d"}, "end at element 10"},
		"a plan that is too short": {"[[1,2],[1,2]]", "[[1,2],[1,2]]", "[10,11]", []string{"--grow", "preplanned:[1]"}, "1 element before the extent"},
		"other length":             {"[[1,2]]", "[[1,2]]", "[10]", []string{"--expect", "11"}, "[11"},
		"no coordinate":            {"[[1,2]]", "[[1,2]]", "[10]", []string{"--grow", "calendar:month", "--time", "times"}, "times"},
		"not the time":             {"[[1,2]]", "[[1,2]]", "[10]", []string{"--grow", "calendar:month", "--time", "deep/wind"}, "a coordinate must have one axis"},
	} {
		f := files(t, c.t2m, c.wind, c.time)
		args := append([]string{"append", group, "t2m=" + f[0], "deep/wind=" + f[1], "time=" + f[2]}, c.args...)
		out, errs, status := execute(t, "", args...)
		if status != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.want) || !strings.Contains(errs, group) {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
		for array, want := range map[string]string{"t2m": "[10 2]", "deep/wind": "[10 2]", "time": "[10]"} {
			if got := decode(t, must(t, "", "info", "--json", group+"/"+array)); fmt.Sprint(got["shape"]) != want {
				t.Errorf("%s: %s has shape %v", name, array, got["shape"])
			}
		}
	}
}

// TestGroupAppendIrregularTimes appends times without a constant step.
func TestGroupAppendIrregularTimes(t *testing.T) {
	group := archive(t)
	f := files(t, "[[1,2],[3,4],[5,6]]", "[12,13,45]")
	must(t, "", "append", group, "t2m="+f[0], "time="+f[1], "--grow", "calendar:month", "--time", "time")
	if got := chunkShapes(t, group+"/t2m"); got != "[[4,6,2,26],2]" {
		t.Error(got)
	}
	regular := files(t, "[[1,2]]")[0]
	_, errs, status := execute(t, "", "append", group, "deep/wind="+regular, "--grow", "fixed:3")
	if status != 1 || !strings.Contains(errs, "unlock") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestAppendFileWithEqualsSign appends to an array from a file whose name looks like the
// input of a group.
func TestAppendFileWithEqualsSign(t *testing.T) {
	node := newNode(t, "--shape", "1", "--dtype", "int8", "--chunks", "[[1]]")
	file := filepath.Join(t.TempDir(), "day=1.json")
	overwrite(t, file, "[5]")
	must(t, "", "append", node, file)
	if got := must(t, "", "cat", node); got != "[0 5]\n" {
		t.Error(got)
	}
}

// TestAppendNamesWhatIsLeft appends groups and files with more arrays than the group that
// grows. What is not appended is named.
func TestAppendNamesWhatIsLeft(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"to", "one", "two", "same"} {
		group := filepath.Join(dir, name)
		must(t, "", "create", group, "--group")
		createNoted(t, group+"/t", "--shape", "2,2", "--dtype", "int8", "--dimension-names", "time,x")
		switch name {
		case "one":
			createNoted(t, group+"/v", "--shape", "2,2", "--dtype", "int8", "--dimension-names", "time,x")
			createNoted(t, group+"/deep/w", "--shape", "2", "--dtype", "int8", "--dimension-names", "time")
		case "two":
			createNoted(t, group+"/crs", "--shape", "", "--dtype", "int8")
		}
	}
	to, one, two := dir+"/to", dir+"/one", dir+"/two"
	_, errs, status := execute(t, "", "append", to, one, two, "--axis", "time")
	if status != 0 || strings.Count(errs, "is not appended: ") != 1 || !strings.Contains(errs, "and 1 other source have") {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, name := range []string{"v", "deep/", "crs"} {
		if !strings.Contains(errs, name) {
			t.Errorf("%s is not named: %s", name, errs)
		}
	}
	out := must(t, "", "append", to, two, "--axis", "time", "--json")
	if notes := fmt.Sprint(decode(t, out)["notes"]); !strings.Contains(notes, "is not appended: crs;") {
		t.Errorf("notes %s", notes)
	}
	must(t, "", "append", to, dir+"/same", "--axis", "time")
	for _, array := range []string{"v", "crs"} {
		if _, err := os.Stat(to + "/" + array); err == nil {
			t.Errorf("%s is there", array)
		}
	}
}

// TestAppendPathWithEquals appends a group whose path has an equals sign. As an argument
// of a group it is NAME=FILE, unless it begins like a path.
func TestAppendPathWithEquals(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, group := range []string{"g.zarr", "year=2026"} {
		must(t, "", "create", group, "--group")
		must(t, "", "create", group+"/a", "--shape", "2", "--dtype", "int8", "--chunks", "2", "--dimension-names", "t")
	}
	for i, source := range []string{"./year=2026", "../" + filepath.Base(dir) + "/year=2026", dir + "/year=2026", "file://" + dir + "/year=2026"} {
		must(t, "", "append", "g.zarr", source)
		if out := must(t, "", "info", "g.zarr/a"); !strings.Contains(out, fmt.Sprint(2*i+4)) {
			t.Errorf("after %s: %s", source, out)
		}
	}
	if _, errs, status := execute(t, "", "append", "g.zarr", "year=2026"); status != 1 || !strings.Contains(errs, "give ./year=2026") {
		t.Errorf("status %d, %s", status, errs)
	}
}
