// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepositorySpellings gives repositories in other spellings than a URL with
// icechunk+. A path after icechunk+ is accepted; an error says what to write.
func TestRepositorySpellings(t *testing.T) {
	dir := folder(t)
	must(t, "", "icechunk", "init", dir+"/r")
	must(t, "", "icechunk", "init", dir+"/empty")
	must(t, "", "icechunk", "init", dir+"/a%b c")
	url := "icechunk+file://" + dir
	do(t, "", "create", url+"/r@main/a", "--shape", "3", "--dtype", "int8")
	do(t, "", "create", "icechunk+"+dir+"/a%b c@main/a", "--shape", "3", "--dtype", "int8")
	t.Chdir(dir)
	for _, args := range [][]string{
		{"info", "icechunk+" + dir + "/r@main/a"}, {"cat", "icechunk+r@main/a"}, {"info", "icechunk+file:" + dir + "/r@main/a"}, {"tree", "icechunk+r"},
		{"icechunk", "log", "icechunk+r@main"}, {"icechunk", "stats", "icechunk+r"}, {"info", url + "/a%25b%20c@main/a"}, {"icechunk", "log", "a%b c"},
		{"equal", "icechunk+r@main/a", "icechunk+a%b c@main/a"},
	} {
		must(t, "", args...)
	}
	for line, want := range map[string]string{
		"tree DIR/r":              url + "/r@main/NAME",
		"ls r":                    url + "/r@main/NAME",
		"info DIR/r/a":            url + "/r@main/a",
		"info r@main/a":           url + "/r@main/a",
		"cat " + url + "/r/a":     "r@main/a",
		"copy r x.zarr":           url + "/r@main/NAME",
		"icechunk log DIR/r@main": url + "/r@main",
		"icechunk stats r@main":   url + "/r@main",
		"create " + url + "/r/b --shape 3 --dtype int8":         "r@main/b",
		"create " + url + "/none@main/b --shape 3 --dtype int8": "varve icechunk init",
		"tree " + url + "/empty":                                "varve create " + url + "/empty@main/NAME",
		"info icechunk+empty@main/x":                            "varve create " + url + "/empty@main/NAME",
		"ls icechunk+empty@main":                                "varve create " + url + "/empty@main/NAME",
		"info " + url + "/a%b@main/x":                           url + "/a%b@main/x: ",
	} {
		out, errs, status := execute(t, "", fieldsIn(dir, line)...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s%s, want %s", line, status, out, errs, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "r")); err != nil || len(entries) > 6 {
		t.Errorf("the repository has %v, %v", entries, err)
	}
}

// TestRepositoryTimes opens commits by the times that the log shows, and refuses branches
// whose names would mean something else.
func TestRepositoryTimes(t *testing.T) {
	dir, main := repositoryWithArray(t)
	do(t, "[9]", "append", main+"/a", "--format", "json")
	for i, line := range strings.Split(strings.TrimSpace(must(t, "", "icechunk", "log", dir)), "\n") {
		id, at := strings.Fields(line)[0], strings.Fields(line)[1]
		for _, text := range []string{at, strings.Replace(strings.TrimSuffix(at, "Z"), "T", " ", 1)} {
			log := must(t, "", "icechunk", "log", "icechunk+"+dir+"@"+text, "--limit-commits", "1")
			if !strings.HasPrefix(log, id) {
				t.Errorf("commit %d: @%s is %s, want %s", i, text, log, line)
			}
		}
	}
	_, errs, status := execute(t, "", "info", strings.Replace(main, "@main", "@2001-01-01", 1))
	if status == 0 || !strings.Contains(errs, "the oldest of the branch main is") {
		t.Errorf("status %d, %s", status, errs)
	}
	id := strings.Fields(must(t, "", "icechunk", "log", dir))[0]
	for _, name := range []string{"2026-01-01", "2026-01-01T12:00", id, "tag:x", "branch:y", "time:z"} {
		if _, errs, status := execute(t, "", "icechunk", "branch", dir, name); status == 0 || !strings.Contains(errs, "choose another name") {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
	}
	for i, name := range []string{"2026", "a:b", "release-2026-01-01"} {
		must(t, "", "icechunk", "branch", dir, name)
		must(t, "", "icechunk", "tag", dir, fmt.Sprintf("2026-01-0%d", i+1))
	}
}
