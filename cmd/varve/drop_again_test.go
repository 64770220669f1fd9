// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/store/azure/azuretest"
)

// TestDropAgain repeats drops of ranges of coordinate values, of a group and of an array.
// The second has nothing to do, and says so. So has a range in which no element ever was.
func TestDropAgain(t *testing.T) {
	racing.Skip(t)
	for _, c := range []struct{ sel, after string }{
		{"time=..2020-01-10", "80"},
		{"time=2020-01-05..2020-01-08", "86"},
		{"time=2020-02", "61"},
		{"time=2020-03-01..", "60"},
		{"time=..2020-12-31", "0"},
		{"time=2021-01-01..", "90"},
		{"time=..2019", "90"},
		{"lat=..-5", "90"},
	} {
		g := calendarGroup(t)
		must(t, numbers(0, 40), "write", g+"/lat", "--format", "json", "-")
		for run := range 3 {
			args := []string{"drop", g, "--select", c.sel, "--grace", "0s", "--unlock", "--yes"}
			if run == 2 {
				args = append(args, "--json")
			}
			out, stderr, status := execute(t, "", args...)
			if status != 0 {
				t.Fatalf("%s, run %d: status %d, %s", c.sel, run, status, stderr)
			}
			idle := run > 0 || c.after == "90"
			if told := strings.Contains(stderr+out, "nothing to drop: "); told != idle || strings.Count(stderr+out, "nothing to drop") > 1 {
				t.Errorf("%s, run %d: %s%s", c.sel, run, out, stderr)
			}
			if got := must(t, "", "info", g+"/first"); !strings.Contains(got, "("+c.after+",") && !strings.Contains(got, c.after+" × 40") {
				t.Errorf("%s, run %d: %s, want %s", c.sel, run, got, c.after)
			}
		}
	}
	// Without --yes there is no question if there is nothing to do.
	g := calendarGroup(t)
	if _, stderr, status := execute(t, "", "drop", g+"/first", "--select", "time=..2019", "--alone"); status != 0 || !strings.Contains(stderr, "nothing to drop") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// TestDropRanges gives ranges that drop cannot take. Each message says how to write it.
func TestDropRanges(t *testing.T) {
	g := calendarGroup(t)
	for line, want := range map[string]string{
		"--range :":                      "give at least one end",
		"--range 5":                      "or one, as in :31 or 31:",
		"--range 5:3":                    "ends before it begins",
		"--range a:b":                    "give two positions",
		"--range 0:91":                   "there are 90",
		"":                               "say what to drop",
		"--select time=2020-01-05":       "such as time=2020-01-05..2020-01-05",
		"--select time=2019-01-05":       "such as time=2019-01-05..2019-01-05",
		"--select time=5":                "such as time=5:6",
		"--select time=2020-02..2020-01": "ends before it begins",
	} {
		args := append([]string{"drop", g, "--axis", "time", "--yes"}, strings.Fields(line)...)
		if strings.Contains(line, "--select") {
			args = append([]string{"drop", g, "--yes"}, strings.Fields(line)...)
		}
		if _, stderr, status := execute(t, "", args...); status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d, %s, want %q", line, status, stderr, want)
		}
	}
	for line, want := range map[string]string{":31": "59", "31:": "31", "0:": "0"} {
		g := calendarGroup(t)
		must(t, "", "drop", g, "--axis", "time", "--range", line, "--yes", "--unlock")
		if got := must(t, "", "info", g+"/first"); !strings.Contains(got, want+" × 40") {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// TestDropAtOnce drops and inserts planes again and again in a store without locks. Each
// command deletes the grid before, and so the record of what the one before has moved.
// That is no conflict with another program.
func TestDropAtOnce(t *testing.T) {
	_, endpoint := azuretest.Serve(t)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=acme;AccountKey="+azuretest.Key+";BlobEndpoint="+endpoint)
	const group = "az://acme/box/g.zarr"
	for name, chunks := range map[string]string{"a": "[[2,2,2,2,2,2,2,2]]", "b": "[[4,4,4,4]]"} {
		must(t, "", "create", group+"/"+name, "--shape", "16", "--dtype", "int32", "--chunks", chunks, "--dimension-names", "time")
		must(t, numbers(1, 16), "write", group+"/"+name, "--format", "json")
	}
	a := group + "/a"
	for _, line := range []string{
		"drop GROUP --axis time --range 0:1", "drop GROUP --axis time --range 0:1", "drop A --axis 0 --range 0:2 --alone", "drop A --axis 0 --range 0:2 --alone", "compact A --to max:4", "drop A --axis 0 --range 0:1 --alone", "insert A --at 0 --alone x.json",
		"drop A --axis 0 --range 0:2 --alone", "regularize A --chunks 3", "drop A --axis 0 --range 0:1 --alone",
	} {
		args := strings.Fields(strings.NewReplacer("GROUP", group, "A", a, "x.json", writeInput(t, t.TempDir(), []byte{7, 0, 0, 0})).Replace(line))
		args = append(args, "--grace", "0s")
		if args[0] == "drop" {
			args = append(args, "--yes")
		}
		if _, errs, status := execute(t, "", args...); status != 0 {
			t.Fatalf("%q: %s", args, errs)
		}
	}
	for name, want := range map[string]string{"a": numbers(10, 7), "b": numbers(3, 14)} {
		if got := must(t, "", "export", group+"/"+name, "--format", "json"); strings.TrimSpace(got) != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
