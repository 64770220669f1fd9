// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// merged returns an array of six elements in chunks of one, merged by twos.
func merged(t *testing.T) string {
	t.Helper()
	node := newNode(t, "--shape", "6", "--dtype", "int16", "--chunks", "[[[1,6]]]", "--compressor", "none")
	must(t, numbers(0, 6), "write", node, "--format", "json")
	must(t, "", "compact", node, "--to", "max:2")
	return node
}

func TestVacuumCommand(t *testing.T) {
	node := merged(t)
	if out := must(t, "", "vacuum", node, "--yes"); !strings.Contains(out, "5 values superseded") || !strings.Contains(out, "kept: readers may") || !strings.Contains(out, "0 B freed") {
		t.Error(out)
	}
	// A temporary file of an unknown writer stays, and is reported.
	overwrite(t, filepath.Join(node, "__tmp-0000000000001"), "half")
	dry := decode(t, must(t, "", "vacuum", node, "--grace", "0", "--dry-run", "--json"))
	items := dry["items"].([]any)
	if len(items) != 2 || dry["bytes_freed"] != 10.0 || items[1].(map[string]any)["kind"] != "temporary" || items[1].(map[string]any)["bytes"] != 4.0 {
		t.Errorf("%v", dry)
	}
	out := must(t, "", "vacuum", node, "--grace", "0", "--yes")
	if !strings.Contains(out, "10 B freed") {
		t.Error(out)
	}
	if _, err := os.Stat(filepath.Join(node, "c")); !os.IsNotExist(err) {
		t.Error(err)
	}
	if out := must(t, "", "export", node, "--format", "json"); strings.Join(strings.Fields(out), "") != "[0,1,2,3,4,5]" {
		t.Error(out)
	}
}

// TestRevertRefused reverts where there is no former grid, after a vacuum and in arrays
// that never had one, and twice. The message says what became of the grid, and that no
// element is lost.
func TestRevertRefused(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	for _, name := range []string{"x", "y"} {
		must(t, "", "create", group+"/"+name, "--shape", "6", "--dtype", "int16", "--chunks", "[[[1,6]]]")
		must(t, "", "write", group+"/"+name, "--value", "3")
	}
	gone := []string{"its former grid has been removed by a vacuum", "nothing is lost, the present grid has all elements", "varve rechunk gives them any other grid"}
	refused := func(node string, parts ...string) {
		t.Helper()
		_, errs, status := execute(t, "", "revert", node)
		for _, part := range parts {
			if status != 1 || !strings.Contains(errs, part) || strings.Contains(errs, "one by one") {
				t.Errorf("%s: status %d, %s\nlacks %s", node, status, errs, part)
			}
		}
	}
	refused(group, gone...)
	refused(group+"/x", gone...)
	must(t, "", "compact", group, "--to", "max:2")
	must(t, "", "vacuum", group, "--grace", "0", "--yes")
	refused(group, gone...)
	refused(group+"/x", gone...)
	must(t, "", "compact", group, "--to", "max:6")
	must(t, "", "revert", group)
	for _, node := range []string{group, group + "/x"} {
		refused(node, "the last change of the grid was a revert, which is not reverted; repeat what it has undone")
	}
}

// TestClaimed meets a rechunk that failed. revert names both commands that help, and
// another rechunk gives it up.
func TestClaimed(t *testing.T) {
	node := newNode(t, "--shape", "4", "--dtype", "int16", "--chunks", "[[[1,4]]]", "--compressor", "none")
	must(t, numbers(0, 4), "write", node, "--format", "json")
	overwrite(t, filepath.Join(node, "c", "3"), "x")
	if _, stderr, status := execute(t, "", "compact", node, "--to", "max:4"); status != 1 || !strings.Contains(stderr, "c/3") {
		t.Fatal(status, stderr)
	}
	_, stderr, status := execute(t, "", "revert", node)
	for _, part := range []string{"(compact) since", "the same compact finishes it, varve vacuum "} {
		if status != 1 || !strings.Contains(stderr, part) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%d %s\nlacks %q", status, stderr, part)
		}
	}
	overwrite(t, filepath.Join(node, "c", "3"), "\x03\x00")
	must(t, "", "rechunk", node, "--chunks", "2")
	if _, err := os.Stat(filepath.Join(node, "__varve", "regrid.json")); !os.IsNotExist(err) {
		t.Errorf("a claim is left: %v", err)
	}
}

