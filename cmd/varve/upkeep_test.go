// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpkeep expires commits and collects garbage, and changes nothing in dry runs and
// without --yes.
func TestUpkeep(t *testing.T) {
	dir, main := repositoryWithArray(t)
	do(t, "", "create", main+"/b", "--shape", "6000", "--dtype", "int8", "--chunks", "[[6000]]", "--codecs", `[{"name":"bytes"}]`)
	for _, value := range []string{"1", "2", "3"} {
		do(t, "", "write", main+"/b", "--value", value, "--yes")
	}
	must(t, "", "icechunk", "tag", dir, "v1")
	do(t, "", "write", main+"/b", "--value", "4", "-m", "last", "--yes")
	before := treeOf(t, dir)
	for _, line := range []string{
		"icechunk gc DIR --dry-run --older-than 0s", "icechunk expire DIR --before 2100-01-01 --dry-run", "icechunk check DIR", "icechunk stats DIR",
	} {
		args := strings.Fields(strings.ReplaceAll(line, "DIR", dir))
		must(t, "", args...)
		decode(t, must(t, "", append(args, "--json")...))
	}
	refusesAll(t, dir, map[string]string{
		"icechunk gc " + dir + " --older-than 0s":                              "give --yes",
		"icechunk expire " + dir + " --before 2100-01-01":                      "give --yes",
		"icechunk expire " + dir:                                               "needs --older-than or --before",
		"icechunk expire " + dir + " --older-than 1d --before 2100":            "no time such as",
		"icechunk expire " + dir + " --older-than 1d --before 2100-01-01":      "exclude each other",
		"icechunk gc " + main:                                                  "about the whole repository",
		"icechunk check " + dir + " --restore H7T8YA6KR5TH32F3PS10":            "need each other",
		"icechunk check " + dir + " --restore H7T8YA6KR5TH32F3PS10 --branch x": "no such reference",
		"icechunk check " + dir + " --restore x --branch x":                    "no ID of a snapshot",
		"icechunk stats " + dir + "2":                                          "nothing is here",
	})
	if treeOf(t, dir) != before {
		t.Error("something was changed")
	}
	out := must(t, "", "icechunk", "expire", dir, "--before", "2100-01-01", "--yes")
	if !strings.Contains(out, ": 5 expired") {
		t.Error(out)
	}
	out = must(t, "", "icechunk", "expire", dir, "--before", "2100-01-01", "--yes")
	if !strings.Contains(out, ": 0 expired") {
		t.Error(out)
	}
	out = must(t, "", "icechunk", "gc", dir, "--yes")
	if !strings.Contains(out, "0 objects deleted") || !strings.Contains(out, "younger than --older-than") {
		t.Error(out)
	}
	counts := decode(t, must(t, "", "icechunk", "gc", dir, "--older-than", "0s", "--dry-run", "--json"))["deleted"]
	done := decode(t, must(t, "", "icechunk", "gc", dir, "--older-than", "0s", "--yes", "--json"))
	if got, want := fmt.Sprint(done["deleted"]), fmt.Sprint(counts); got != want || !strings.Contains(got, "chunks:map[bytes:12000 objects:2]") {
		t.Errorf("deleted %s, and a dry run said %s", got, want)
	}
	if log := must(t, "", "icechunk", "log", main); strings.Count(log, "\n") != 3 || !strings.Contains(log, "last") {
		t.Error(log)
	}
	must(t, "", "check", main)
	must(t, "", "check", "icechunk+file://"+dir+"@tag:v1")
	stats := must(t, "", "icechunk", "stats", dir)
	for _, want := range []string{"branch main: 3 commits, 2 arrays, 1 group", "tag v1: 2 commits", "native chunks: 2, 12 KiB", "chunks/: 2 objects"} {
		if !strings.Contains(stats, want) {
			t.Errorf("%s lacks %s", stats, want)
		}
	}
}

// TestUpkeepCheck names damage and a commit that was overwritten, and restores that.
func TestUpkeepCheck(t *testing.T) {
	dir, main := repositoryWithArray(t)
	old, err := os.ReadFile(dir + "/repo")
	if err != nil {
		t.Fatal(err)
	}
	do(t, "[7,8,9]", "write", main+"/a", "--format", "json", "-m", "lost")
	must(t, "", "icechunk", "tag", dir, "v1")
	if err := os.WriteFile(dir+"/repo", old, 0o666); err != nil {
		t.Fatal(err)
	}
	out, _, status := execute(t, "", "icechunk", "check", dir, "--json")
	found := decode(t, out)["overwritten"].([]any)
	if status != 1 || len(found) != 1 || found[0].(map[string]any)["message"] != "lost" {
		t.Fatalf("status %d, %s", status, out)
	}
	id := found[0].(map[string]any)["snapshot"].(string)
	out, _, status = execute(t, "", "icechunk", "check", dir)
	if want := "--restore " + id + " --branch NAME"; status != 1 || !strings.Contains(out, want) {
		t.Errorf("status %d, %s, want %s", status, out, want)
	}
	if out = must(t, "", "icechunk", "check", dir, "--backups", "0"); !strings.Contains(out, "no damage") {
		t.Error(out)
	}
	must(t, "", "icechunk", "check", dir, "--restore", id, "--branch", "back")
	must(t, "", "icechunk", "check", dir)
	if got := strings.TrimSpace(must(t, "", "export", "icechunk+file://"+dir+"@back/a", "--format", "json")); got != "[7,8,9]" {
		t.Error(got)
	}
	names, err := filepath.Glob(dir + "/manifests/*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if err := os.Truncate(name, 60); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, status := execute(t, "", "icechunk", "check", dir)
	if status != 1 || !strings.Contains(out, "damaged: manifests/") || !strings.Contains(errs, "in "+dir) {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	objects := func() string {
		names, err := filepath.Glob(dir + "/*/*")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, "\n")
	}
	before := objects() // the time of the folder changes
	if _, errs, status := execute(t, "", "icechunk", "gc", dir, "--older-than", "0s", "--yes"); status != 1 || !strings.Contains(errs, "manifests/") {
		t.Errorf("status %d, %s", status, errs)
	}
	if after := objects(); after != before {
		t.Errorf("gc has left\n%s\nof\n%s", after, before)
	}
}
