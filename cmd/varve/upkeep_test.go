// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

// TestUpkeepTemporary counts temporary files of writers that have crashed, and deletes
// the old ones.
func TestUpkeepTemporary(t *testing.T) {
	dir, main := repositoryWithArray(t)
	old, young := dir+"/chunks/__tmp-1234567890123", dir+"/chunks/__tmp-1234567890124"
	if err := errors.Join(os.MkdirAll(dir+"/chunks", 0o777), os.WriteFile(old, make([]byte, 100), 0o666), os.WriteFile(young, make([]byte, 10), 0o666)); err != nil {
		t.Fatal(err)
	}
	if long := time.Now().Add(-8 * 24 * time.Hour); os.Chtimes(old, long, long) != nil {
		t.Fatal("the file has no older time")
	}
	for _, line := range []string{"icechunk stats DIR", "icechunk check DIR"} {
		args := strings.Fields(strings.ReplaceAll(line, "DIR", dir))
		if out := must(t, "", args...); !strings.Contains(out, "2 temporary files, 110 B") {
			t.Error(out)
		}
		if got := fmt.Sprint(decode(t, must(t, "", append(args, "--json")...))["temporary"]); got != "map[bytes:110 objects:2]" {
			t.Error(got)
		}
	}
	for _, how := range []string{"--dry-run", "--yes"} {
		out := must(t, "", "icechunk", "gc", dir, how)
		if !strings.Contains(out, "  1 temporary file, 100 B") || !strings.Contains(out, "1 object ") {
			t.Error(out)
		}
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the old file is left")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
	must(t, "", "check", main)
}

// TestUpkeepBackups deletes old copies of the object repo only if that is asked for, and
// names the latest one if the object is damaged.
func TestUpkeepBackups(t *testing.T) {
	dir, main := repositoryWithArray(t)
	backups := func() []string {
		names, err := filepath.Glob(dir + "/overwritten/repo.*")
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	before := len(backups())
	must(t, "", "icechunk", "gc", dir, "--older-than", "0s", "--yes")
	if n := len(backups()); n != before+2 { // of what was there, and of what the collection has published
		t.Errorf("%d backups, want %d", n, before+2)
	}
	out := must(t, "", "icechunk", "gc", dir, "--older-than", "0s", "--yes", "--backups", "1")
	if names := backups(); len(names) != 2 || !strings.Contains(out, "backups, ") { // the log names the other
		t.Error(names, out)
	}
	refusesAll(t, dir, map[string]string{"icechunk gc " + dir + " --backups 0 --yes": "give 1 or more"})
	do(t, "[7]", "append", main+"/a", "--format", "json")
	if err := os.Truncate(dir+"/repo", 20); err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"check", "gc"} {
		_, errs, status := execute(t, "", "icechunk", action, dir, "--json")
		if status == 0 || !strings.Contains(errs, filepath.Base(backups()[0])) {
			t.Errorf("%s: status %d, %s", action, status, errs)
		}
	}
}

// TestUpkeepNames lists the commits that would expire, and tells of damage what it
// affects, with a command that goes back.
func TestUpkeepNames(t *testing.T) {
	dir, main := repositoryWithArray(t)
	do(t, "[4]", "append", main+"/a", "--format", "json", "-m", "four")
	do(t, "", "create", main+"/b", "--shape", "3", "--dtype", "int8", "-m", "last")
	out := must(t, "", "icechunk", "expire", dir, "--before", "2100-01-01", "--dry-run")
	if strings.Count(out, "\n") != 4 || !strings.Contains(out, "Z  four\n") || strings.Contains(out, "last") {
		t.Error(out)
	}
	commits := decode(t, must(t, "", "icechunk", "expire", dir, "--before", "2100-01-01", "--dry-run", "--json"))["commits"].([]any)
	if len(commits) != 3 || commits[0].(map[string]any)["message"] != "four" {
		t.Error(commits)
	}
	whole := strings.Fields(must(t, "", "icechunk", "log", dir))[0]
	before, err := filepath.Glob(dir + "/manifests/*")
	if err != nil {
		t.Fatal(err)
	}
	do(t, "[1,2,3]", "write", main+"/b", "--format", "json")
	names, err := filepath.Glob(dir + "/manifests/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !slices.Contains(before, name) {
			if err := os.Truncate(name, 60); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, _, status := execute(t, "", "icechunk", "check", dir)
	for _, want := range []string{"it affects /b", "that of main, too", "varve icechunk branch " + dir + " NAME --at " + whole} {
		if status != 1 || !strings.Contains(out, want) {
			t.Errorf("status %d, %s lacks %s", status, out, want)
		}
	}
	for _, action := range []string{"gc", "stats", "clone"} {
		args := map[string][]string{"gc": {dir, "--yes"}, "stats": {dir}, "clone": {dir, dir + "2"}}[action]
		_, errs, status := execute(t, "", append([]string{"icechunk", action}, args...)...)
		if status == 0 || !strings.Contains(errs, "varve icechunk check") || action == "gc" && !strings.Contains(errs, "nothing was deleted") {
			t.Errorf("%s: status %d, %s", action, status, errs)
		}
	}
	_, errs, _ := execute(t, "", "icechunk", "gc", main, "--yes")
	if strings.Count(errs, "gc ") != 1 {
		t.Error(errs)
	}
	must(t, "", "icechunk", "branch", dir, "back", "--at", whole)
	must(t, "", "check", "icechunk+file://"+dir+"@back")
}
