// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
)

// newDays writes files day-1.npy to day-12.npy, each with a row of its own number, and
// returns their folder.
func newDays(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := 1; i <= 12; i++ {
		name := npyFile(t, npy.Header{Type: dtype.Int8, Shape: []int64{1, 2}}, []byte{byte(i), byte(i)})
		if err := os.Rename(name, filepath.Join(dir, fmt.Sprintf("day-%d.npy", i))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// firstColumn returns the first column of an array as JSON.
func firstColumn(t *testing.T, node string) string {
	t.Helper()
	return strings.TrimSpace(must(t, "", "export", node, "--format", "json", "--select", ":,0"))
}

func TestAppendFiles(t *testing.T) {
	dir := newDays(t)
	day := func(i int) string { return filepath.Join(dir, fmt.Sprintf("day-%d.npy", i)) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{filepath.Join(dir, "*.npy")}, "[0,1,2,3,4,5,6,7,8,9,10,11,12]"},
		{[]string{filepath.Join(dir, "day-?.npy"), day(12)}, "[0,1,2,3,4,5,6,7,8,9,12]"},
		{[]string{day(10), day(2)}, "[0,10,2]"},
		{[]string{day(3)}, "[0,3]"},
		{[]string{day(3), day(3)}, "[0,3,3]"},
		{[]string{day(3), day(4), "--expect", "1,2"}, "[0,3,4]"},
	} {
		node := newNode(t, "--shape", "1,2", "--dtype", "int8", "--chunks", "[[1],2]")
		out := must(t, "", append([]string{"append", node}, c.args...)...)
		if got := firstColumn(t, node); got != c.want || strings.Count(out, "\n") != 1 || !strings.Contains(out, "1 × 2 → ") {
			t.Errorf("%q: %s, %s", c.args, got, out)
		}
		n := strings.Count(c.want, ",") + 1
		if got := chunkShapes(t, node); expanded(t, got) != expanded(t, fmt.Sprintf("[[[1,%d]],2]", n)) {
			t.Errorf("%q: chunks %s", c.args, got)
		}
	}
	node := newNode(t, "--shape", "1,2", "--dtype", "int8")
	facts := decode(t, must(t, "", "append", node, day(1), day(2), "--json"))
	files, _ := facts["files"].([]any)
	if len(files) != 2 || files[1].(map[string]any)["file"] != day(2) || !slices.Equal(facts["shape"].([]any), []any{3.0, 2.0}) {
		t.Error(facts)
	}
}

// TestAppendFilesRefused checks that nothing changes if a file is known to be wrong at
// the start, and that other errors say which files were appended.
func TestAppendFilesRefused(t *testing.T) {
	dir := newDays(t)
	good, bad, late := filepath.Join(dir, "day-1.npy"), filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.json")
	overwrite(t, filepath.Join(dir, "short.raw"), "abc")
	overwrite(t, late, "[[1]]")
	if err := os.Rename(npyFile(t, npy.Header{Type: dtype.Int8, Shape: []int64{1, 3}}, []byte{1, 2, 3}), bad); err != nil {
		t.Fatal(err)
	}
	node := newNode(t, "--shape", "1,2", "--dtype", "int8")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{good, bad}, "x.npy has shape [1 3]"},
		{[]string{good, filepath.Join(dir, "absent.npy")}, "absent.npy"},
		{[]string{good, filepath.Join(dir, "short.raw")}, "short.raw has 3 bytes"},
		{[]string{filepath.Join(dir, "*.zzz")}, "no file matches"},
		{[]string{good, dir}, "no Zarr node"},
	} {
		_, errs, status := execute(t, "", append([]string{"append", node}, c.args...)...)
		if status != 1 || !strings.Contains(errs, c.want) || strings.Contains(errs, "appended") || firstColumn(t, node) != "[0]" {
			t.Errorf("%q: status %d, %s", c.args, status, errs)
		}
	}
	for _, more := range [][]string{nil, {"--json"}} {
		node := newNode(t, "--shape", "1,2", "--dtype", "int8")
		_, errs, status := execute(t, "", append([]string{"append", node, good, good, late, good}, more...)...)
		if status != 1 || !strings.Contains(errs, "y.json") || !strings.Contains(errs, "the first 2 of 4 files are already appended") || firstColumn(t, node) != "[0,1,1]" {
			t.Errorf("status %d, %s", status, errs)
		}
	}
}

// TestAppendNodes appends arrays of other stores, and writes and creates from them.
func TestAppendNodes(t *testing.T) {
	for _, typ := range []struct{ name, values string }{{"int16", "[[1,2],[3,4],[5,6]]"}, {"string", `[["a","b"],["cc",""],["d","e"]]`}, {">f4", "[[1.5,2.0],[3.0,4.0],[5.0,6.0]]"}} {
		source := newNode(t, "--shape", "3,2", "--dtype", typ.name, "--chunks", "2")
		must(t, typ.values, "write", source, "--format", "json")
		group := filepath.Join(t.TempDir(), "g.zarr")
		node := group + "/a"
		must(t, "", "create", group, "--group")
		must(t, "", "create", node, "--shape", "0,2", "--dtype", typ.name)
		must(t, "", "append", node, source, source)
		must(t, "", "append", group, "a="+source)
		must(t, "", "write", node, source, "--select", "3:6")
		zipped := filepath.Join(t.TempDir(), "z.zip")
		must(t, "", "copy", source, zipped+"/in")
		must(t, "", "append", node, zipped+"/in")
		inner := strings.TrimSuffix(strings.TrimPrefix(typ.values, "["), "]")
		want := "[" + strings.Join([]string{inner, inner, inner, inner}, ",") + "]\n"
		if got := must(t, "", "export", node, "--format", "json"); got != want {
			t.Errorf("%s: %s", typ.name, got)
		}
	}
	node, other := newNode(t, "--shape", "1", "--dtype", "int8"), newNode(t, "--shape", "1", "--dtype", "int16")
	if _, errs, status := execute(t, "", "append", node, other); status != 1 || !strings.Contains(errs, "elements of type int16") {
		t.Errorf("status %d, %s", status, errs)
	}
}
