// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/manual"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/racing"
)

// notRun are the beginnings of examples that a test cannot run, with the reason.
var notRun = map[string]string{
	"python3 -c \"import numpy":      "makes the files that newScriptFolder makes",
	"varve run p.json --script":      "TestScripts runs it, with the commands of schedulers",
	"varve run p.json --runner beam": "it needs the program varve-beam; TestRunner runs it",
	"varve run s3://bucket/p.json":   "there is no bucket; TestPlanInStore and TestTakingJobs have some",
	"QUEUE=q":                        "TestScripts runs it",
	"varve bench":                    "measures for seconds",
	"varve serve":                    "runs until a signal; TestServe of package serving has it",
	"varve view":                     "the same",
	"varve demo":                     "has its own tests, and takes seconds",
	"varve copy https":               "needs a network",
	"source <(varve completion":      "needs a shell",
	"varve conformance":              "prints millions of lines",
	"varve icechunk":                 "needs a repository",
	"varve revert":                   "needs a rechunk before it",
	"make ":                          "builds and tests everything",
	"go install":                     "installs the command",
}

// TestExamples runs every example of the help in a copy of one folder.
func TestExamples(t *testing.T) {
	racing.Skip(t)
	fixture := newExampleFolder(t)
	for _, c := range append(newRoot().Commands(), newRoot(), newHelpCommand()) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			// varve run needs a plan, and the tasks before it: documents have these.
			if line = strings.TrimSpace(line); line != "" && !isNotRun(line) && !strings.HasPrefix(line, "varve run ") {
				runExample(t, fixture, c, line)
			}
		}
	}
	for _, topic := range manual.Topics() {
		for line := range strings.Lines(topic.Examples) {
			if line = strings.TrimSpace(line); !isNotRun(line) {
				runExample(t, fixture, newRoot(), line)
			}
		}
	}
}

func isNotRun(line string) bool {
	for begin := range notRun {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// runExample runs one line of a shell, without variables, in a copy of a folder.
func runExample(t *testing.T, fixture string, c *cobra.Command, line string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x")
	if err := os.CopyFS(dir, os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	stdin := ""
	if before, after, ok := strings.Cut(line, " | "); ok {
		data, err := os.ReadFile(strings.TrimPrefix(before, "cat "))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		stdin, line = string(data), after
	}
	args := shellWords(line)
	if args[0] != "varve" {
		t.Fatalf("%s is no command of varve", line)
	}
	if (c.Name() == "create" || c.Name() == "varve") && args[1] == "create" { // what is created is not there yet
		if err := os.RemoveAll(args[2]); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(line, "archive.vz") && !strings.Contains(line, "--concat") { // a copy of it would have other times
		must(t, "", "virtualize", "data/2026-09.nc", "data/2026-10.nc", "--concat", "time", "-o", "archive.vz")
	}
	if _, errs, status := execute(t, stdin, args[1:]...); status != 0 {
		t.Errorf("%s: status %d, %s", line, status, errs)
	}
}

// shellWords splits a line as a shell does, as far as examples need it.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// newExampleFolder makes what the examples name.
func newExampleFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	monthlyFiles(t, dir)
	if err := os.CopyFS(filepath.Join(dir, "years"), os.DirFS(foreign(t, "yearly_padded_0*.nc"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	node := func(node string, args ...string) { must(t, "", append([]string{"create", node}, args...)...) }
	node("era5.zarr", "--group", "--attributes", `{"Conventions": "CF-1.12"}`)
	node("era5.zarr/t2m", "--shape", "1826,36,72", "--dtype", "float32", "--chunks", "calendar:month", "--start", "2020-01-01", "--step", "1d",
		"--dimension-names", "time,lat,lon", "--attributes", `{"units": "K"}`)
	node("era5.zarr/time", "--shape", "1826", "--dtype", "int64", "--chunks", "calendar:month", "--start", "2020-01-01", "--step", "1d", "--dimension-names", "time", "--attributes", `{"units": "days since 2020-01-01"}`)
	must(t, numbers(0, 1826), "write", "era5.zarr/time", "--format", "json")
	node("era5.zarr/lat", "--shape", "36", "--dtype", "int16", "--dimension-names", "lat")
	must(t, numbers(-18, 36), "write", "era5.zarr/lat", "--format", "json")
	node("era5.zarr/lon", "--shape", "72", "--dtype", "int16", "--dimension-names", "lon")
	must(t, numbers(0, 72), "write", "era5.zarr/lon", "--format", "json")
	node("era5.zarr/mask", "--shape", "36,72", "--dtype", "int8", "--dimension-names", "lat,lon")
	node("era5.zarr/tp", "--shape", "60,36,72", "--dtype", "float32", "--shards", "30,36,72", "--chunks", "1,36,72", "--dimension-names", "step,lat,lon")
	must(t, "", "write", "era5.zarr/tp", "--select", ":5", "--value", "1")
	for _, array := range []string{"time", "sst"} {
		node("buoys.zarr/"+array, "--shape", "3", "--dtype", "float32", "--dimension-names", "time")
	}
	node("station.zarr", "--shape", "10,2", "--dtype", "float32", "--dimension-names", "time,sensor")
	for _, name := range []string{"all.zarr", "segment-0.zarr", "segment-1.zarr"} {
		for _, array := range []string{"time", "value"} {
			node(name+"/"+array, "--shape", "3", "--dtype", "int32", "--chunks", "[[3]]", "--dimension-names", "time")
		}
	}
	for _, name := range []string{"old.zarr", "new.zarr"} {
		node(name, "--group", "--zarr-format", "2")
		node(name+"/t2m", "--shape", "6,4", "--dtype", "float32")
	}
	for name, c := range map[string]npy.Header{
		"readings.npy": {Type: dtype.Float32, Shape: []int64{3, 2}}, "days/1.npy": {Type: dtype.Float32, Shape: []int64{1, 2}},
		"days/2.npy": {Type: dtype.Float32, Shape: []int64{1, 2}}, "mask.npy": {Type: dtype.Bool, Shape: []int64{36, 72}},
		"day.npy": {Type: dtype.Float32, Shape: []int64{24, 36, 72}}, "t2m.npy": {Type: dtype.Float32, Shape: []int64{31, 36, 72}},
		"time.npy": {Type: dtype.Int64, Shape: []int64{31}}, "keep.npy": {Type: dtype.Bool, Shape: []int64{36}},
	} {
		n, _ := c.Bytes()
		data := make([]byte, n)
		if name == "time.npy" {
			for i := range 31 {
				data[8*i], data[8*i+1] = byte((1826+i)&255), byte((1826+i)>>8)
			}
		}
		file, err := os.ReadFile(npyFile(t, c, data))
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, name, string(file))
	}
	salesTables(t, ".")
	must(t, "", "create", "orders.zarr", "--from", "sales.parquet")
	overwrite(t, "readings.raw", fmt.Sprintf("%16s", ""))
	return dir
}
