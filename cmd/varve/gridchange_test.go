// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// monthly makes an array of 60 rows in three chunks of different lengths.
func monthly(t *testing.T) (node string) {
	t.Helper()
	node = filepath.Join(t.TempDir(), "a.zarr", "x")
	must(t, "", "create", node, "--shape", "60,100", "--dtype", "int32", "--chunks", "[[10,20,30],25]")
	values := make([]string, 6000)
	for i := range values {
		values[i] = fmt.Sprint(i * i)
	}
	must(t, "["+strings.Join(values, ",")+"]", "write", node, "--format", "json", "--select", "")
	return node
}

// TestRechunkInto makes new arrays beside one that stays.
func TestRechunkInto(t *testing.T) {
	node := monthly(t)
	dir := filepath.Dir(filepath.Dir(node))
	before := must(t, "", "info", node, "--json")
	for to, args := range map[string][]string{
		"b.zarr/y":   {"rechunk", "--chunks", "30,30"},
		"c.zip":      {"rechunk", "--shards", "60,50", "--chunks", "[[10,20,30],25]"},
		"d.zarr":     {"regularize", "--chunks", "30,25"},
		"a.zarr/g/y": {"rechunk", "--chunks", "1,100", "--memory", "16KiB"},
		"e.zarr":     {"rechunk"},
	} {
		to := filepath.Join(dir, filepath.FromSlash(to))
		args := append([]string{args[0], node, to}, args[1:]...)
		if strings.HasSuffix(to, ".zip") {
			args[6] = "10,25" // inner chunks have one shape
		}
		if out := decode(t, must(t, "", append(args, "--dry-run", "--json")...)); out["target"] != to || out["dry_run"] != true {
			t.Errorf("%q: %v", args, out)
		}
		if _, err := os.Lstat(to); err == nil {
			t.Fatalf("a dry run made %s", to)
		}
		must(t, "", args...)
		must(t, "", "equal", node, to)
		if out := must(t, "", "check", to, "--json"); !strings.Contains(out, `"found": []`) {
			t.Errorf("%s: %s", to, out)
		}
		if _, errs, status := execute(t, "", args...); status != 1 || !strings.Contains(errs, "something already") && !strings.Contains(errs, "written once") {
			t.Errorf("a second time: status %d, %s", status, errs)
		}
	}
	if after := must(t, "", "info", node, "--json"); after != before {
		t.Errorf("the source has changed: %s", after)
	}
	if _, errs, status := execute(t, "", "rechunk", filepath.Dir(node), filepath.Join(dir, "f.zarr")); status != 1 || !strings.Contains(errs, "is a group") {
		t.Errorf("a group: status %d, %s", status, errs)
	}
}

// TestIntoUsualKeys makes a new array of one whose keys a rechunk has changed. It has
// the usual keys.
func TestIntoUsualKeys(t *testing.T) {
	dir := t.TempDir()
	for format, want := range map[string]string{"3": "map[configuration:map[separator:/] name:default]", "2": "map[configuration:map[separator:.] name:v2]"} {
		node := filepath.Join(dir, format+".zarr")
		must(t, "", "create", node, "--shape", "6,6", "--dtype", "int8", "--chunks", "2,2", "--zarr-format", format, "--fill", "0")
		must(t, "", "write", node, "--value", "7")
		must(t, "", "rechunk", node, "--chunks", "3,3")
		keys := func(node string) string {
			return fmt.Sprint(decode(t, must(t, "", "info", node, "--json"))["chunk_key_encoding"])
		}
		must(t, "", "rechunk", node, node+".new.zarr", "--chunks", "2,3")
		if is, was := keys(node+".new.zarr"), keys(node); is != want || was == want {
			t.Errorf("format %s: keys %s after %s, want %s", format, is, was, want)
		}
		must(t, "", "equal", node, node+".new.zarr")
	}
}

