// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestIcechunk makes a repository, commits to it by several commands, and reads each
// state as it was.
func TestIcechunk(t *testing.T) {
	dir := filepath.ToSlash(filepath.Join(t.TempDir(), "repo"))
	must(t, "", "icechunk", "init", dir)
	at := "icechunk+file://" + dir + "@"
	_, errs, status := execute(t, "", "create", at+"main/a", "--shape", "3", "--dtype", "int8", "--chunks", "[[3]]", "-m", "a new array")
	if status != 0 || !strings.Contains(errs, "to the branch main") {
		t.Fatal(status, errs)
	}
	do(t, "[1,2,3]", "write", at+"main/a", "--format", "json")
	must(t, "", "icechunk", "tag", dir, "v1")
	for _, days := range []string{"[4,5]", "[6]"} {
		do(t, days, "append", at+"main/a", "--format", "json", "-m", "days "+days)
	}
	must(t, "", "icechunk", "branch", dir, "dev", "--at", "tag:v1")
	do(t, "", "compact", at+"main/a", "--to", "max:6")
	do(t, "[9]", "append", at+"dev/a", "--format", "json")
	for ref, want := range map[string]string{"main": "[1,2,3,4,5,6]", "tag:v1": "[1,2,3]", "dev": "[1,2,3,9]"} {
		if got := strings.TrimSpace(must(t, "", "export", at+ref+"/a", "--format", "json")); got != want {
			t.Errorf("%s is %s, want %s", ref, got, want)
		}
	}
	log := must(t, "", "icechunk", "log", at+"main")
	ids := regexp.MustCompile(`(?m)^[0-9A-Z]{20}  \S+ \S+  `)
	if got, want := ids.ReplaceAllString(log, ""), "varve compact\ndays [6]\ndays [4,5]\nvarve write\na new array\nRepository initialized\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
	second := strings.Fields(strings.Split(log, "\n")[1])[0]
	if got := strings.TrimSpace(must(t, "", "export", at+second+"/a", "--format", "json")); got != "[1,2,3,4,5,6]" {
		t.Errorf("the commit before is %s", got)
	}
	must(t, "", "check", at+"main")
	must(t, "", "icechunk", "tag", dir, "v1", "--delete")
	for what, args := range map[string][]string{
		"name is never used again": {"icechunk", "tag", dir, "v1"}, "there is one": {"icechunk", "init", dir},
		"no such reference": {"info", at + "tag:v1"}, "write to a branch": {"append", at + second + "/a", "x.npy"},
		"always has the branch main": {"icechunk", "branch", dir, "main", "--delete"}, "a tag never changes": {"icechunk", "tag", dir, "v2", "--reset", "main"},
		"leads to a node": {"icechunk", "log", at + "main/a"}, "there is no action": {"icechunk", "gc", dir},
	} {
		if _, errs, status := execute(t, "", args...); status == 0 || !strings.Contains(errs, what) {
			t.Errorf("%q: status %d, %s, want %q", args, status, errs, what)
		}
	}
}

// do runs a command that may tell of a commit.
func do(t *testing.T, in string, args ...string) {
	t.Helper()
	if _, errs, status := execute(t, in, args...); status != 0 || strings.Count(errs, "\n") > 1 {
		t.Fatalf("varve %q: status %d, %s", args, status, errs)
	}
}
