// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestTestsExist finds a test for each alternative of the expressions that entries name.
func TestTestsExist(t *testing.T) {
	all, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..") // where packages of entries begin
	known := map[string][]string{}
	for _, m := range all {
		var tests []string
		for _, p := range m.packages {
			if known[p] == nil {
				known[p] = testsIn(t, p)
			}
			tests = append(tests, known[p]...)
		}
		for _, one := range strings.Split(m.tests, "|") {
			one, _, _ = strings.Cut(strings.Trim(one, "^()$"), "/") // what follows names a part of a test
			name, err := regexp.Compile(one)
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
			} else if !slices.ContainsFunc(tests, name.MatchString) {
				t.Errorf("%s: no test in %v matches %q", m.name, m.packages, one)
			}
		}
	}
}

// testsIn returns the names of the tests, fuzz targets and examples of a package.
func testsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declaration.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

var declaration = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)