// TestIntoItself refuses a new array in the folder of the old one, also through links.
func TestIntoItself(t *testing.T) {
	node := monthly(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(node, "c"), link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	before := filesBelow(t, node)
	for _, to := range []string{node, node + "/b", node + "/c/0", node + "/c/0/b.zarr", link + "/b.zarr", link + "/0/new/b", node + "/new.zip"} {
		for _, dry := range []string{"--dry-run=false", "--dry-run"} {
			refuses(t, "choose another place", "rechunk", node, to, "--chunks", "7,7", dry)
		}
	}
	if after := filesBelow(t, node); !slices.Equal(after, before) {
		t.Errorf("left over: %q, before %q", after, before)
	}
	for _, dir := range []string{"b", "c/0/b.zarr", "c/0/new"} {
		if _, err := os.Lstat(filepath.Join(node, dir)); err == nil {
			t.Errorf("the folder %s was made", dir)
		}
	}
}

// TestRechunkHistory compacts, reverts, regularizes and vacuums an array. Its values
// stay.
func TestRechunkHistory(t *testing.T) {
	node := monthly(t)
	want := must(t, "", "export", node, "--format", "json")
	for _, args := range [][]string{
		{"compact", node, "--to", "max:30"},
		{"revert", node},
		{"rechunk", node, "--fill", "4", "--chunk-key-encoding", "v2."},
		{"vacuum", node, "--grace", "0s", "--yes"},
		{"compact", node, "--to", "align:60"},
		{"rechunk", node, "--chunks", "20,25", "--shards", "60,100"},
		{"regularize", node},
		{"vacuum", node, "--grace", "0s", "--yes"},
		{"rechunk", node, "--shards", "none"},
		{"vacuum", node, "--grace", "0s", "--yes"},
	} {
		must(t, "", args...)
		if got := must(t, "", "export", node, "--format", "json"); got != want {
			t.Fatalf("after %q: %.100s", args, got)
		}
	}
	if out := must(t, "", "check", node, "--json"); !strings.Contains(out, `"found": []`) {
		t.Error(out)
	}
}

// TestRunPlan executes a plan in parts. A part that is too early is refused, and names
// what is missing.
func TestRunPlan(t *testing.T) {
	node := monthly(t)
	dir := t.TempDir()
	want := must(t, "", "export", node, "--format", "json")
	for _, args := range [][]string{
		{"rechunk", node, filepath.Join(dir, "b.zarr"), "--chunks", "1,100"},
		{"compact", node, "--to", "max:30"},
		{"regularize", node},
		{"rechunk", node, "--shards", "60,100", "--chunks", "10,25"},
	} {
		name, file := args[0], filepath.Join(dir, args[0]+".json")
		before := must(t, "", "info", node, "--json")
		out := decode(t, must(t, "", append(args, "--memory", "64KiB", "--plan", file, "--json")...))
		if must(t, "", "info", node, "--json") != before || out["requests"] == nil {
			t.Errorf("%s: a plan has changed the array, or says too little: %v", name, out)
		}
		stages := len(out["stages"].([]any)) - 1
		refused := func(args ...string) {
			t.Helper()
			if _, errs, status := execute(t, "", append([]string{"run", file}, args...)...); status != 1 || !strings.Contains(errs, "not complete") || !strings.Contains(errs, "task") {
				t.Errorf("%s: %q: status %d, %s", name, args, status, errs)
			}
		}
		if stages > 0 { // regularize needs none
			refused("--publish")
		}
		for s := range stages {
			stage := fmt.Sprint(s)
			must(t, "", "run", file, "--stage", stage, "--task", "1/3")
			refused("--publish")
			for _, task := range []string{"0/3", "2/3", "0/3"} {
				must(t, "", "run", file, "--stage", stage, "--task", task)
			}
		}
		must(t, "", "run", file, "--publish")
		for _, n := range []string{node, out["path"].(string)} {
			if got := must(t, "", "export", n, "--format", "json"); got != want {
				t.Errorf("%s: %s has %.100s", name, n, got)
			}
		}
	}
	for args, want := range map[string]string{"--task 3/3": "K/N", "--task x": "K/N", "--task 0/2 --publish": "executes no tasks"} {
		if _, errs, status := execute(t, "", append([]string{"run", filepath.Join(dir, "regularize.json")}, strings.Fields(args)...)...); status != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", args, status, errs)
		}
	}
	if _, errs, status := execute(t, "", "run", filepath.Join(node, "zarr.json")); status != 1 || !strings.Contains(errs, "no plan") {
		t.Errorf("no plan: status %d, %s", status, errs)
	}
}

