// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCheckFacts checks that a release is refused when the facts about other programs are
// older than six months, or have no month.
func TestCheckFacts(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, factsFile)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ source, day, want string }{
		{`const verified = "2026-11"`, "2026-11-01", ""},
		{`const verified = "2026-11"`, "2027-05-31", ""},
		{`const verified = "2026-11"`, "2027-06-01", "more than six months ago"},
		{`const verified = "2026-13"`, "2026-11-01", "month out of range"},
		{`const verified = ""`, "2026-11-01", "has no constant"},
		{`// const verified = "2026-11"`, "2026-11-01", "has no constant"},
	} {
		if err := os.WriteFile(name, []byte("package facts\n\n"+c.source+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		err = checkFacts(root, now)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s on %s: %v, want %q", c.source, c.day, err, c.want)
		}
	}
}

// TestFactsHaveMonth checks that the tool finds the month in the source.
func TestFactsHaveMonth(t *testing.T) {
	if err := checkFacts("../..", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Error(err)
	}
}
