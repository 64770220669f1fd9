// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// TestGuideModule follows the guide in a module of its own: it builds a program that
// imports the modules which the guide replaces, and another one in a workspace. The guide
// must name every module of the library.
func TestGuideModule(t *testing.T) {
	racing.Skip(t)
	if testing.Short() {
		t.Skip("builds programs")
	}
	clone, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(clone, "docs", "guide.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Use it in a module of your own\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var replaced, workspace [][]string
	imports := map[string]bool{} // by the folder of the module
	for _, line := range scriptOf(section) {
		words := strings.Fields(line)
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "../varve", clone)
		}
		switch {
		case strings.HasPrefix(line, "go work "):
			workspace = append(workspace, words)
		case strings.HasPrefix(line, "go mod edit -replace "):
			name, folder, _ := strings.Cut(words[4], "=")
			if folder != filepath.Join(clone, strings.TrimPrefix(strings.TrimPrefix(name, "varve.dev/zarr"), "/")) {
				t.Errorf("%s is replaced by %s", name, folder)
			}
			imports[name] = true
			replaced = append(replaced, words)
		case line != "go mod tidy" && line != "go build .": // the build does what tidy does
			replaced = append(replaced, words)
		}
	}
	if is := libraryModules(t, clone); !slices.Equal(is, slices.Sorted(maps.Keys(imports))) {
		t.Errorf("the guide replaces %q, the modules are %q", slices.Sorted(maps.Keys(imports)), is)
	}
	if len(workspace) != 1 {
		t.Fatalf("the guide has the workspaces %q", workspace)
	}
	buildProgram(t, replaced, slices.Sorted(maps.Keys(imports)), "-mod=mod")
	var named []string
	for _, folder := range workspace[0][4:] { // after the program's own
		name, _ := filepath.Rel(clone, folder)
		named = append(named, strings.TrimSuffix("varve.dev/zarr/"+filepath.ToSlash(name), "/."))
	}
	buildProgram(t, append([][]string{{"go", "mod", "init", "example.org/program"}}, workspace...), named, "")
}

// libraryModules returns the modules in a clone that programs import.
func libraryModules(t *testing.T, clone string) (names []string) {
	t.Helper()
	for _, pattern := range []string{"go.mod", "*/go.mod", "*/*/go.mod"} {
		files, err := filepath.Glob(filepath.Join(clone, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(string(data), "module "), "\n")
			switch strings.TrimPrefix(name, "varve.dev/zarr/") {
			case "bench", "tools", "interop", "examples", "cmd/varve", "job/beam": // programs and tests
			default:
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// buildProgram runs commands in a new folder, and builds a program there.
func buildProgram(t *testing.T, commands [][]string, imports []string, flags string) {
	t.Helper()
	dir := t.TempDir()
	var program strings.Builder
	program.WriteString("package main\n\n")
	for _, name := range imports {
		fmt.Fprintf(&program, "import _ %q\n", name)
	}
	program.WriteString("\nfunc main() {}\n")
	overwrite(t, filepath.Join(dir, "main.go"), program.String())
	run := func(words []string, env ...string) string {
		c := exec.Command(words[0], words[1:]...)
		c.Dir, c.Env = dir, append(os.Environ(), append(env, "GOWORK=", "GOFLAGS="+flags)...)
		out, err := c.CombinedOutput()
		if err != nil {
			return fmt.Sprintf("%q: %v\n%s", words, err, out)
		}
		return ""
	}
	for _, words := range commands {
		if failed := run(words); failed != "" {
			t.Fatal(failed)
		}
	}
	build := []string{"go", "build", "-o", filepath.Join(dir, "program.exe"), "."}
	// Usually all modules are on this machine.
	failed := run(build, "GOPROXY=off", "GOSUMDB=off")
	if strings.Contains(failed, "disabled by GOPROXY=off") {
		failed = run(build)
	}
	if failed != "" {
		t.Errorf("a program that imports %q: %s", imports, failed)
	}
}
