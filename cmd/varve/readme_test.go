// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/racing"
)

// TestDocumentsAreScripts runs the shell blocks of each document in order, in a folder
// that has only the input files.
func TestDocumentsAreScripts(t *testing.T) {
	racing.Skip(t)
	if testing.Short() {
		t.Skip("writes hundreds of megabytes")
	}
	for name, least := range map[string]int{"README.md": 20, "docs/jobs.md": 8, "docs/terminal.md": 31, "docs/growth.md": 8, "docs/integrity.md": 13, "docs/pyramids.md": 7, "docs/statistics.md": 8, "docs/conventions.md": 4, "docs/archives.md": 16, "tools/wheel/description.md": 5} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", name))
			if err != nil {
				t.Fatal(err)
			}
			newScriptFolder(t)
			if name == "README.md" { // which makes its data and its array itself
				if err := os.RemoveAll("data"); err != nil {
					t.Fatal(err)
				}
			} else {
				must(t, "", "create", "regular.zarr/t2m", "--shape", "60,4", "--dtype", "float32", "--chunks", "30,4")
			}
			host := httptest.NewServer(http.FileServer(http.Dir(".")))
			defer host.Close()
			ran := 0
			for _, line := range scriptOf(string(text)) {
				if !isNotRun(line) {
					runScriptLine(t, strings.ReplaceAll(line, "https://example.org", host.URL))
					ran++
				}
			}
			if ran < least {
				t.Errorf("%d commands ran, want at least %d: the blocks are not found", ran, least)
			}
		})
	}
}

// scriptOf returns the commands in the shell blocks of a document, without comments. A
// backslash at the end of a line continues a command, as in a shell.
func scriptOf(document string) []string {
	document = strings.ReplaceAll(document, "\\\n", " ")
	var script []string
	in := false
	for line := range strings.SplitSeq(document, "\n") {
		if strings.HasPrefix(line, "```") {
			in = line == "```sh"
			continue
		}
		if line, _, _ = strings.Cut(line, " # "); in && strings.TrimSpace(line) != "" {
			script = append(script, strings.TrimSpace(line))
		}
	}
	return script
}

func runScriptLine(t *testing.T, line string) {
	t.Helper()
	args := shellWords(line)
	if args[0] != "varve" {
		t.Errorf("%s is no command of varve: give a reason in notRun", line)
		return
	}
	if _, errs, status := execute(t, "", args[1:]...); status != 0 {
		t.Errorf("%s: status %d, %s", line, status, errs)
	}
}

// newScriptFolder makes the input that the documents name, in the working directory.
func newScriptFolder(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	monthlyFiles(t, dir)
	t.Chdir(dir)
	float := dtype.Float32
	for name, days := range map[string]int64{"day.npy": 1, "january.npy": 31, "days.npy": 31} {
		sparseNPY(t, name, npy.Header{Type: float, Shape: []int64{days, 721, 1440}})
	}
	daysNPY(t, "time.npy", 0, 365)
	daysNPY(t, "times.npy", 0, 31)
	daysNPY(t, "day-time.npy", 365, 1)
	newOldFolder(t)
	for node, fields := range map[string]string{
		"stations.zarr":     `[["name", "<U8"], ["lat", "<f4"]]`,
		"table.zarr/events": `[["time", "<M8[s]"], ["text", "<U8"]]`,
	} {
		must(t, "", "create", node, "--shape", "3", "--dtype", fields)
	}
}

// newOldFolder makes old.zarr, of format 2 with times and packed values, and old.zip of
// the same.
func newOldFolder(t *testing.T) {
	t.Helper()
	must(t, "", "create", "old.zarr", "--group", "--zarr-format", "2")
	node := func(name string, args ...string) {
		must(t, "", append([]string{"create", "old.zarr/" + name, "--zarr-format", "2"}, args...)...)
	}
	packed := `{"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -1}`
	for _, name := range []string{"t2m", "sst"} {
		node(name, "--shape", "10,6,7", "--dtype", "int16", "--chunks", "4,6,7", "--dimension-names", "time,lat,lon", "--attributes", packed)
		must(t, "", "write", "old.zarr/"+name, "--select", ":5", "--value", "7")
	}
	node("time", "--shape", "10", "--dtype", "int32", "--dimension-names", "time", "--attributes", `{"units": "days since 2024-12-24"}`)
	must(t, numbers(0, 10), "write", "old.zarr/time", "--format", "json")
	node("lat", "--shape", "6", "--dtype", "int32", "--dimension-names", "lat", "--attributes", `{"units": "degrees_north"}`)
	must(t, "[-25,-15,-5,5,15,25]", "write", "old.zarr/lat", "--format", "json")
	must(t, "", "copy", "old.zarr", "old.zip")
}

// sparseNPY makes a file of zeros that is sparse on most file systems.
func sparseNPY(t *testing.T, name string, h npy.Header) {
	t.Helper()
	head := h.Append(nil)
	overwrite(t, name, string(head))
	n, ok := h.Bytes()
	if !ok || n > 1<<30 {
		t.Fatalf("%s has %d bytes", name, n)
	}
	if err := os.Truncate(name, int64(len(head))+n); err != nil {
		t.Fatal(err)
	}
}

// daysNPY makes a file of n whole numbers from first.
func daysNPY(t *testing.T, name string, first, n int) {
	t.Helper()
	h := npy.Header{Type: dtype.Int32, Shape: []int64{int64(n)}}
	data := h.Append(nil)
	for i := range n {
		data = append(data, byte(first+i), byte((first+i)>>8), 0, 0)
	}
	overwrite(t, name, string(data))
}
