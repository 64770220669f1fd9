// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestParse reads the list, and incomplete entries.
func TestParse(t *testing.T) {
	all, err := parse(list)
	if err != nil || len(all) < 60 {
		t.Errorf("%d mutants, error %v", len(all), err)
	}
	const entry = "# a comment\nmutant m\nfile f.go\ntest ./a ./b -run X|Y\n-\told\n-more\n+new\n"
	one, err := parse(entry + "\n# nothing but a comment\n")
	if err != nil || len(one) != 1 || one[0].old != "\told\nmore" || one[0].new != "new" || one[0].tests != "X|Y" || len(one[0].packages) != 2 {
		t.Errorf("%+v, error %v", one, err)
	}
	for _, line := range strings.SplitAfter(entry, "\n") {
		bad := strings.Replace(entry, line, "", 1)
		if line == "" || line[0] == '#' || line == "-more\n" || line == "-\told\n" || line == "+new\n" {
			continue
		}
		if _, err := parse(bad); err == nil {
			t.Errorf("accepted:\n%s", bad)
		}
	}
	for _, bad := range []string{entry + "\n" + entry, entry + "what\n", strings.Replace(entry, "+new", "+\told\n+more", 1)} {
		if _, err := parse(bad); err == nil {
			t.Errorf("accepted:\n%s", bad)
		}
	}
}

// TestHung distinguishes tests that timed out from tests that failed.
func TestHung(t *testing.T) {
	const timedOut = "panic: test timed out after 1m30s\n\trunning tests:\n\t\tTestA (1m30s)\nFAIL\tp\t90.01s\nFAIL\n"
	for out, want := range map[string]bool{
		timedOut: true, "--- FAIL: TestB (0.00s)\nFAIL\n" + timedOut: false, "--- FAIL: TestB (0.00s)\nFAIL\n": false,
		"panic: boom\nFAIL\tp\t0.01s\n": false,
	} {
		if got := hung(out); got != want {
			t.Errorf("%t for %q", got, out)
		}
	}
}

// TestApply applies every entry of the list to the code as it is.
func TestApply(t *testing.T) {
	all, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..") // where files of entries begin
	for _, m := range all {
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
