// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
)

// mark is where the page has a table: its name, and the table.
var mark = regexp.MustCompile(`(?m)^<!-- simulation (\w+) -->\n\n(?:\|.*\n)*`)

// TestPage compares the tables of docs/scale.md with those that the program prints:
// VARVE_UPDATE=1 go test -run TestPage ./simulation writes them again. Those of many runs
// are compared if VARVE_LONG or VARVE_UPDATE is set.
func TestPage(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round differently, so that events change places")
	}
	file := filepath.Join("..", "..", "docs", "scale.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPage(builtin)
	if err != nil {
		t.Fatal(err)
	}
	update := os.Getenv("VARVE_UPDATE") != ""
	all := map[string]func() string{"inputs": p.inputs, "work": p.tasks, "joining": p.joins, "executors": p.executors}
	if update || os.Getenv("VARVE_LONG") != "" {
		all["present"], all["remedies"], all["sensitivity"] = p.present, p.remedies, p.sensitivity
	}
	found := map[string]bool{}
	want := mark.ReplaceAllStringFunc(string(text), func(old string) string {
		name := mark.FindStringSubmatch(old)[1]
		found[name] = true
		if all[name] == nil {
			return old
		}
		return "<!-- simulation " + name + " -->\n\n" + all[name]()
	})
	for _, name := range names {
		if !found[name] {
			t.Errorf("the page lacks the table %s", name)
		}
	}
	switch {
	case want == string(text):
	case update:
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has other tables than the program prints; VARVE_UPDATE=1 writes them again", file)
	}
}
