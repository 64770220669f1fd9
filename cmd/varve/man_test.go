// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/manual"
	"varve.dev/zarr/internal/racing"
)

// TestManualIsComplete checks that every command, flag and topic is in the manual pages
// and in the reference.
func TestManualIsComplete(t *testing.T) {
	dir := t.TempDir()
	if out := decode(t, must(t, "", "man", dir, "--json")); out["pages"].(float64) < 30 {
		t.Errorf("%v", out)
	}
	root := newRoot()
	addCompletion(root)
	reference := newManual(root).Reference()
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return strings.ReplaceAll(string(text), `\-`, "-")
	}
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		text := page("man1/" + strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1")
		if c.HasParent() && !strings.Contains(reference, "\n## "+c.CommandPath()+"\n") {
			t.Errorf("the reference has no section for %s", c.CommandPath())
		}
		for _, set := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
			set.VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && f.Name != "help" && !strings.Contains(text, `\fB--`+f.Name+`\fR`) {
					t.Errorf("the page of %s has no --%s", c.CommandPath(), f.Name)
				}
			})
		}
		for line := range strings.Lines(c.Example) {
			if line = strings.TrimSpace(line); c.HasParent() && !strings.Contains(reference, "\n"+line+"\n") {
				t.Errorf("the reference has no %q", line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				check(sub)
			}
		}
	}
	check(root)
	for _, topic := range manual.Topics() {
		page("man7/varve-" + topic.Name + ".7")
		if !strings.Contains(reference, "\n## "+topic.Title+"\n") {
			t.Errorf("the reference has no section for %s", topic.Name)
		}
	}
}

// TestReference compares the reference of the commands with their help. VARVE_UPDATE=1 go
// test -run TestReference . writes it again.
func TestReference(t *testing.T) {
	racing.Skip(t)
	root := newRoot()
	addCompletion(root)
	name := filepath.Join("..", "..", "docs", "commands.md")
	want := newManual(root).Reference()
	if os.Getenv("VARVE_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s is not what the commands say (%v); VARVE_UPDATE=1 writes it again", name, err)
	}
}