// TestPrices says what a plan costs.
func TestPrices(t *testing.T) {
	node, file := monthly(t), filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(file, []byte(`{"currency": "EUR", "per_1000_requests": {"get": 10, "put": 100}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	out := decode(t, must(t, "", "rechunk", node, "--chunks", "60,100", "--dry-run", "--prices", file, "--json"))
	requests, cost := out["requests"].(map[string]any), out["cost"].(map[string]any)
	want := requests["get"].(float64)*0.01 + requests["put"].(float64)*0.1
	if got := cost["total"].(float64); math.Abs(got-want) > 1e-9 || cost["currency"] != "EUR" {
		t.Errorf("%v for %v, want %g", cost, requests, want)
	}
}

// TestRunDrop executes the plan of a drop, which drops only once.
func TestRunDrop(t *testing.T) {
	node, file := monthly(t), filepath.Join(t.TempDir(), "p.json")
	want := must(t, "", "export", node, "--format", "json", "--select", "15:")
	must(t, "", "drop", node, "--range", "0:15", "--plan", file)
	must(t, "", "run", file, "--stage", "0")
	must(t, "", "run", file, "--publish")
	if got := must(t, "", "export", node, "--format", "json"); got != want {
		t.Errorf("%.100s", got)
	}
	if _, errs, status := execute(t, "", "run", file); status != 1 || !strings.Contains(errs, "make the plan again") {
		t.Errorf("a second time: status %d, %s", status, errs)
	}
}

// TestRegularizeProposes regularizes arrays of daily appends. Chunks become longer than
// those of a day, and a note says why, for one array and for a group.
func TestRegularizeProposes(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	for _, name := range []string{"day", "large"} {
		plane := map[string]string{"day": "10,10", "large": "200,2000"}[name]
		must(t, "", "create", group+"/"+name, "--shape", "400,"+plane, "--dtype", "float32", "--chunks", "[[[1,400]],"+plane+"]")
	}
	must(t, "", "write", group+"/day", "--value", "2")
	want := "g.zarr/day: chunks of 400 × 10 × 10: 156 KiB each, a multiple of the 1 × 10 × 10 that most elements have; --chunks chooses others"
	for _, args := range [][]string{{group + "/day", "--dry-run"}, {group, "--dry-run"}, {group}} {
		_, errs, status := execute(t, "", append([]string{"regularize"}, args...)...)
		if status != 0 || !strings.Contains(errs, want) || strings.Contains(errs, "large") {
			t.Errorf("%q: %d %s", args, status, errs)
		}
	}
	if a, b := chunkShapes(t, group+"/day"), chunkShapes(t, group+"/large"); a != "every [400,10,10]" || b != "every [1,200,2000]" {
		t.Errorf("%s %s", a, b)
	}
	if _, errs, status := execute(t, "", "regularize", group); status != 0 || errs != "" {
		t.Errorf("again: %d %s", status, errs)
	}
}

// TestRechunkLongText rechunks texts that exceed the memory: the message names the flag
// that helps.
func TestRechunkLongText(t *testing.T) {
	dir := t.TempDir()
	node, texts := filepath.Join(dir, "a.zarr"), filepath.Join(dir, "texts.json")
	long := `"` + strings.Repeat("x", 1<<20) + `"`
	if err := os.WriteFile(texts, []byte("["+strings.Repeat(long+",", 7)+long+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "", "create", node, "--shape", "8", "--dtype", "string", "--chunks", "8")
	must(t, "", "write", node, texts)
	rechunk := []string{"rechunk", node, filepath.Join(dir, "b.zarr"), "--chunks", "3"}
	_, errs, status := execute(t, "", append(rechunk, "--memory", "2MiB")...)
	if status != 1 || !strings.Contains(errs, "chunk [0] (c/0)") || !strings.HasSuffix(errs, "give more (--memory)\n") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", append(rechunk, "--memory", "64MiB")...)
	must(t, "", "equal", node, filepath.Join(dir, "b.zarr"))
}