// TestVacuumGroup vacuums all arrays of a group. One that cannot be vacuumed does not
// keep the others from it.
func TestVacuumGroup(t *testing.T) {
	group := window(t)
	must(t, "", "compact", group, "--axis", "time", "--to", "max:90")
	dry := decode(t, must(t, "", "vacuum", group, "--grace", "0", "--dry-run", "--json"))
	if dry["bytes_freed"].(float64) <= 0 || len(dry["arrays"].([]any)) != 3 {
		t.Error(dry)
	}
	if _, errs, status := execute(t, "", "vacuum", group, "--grace", "0"); status != 2 || !strings.Contains(errs, "--yes") {
		t.Errorf("without --yes: %d %s", status, errs)
	}
	record := filepath.Join(group, "t2m", "__varve", "grids", "000009-0123456789abcdef.json")
	overwrite(t, record, "{}")
	out, errs, status := execute(t, "", "vacuum", group, "--grace", "0", "--yes")
	if status != 1 || !strings.Contains(errs, "t2m") || !strings.Contains(errs, "000009") || !strings.Contains(out, "/time  ") || strings.Contains(out, "/t2m  ") {
		t.Errorf("%d %s\n%s", status, errs, out)
	}
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	out = must(t, "", "vacuum", group, "--grace", "0", "--yes")
	if strings.Contains(out, "/time  0 B freed") == false || strings.Contains(out, "/t2m  0 B freed") {
		t.Error(out)
	}
	for _, name := range []string{"time", "t2m"} {
		refuses(t, "no rechunk to revert", "revert", group+"/"+name)
	}
}

// TestAbandonGroup gives up what a failed command has left in the arrays of a group.
func TestAbandonGroup(t *testing.T) {
	group := window(t)
	for _, chunk := range []string{"t2m/c/1/0", "time/c/1"} {
		overwrite(t, filepath.Join(group, filepath.FromSlash(chunk)), "x")
	}
	compact := []string{"compact", group, "--axis", "time", "--to", "max:90"}
	drop := []string{"drop", group, "--axis", "time", "--range", "40:41", "--yes"}
	refuses(t, "c/1", drop...)
	refuses(t, "c/1", compact...) // and not that it is claimed
	refuses(t, "c/1", drop...)
	must(t, "", "vacuum", group, "--give-up", "--yes")
	refuses(t, "c/1", compact...)
	must(t, "", "vacuum", group, "--abandon", "--yes") // as it was called first
	if help := must(t, "", "vacuum", "--help"); strings.Contains(help, "--abandon") || !strings.Contains(help, "--give-up") {
		t.Errorf("the help says %s", help)
	}
	if _, err := os.Stat(filepath.Join(group, "t2m", "__varve")); !os.IsNotExist(err) {
		t.Errorf("left over: %v", err)
	}
}

// TestRevertGroup reverts what one command has changed in a group.
func TestRevertGroup(t *testing.T) {
	group := window(t)
	refuses(t, "no rechunk to revert", "revert", group)
	must(t, "", "compact", group, "--axis", "time", "--to", "calendar:month", "--start", "2001-01-01", "--step", "1d")
	must(t, "", "compact", group, "--axis", "time", "--to", "max:60")
	must(t, "", "drop", group, "--axis", "time", "--range", "10:40", "--yes")
	facts := decode(t, must(t, "", "revert", group, "--json"))
	if arrays := facts["arrays"].([]any); len(arrays) != 2 || arrays[0].(map[string]any)["changed"] != true {
		t.Error(facts)
	}
	if a, b := elementsAt(t, group+"/time", "39:42"), elementsAt(t, group+"/t2m", "40"); a != "[39,40,41]" || b != "[80,81]" {
		t.Errorf("%s %s", a, b)
	}
	refuses(t, "the last change of the grid was a revert", "revert", group)

	other := window(t)
	must(t, "", "compact", other, "--axis", "time", "--to", "max:90")
	must(t, "", "compact", other+"/time", "--to", "[90]")
	if out := must(t, "", "revert", other); strings.Count(out, "31") == 0 || chunkShapes(t, other+"/t2m") != "[[31,28,31],2]" {
		t.Error(out)
	}
}

