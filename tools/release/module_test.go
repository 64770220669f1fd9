// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

func moduleOf(t *testing.T, dir, text string) module {
	t.Helper()
	file, err := modfile.Parse("go.mod", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return module{dir, file}
}

func TestOrder(t *testing.T) {
	core := moduleOf(t, ".", "module x.test/a")
	extra := moduleOf(t, "extra", "module x.test/a/extra\nrequire x.test/a v0.0.0")
	command := moduleOf(t, "cmd/a", "module x.test/a/cmd/a\nrequire x.test/a/extra v0.0.0\nrequire x.test/a v0.0.0")
	sorted, err := inOrder([]module{command, extra, core})
	if err != nil || sorted[0].dir != "." || sorted[1].dir != "extra" || sorted[2].tag("v1.2.3") != "cmd/a/v1.2.3" {
		t.Errorf("sorted into %v: %v", sorted, err)
	}
	one := moduleOf(t, "one", "module x.test/one\nrequire x.test/two v0.0.0")
	two := moduleOf(t, "two", "module x.test/two\nrequire x.test/one v0.0.0")
	if sorted, err := inOrder([]module{one, two}); err == nil {
		t.Errorf("a circle is sorted into %v", sorted)
	}
}

func TestPin(t *testing.T) {
	core := moduleOf(t, ".", "module x.test/a")
	extra := moduleOf(t, "extra", "module x.test/a/extra\nrequire x.test/a v0.0.0\nreplace x.test/a => ../")
	if err := extra.pin([]module{core, extra}, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	data, err := extra.file.Format()
	if err != nil || string(data) != "module x.test/a/extra\n\nrequire x.test/a v0.1.0\n" {
		t.Errorf("go.mod is %q: %v", data, err)
	}
	other := moduleOf(t, "extra", "module x.test/a/extra\nreplace y.test/b => ../b")
	if err := other.pin([]module{core}, "v0.1.0"); err == nil || !strings.Contains(err.Error(), "y.test/b") {
		t.Errorf("a replaced module that is not released: %v", err)
	}
}

func TestAddSums(t *testing.T) {
	name := filepath.Join(t.TempDir(), "go.sum")
	// The go command sorts by version, not by text.
	before := "b.test v1.9.0 h1:x=\nb.test v1.20.0 h1:y=\nz.test v1.0.0 h1:z=\n"
	if err := os.WriteFile(name, []byte(before), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := addSums(name, []string{"v.test v0.1.0 h1:v=\n", "zz.test v0.1.0 h1:w=\n"}); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Replace(before, "z.test", "v.test v0.1.0 h1:v=\nz.test", 1) + "zz.test v0.1.0 h1:w=\n"
	if after, _ := os.ReadFile(name); string(after) != want {
		t.Errorf("go.sum is\n%swant\n%s", after, want)
	}
}

// The zip of a nested module has its own licence only.
func TestLicences(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range released {
		if got, err := os.ReadFile(filepath.Join(root, dir, "LICENSE")); err != nil || string(got) != string(want) {
			t.Errorf("%s/LICENSE is not that of the root: %v", dir, err)
		}
	}
}

// TestOutlined checks that a release is built like the command of the Makefile: without
// inlining in the same packages.
func TestOutlined(t *testing.T) {
	lists := map[string][]string{}
	for name, form := range map[string]string{
		"Makefile":         `(?s)\nOUTLINED =(.*?[^\\])\n`,
		".goreleaser.yaml": `\n    gcflags:\n((?:      - .*\n)+)`,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(form).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no list of packages", name)
		}
		for _, field := range strings.Fields(string(found[1])) {
			if field != `\` && field != "-" {
				lists[name] = append(lists[name], strings.TrimSuffix(field, "=-l"))
			}
		}
	}
	if made, released := lists["Makefile"], lists[".goreleaser.yaml"]; !slices.Equal(made, released) {
		t.Errorf("the Makefile has %q, and .goreleaser.yaml %q", made, released)
	}
}
