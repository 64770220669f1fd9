// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// newDecided returns a group of two arrays, a and b. Their append from four to six
// elements is decided, and visible only in the first.
func newDecided(t *testing.T) (group, file string) {
	t.Helper()
	group = filepath.Join(t.TempDir(), "g.zarr")
	for _, node := range []string{"/a", "/b"} {
		must(t, "", "create", group+node, "--shape", "4", "--dtype", "int8", "--chunks", "[[2,2]]")
	}
	file = files(t, "[1,2]")[0]
	held := lockFile(t, filepath.Join(group, "b", "__varve.publish"))
	defer held.Close()
	args := []string{"append", group, "--format", "json", "a=" + file, "b=" + file, "--lock-timeout", "5ms"}
	if _, errs, status := execute(t, "", args...); status != 1 || !strings.Contains(errs, "do not repeat") {
		t.Fatalf("status %d, %s", status, errs)
	}
	return group, file
}

// TestPendingIsTold checks that info and check report an unfinished change of two arrays,
// and that check --repair completes it.
func TestPendingIsTold(t *testing.T) {
	group, _ := newDecided(t)
	const decided = "a change of 2 arrays is decided but not finished: the shape will be [6]"
	for _, location := range []string{group, group + "/a", group + "/b"} {
		if got := must(t, "", "info", location); !strings.Contains(got, decided) || !strings.Contains(got, "check --repair") {
			t.Errorf("info %s: %s", location, got)
		}
		out, errs, status := execute(t, "", "check", location)
		if status != 1 || !strings.Contains(out, decided) || !strings.Contains(errs, "is not finished") {
			t.Errorf("check %s: status %d, %s%s", location, status, out, errs)
		}
		out, _, status = execute(t, "", "check", location, "--json")
		if status != 1 || !strings.Contains(strings.Join(strings.Fields(out), ""), `"pending":{"decided":true,"arrays":["a","b"],"shape":[6]}`) {
			t.Errorf("check %s --json: status %d, %s", location, status, out)
		}
	}
	if got := must(t, "", "info", group+"/b", "--json"); !strings.Contains(strings.Join(strings.Fields(got), ""), `"pending":{"decided":true`) {
		t.Error(got)
	}
	must(t, "", "check", group+"/b", "--repair")
	must(t, "", "check", group)
	for _, location := range []string{group, group + "/a", group + "/b"} {
		if got := must(t, "", "info", location); strings.Contains(got, "together") {
			t.Errorf("info %s: %s", location, got)
		}
	}
}

// TestAppendAfterInterruption repeats an append that was decided but not finished. A note
// must say that it was finished first. With --expect nothing may be appended twice.
func TestAppendAfterInterruption(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		says   []string
		cat    string
	}{
		{[]string{"", "a=FILE", "b=FILE"}, 0, []string{"/a: an earlier append to 2 arrays together was decided but not finished, and was finished first: this array already had the shape [6]",
			"/b: an earlier append to 2 arrays together was decided but not finished, and was finished first: shape [4] → [6]; the new elements come after it"}, "[0 0 0 0 1 2 1 2]"},
		{[]string{"/b", "FILE"}, 0, []string{"/b: an earlier append to 2 arrays together was decided but not finished, and was finished first: shape [4] → [6]"}, "[0 0 0 0 1 2 1 2]"},
		{[]string{"", "a=FILE", "b=FILE", "--expect", "4"}, 1, []string{"was finished first", "by this very change before"}, "[0 0 0 0 1 2]"},
		{[]string{"/b", "FILE", "--expect", "4"}, 1, []string{"was finished first", "by this very change before"}, "[0 0 0 0 1 2]"},
	} {
		group, file := newDecided(t)
		args := []string{"append", group + c.args[0], "--format", "json"}
		for _, arg := range c.args[1:] {
			args = append(args, strings.Replace(arg, "FILE", file, 1))
		}
		_, errs, status := execute(t, "", args...)
		if status != c.status {
			t.Errorf("%v: status %d, %s", c.args, status, errs)
		}
		for _, text := range c.says {
			if !strings.Contains(errs, text) {
				t.Errorf("%v: %s, want %q", c.args, errs, text)
			}
		}
		if got := must(t, "", "cat", group+"/b"); got != c.cat+"\n" {
			t.Errorf("%v: b is %s, want %s", c.args, got, c.cat)
		}
	}
}