// TestDamagedRecords damages each file that a rechunk keeps below __varve, after one
// that was finished and after one that failed, in every way. No command loses an element;
// each works, or fails and names the file or a rechunk, and a command that helps.
func TestDamagedRecords(t *testing.T) {
	racing.Skip(t) // one command after the other
	damages := map[string]func(b []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"garbage": func([]byte) []byte { return []byte("\x01\xffgarbage") },
		"newer":   func([]byte) []byte { return []byte(`{"version": 99, "format": 99, "varve": 99}`) },
	}
	build := func(t *testing.T, failed bool) (node string, files []string) {
		node = filepath.Join(t.TempDir(), "a.zarr")
		must(t, "", "create", node, "--shape", "6", "--dtype", "int16", "--chunks", "[[[1,6]]]", "--compressor", "none")
		must(t, "", "write", node, "--value", "3")
		if failed {
			overwrite(t, filepath.Join(node, "c", "5"), "?")
			refuses(t, "c/5", "compact", node, "--to", "max:2")
			overwrite(t, filepath.Join(node, "c", "5"), "\x03\x00")
		} else {
			must(t, "", "compact", node, "--to", "max:2")
		}
		for name := range readAll(t, filepath.Join(node, "__varve")) {
			files = append(files, filepath.Join(node, "__varve", name))
		}
		slices.Sort(files)
		return node, files
	}
	for _, failed := range []bool{false, true} {
		whole, files := build(t, failed)
		for i := range files {
			for what, damage := range damages {
				for _, args := range [][]string{
					{"cat"}, {"check"}, {"append", "--axis", "0", "--format", "json"}, {"compact", "--to", "max:3"},
					{"vacuum", "--grace", "0", "--yes"}, {"vacuum", "--grace", "0", "--give-up", "--yes"}, {"revert"},
				} {
					node, file := filepath.Join(t.TempDir(), "a.zarr"), files[i]
					if args[0] == "revert" && !failed { // it compares the versions of files
						var again []string
						node, again = build(t, failed)
						file = again[i] // there is one of each kind
					} else {
						if err := os.CopyFS(node, os.DirFS(whole)); err != nil {
							t.Fatal(err)
						}
						file = filepath.Join(node, strings.TrimPrefix(file, whole))
					}
					spoil(t, file, damage)
					_, errs, status := execute(t, "[3]", append([]string{args[0], node}, args[1:]...)...)
					named := strings.Contains(errs, filepath.Base(file)) || strings.Contains(errs, "rechunk")
					if at := filepath.Base(files[i]); status > 1 || status == 1 && (!named || args[0] != "check" && !strings.Contains(errs, "varve ")) || strings.Contains(errs, "delete") {
						t.Errorf("%s of a failed one %t is %s: %q: status %d, %s", at, failed, what, args, status, errs)
					}
					if out := strings.Fields(strings.Trim(strings.TrimSpace(must(t, "", "cat", node)), "[]")); strings.Trim(strings.Join(out, ""), "3") != "" || len(out) < 6 {
						t.Errorf("%s %s %q: the elements are %q", filepath.Base(files[i]), what, args, out)
					}
					if args[0] == "check" && status == 1 && strings.Contains(errs, "inspect") {
						t.Errorf("the check ended: %s", errs)
					}
				}
			}
		}
	}
}

// TestGiveUpReport gives up what a failed command has staged: the dry run says what the
// command does, and the report says what it has done.
func TestGiveUpReport(t *testing.T) {
	node := newNode(t, "--shape", "400", "--dtype", "int16", "--chunks", "[[[1,400]]]", "--compressor", "none")
	must(t, numbers(1, 400), "write", node, "--format", "json")
	overwrite(t, filepath.Join(node, "c", "399"), "x")
	refuses(t, "c/399", "compact", node, "--to", "max:2", "--memory", "1KiB")
	if out := must(t, "", "vacuum", node, "--dry-run"); !strings.Contains(out, " staged, such as") || !strings.Contains(out, "kept: staged by a rechunk") {
		t.Fatal(out)
	}
	dry := decode(t, must(t, "", "vacuum", node, "--give-up", "--dry-run", "--json"))
	done := decode(t, must(t, "", "vacuum", node, "--give-up", "--yes", "--json"))
	if freed := done["bytes_freed"].(float64); freed <= 0 || dry["bytes_freed"] != freed || fmt.Sprint(dry["items"]) != fmt.Sprint(done["items"]) {
		t.Errorf("%v\n%v", dry, done)
	}
	if again := must(t, "", "vacuum", node, "--give-up", "--yes"); !strings.Contains(again, "0 B freed") {
		t.Error(again)
	}
}

// TestDamagedClaim damages the claim of a rechunk. Every command that needs it names the
// one that helps, which asks first, and after it the array can be rechunked.
func TestDamagedClaim(t *testing.T) {
	for _, damaged := range []string{"", `{"id": "00`, "null and void"} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		node := group + "/a"
		must(t, "", "create", node, "--shape", "6", "--dtype", "int32", "--chunks", "[[2,2,2]]")
		must(t, "[1,2,3,4,5,6]", "write", node, "--format", "json")
		overwrite(t, node+"/__varve/regrid.json", damaged)
		for _, args := range [][]string{{"vacuum", node}, {"compact", node, "--to", "max:6"}, {"rechunk", node, "--chunks", "3"}, {"drop", node, "--axis", "0", "--range", "0:1", "--yes"}, {"revert", node}, {"check", node}, {"check", group}} {
			out, errs, status := execute(t, "", args...)
			if text := out + errs; status != 1 || !strings.Contains(text, "__varve/regrid.json is damaged") || !strings.Contains(text, "varve vacuum "+node+" --give-up gives up that rechunk") {
				t.Errorf("%q: %q: status %d, %s", damaged, args, status, text)
			}
		}
		if out, _, _ := execute(t, "", "check", node, "--json"); !strings.Contains(out, `"repair": "varve vacuum `+node+` --give-up deletes it; the elements are all there"`) {
			t.Error(out)
		}
		before := treeOf(t, group)
		if out := must(t, "", "vacuum", node, "--give-up", "--dry-run"); !strings.Contains(out, "regrid.json, 0 B: would be deleted") || treeOf(t, group) != before {
			t.Error(out)
		}
		if _, errs, status := execute(t, "", "vacuum", node, "--give-up"); status != 2 || !strings.Contains(errs, "--yes") || treeOf(t, group) != before {
			t.Errorf("status %d, %s", status, errs)
		}
		must(t, "", "vacuum", node, "--give-up", "--yes")
		must(t, "", "check", group)
		must(t, "", "compact", node, "--to", "max:6")
		if got := must(t, "", "export", node, "--format", "json"); got != "[1,2,3,4,5,6]\n" {
			t.Error(got)
		}
	}
}

// crashed leaves n temporary files of a crashed writer in a folder of a local store.
func crashed(t *testing.T, root, folder string, n int) {
	t.Helper()
	const id = "0123456789abc"
	overwrite(t, filepath.Join(root, "__tmp-writers", id), "another boot\n"+folder+"\n")
	for i := range n {
		overwrite(t, filepath.Join(root, folder, fmt.Sprintf("__tmp-%s-%d", id, i)), "half")
	}
}

// TestCrashedWriters lets a writer crash. The next copy, sync and conversion remove its
// temporary files; check names the first ones; and vacuum deletes and counts what its dry
// run says.
func TestCrashedWriters(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, "", "create", at("a.zarr/a"), "--shape", "6", "--dtype", "int16", "--chunks", "2")
	must(t, "", "write", at("a.zarr/a"), "--value", "3", "--yes")
	left := func(node string) int {
		names, err := filepath.Glob(at(node + "/a/__tmp-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	must(t, "", "copy", at("a.zarr"), at("m.zarr"))
	crashed(t, at("m.zarr"), "a", 5)
	if out := must(t, "", "check", at("m.zarr")); strings.Count(out, "temporary file, 4 B") != 3 || !strings.Contains(out, "\n… 2 more\n5 temporary files with 20 B") {
		t.Error(out)
	}
	for _, command := range [][]string{
		{"copy", at("a.zarr"), at("m.zarr"), "--sync"}, {"copy", at("a.zarr/a"), at("m.zarr/b")},
		{"convert", at("a.zarr/a"), at("m.zarr/c"), "--to", "3"}, {"convert", at("m.zarr"), "--to", "3"},
	} {
		crashed(t, at("m.zarr"), "a", 5)
		must(t, "", append(command, "--dry-run")...)
		if n := left("m.zarr"); n != 5 {
			t.Errorf("%q: a dry run left %d of 5", command, n)
		}
		must(t, "", command...)
		if n := left("m.zarr"); n != 0 {
			t.Errorf("%q left %d", command, n)
		}
	}
	for _, node := range []string{"a.zarr", "a.zarr/a"} {
		crashed(t, at("a.zarr"), "a", 5)
		dry := decode(t, must(t, "", "vacuum", at(node), "--dry-run", "--json"))
		if n := left("a.zarr"); n != 5 {
			t.Errorf("%s: a dry run left %d of 5", node, n)
		}
		did := decode(t, must(t, "", "vacuum", at(node), "--yes", "--json"))
		if n := left("a.zarr"); n != 0 || dry["bytes_freed"] != 20.0 || did["bytes_freed"] != 20.0 {
			t.Errorf("%s: %d left, %v, %v", node, n, dry, did)
		}
	}
}
