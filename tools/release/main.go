// SPDX-License-Identifier: Apache-2.0

// Release makes a release of the released modules: a commit whose modules require one
// another by version, and a tag for each of them.
//
//	go run ./tools/release [-proxy DIR] v0.1.0
//
// On the main branch, modules find one another by replace directives, so that a change
// of several modules builds in a clone without go.work. The go command does not install
// programs from a module with such directives. So a release is a commit beside the
// branch without these directives, reachable only by its tags. Nothing is pushed.
//
// The command prints which programs can read an array. If these facts are older than six
// months, there is no release.
//
// With -proxy, the modules are also written to a folder in the layout of the GOPROXY
// protocol. The go command can download them from there.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run() error {
	proxy := flag.String("proxy", "", "also write the modules to this folder, for GOPROXY=file://DIR")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./tools/release [-proxy DIR] VERSION")
		flag.PrintDefaults()
	}
	flag.Parse()
	version := flag.Arg(0)
	if flag.NArg() != 1 || semver.Canonical(version) != version {
		flag.Usage()
		return fmt.Errorf("%q is not a single version such as v0.1.0", flag.Args())
	}
	tree, err := openWorktree(".")
	if err != nil {
		return err
	}
	if err := checkFacts(tree.root, time.Now()); err != nil {
		return err
	}
	modules, err := readModules(tree.root)
	if err != nil {
		return err
	}
	r := &release{worktree: tree, version: version, modules: modules, sums: map[string][]string{}}
	if err := r.make(); err != nil {
		return err
	}
	if *proxy != "" {
		return r.serve(*proxy)
	}
	return nil
}

// factsFile has the table of programs that can read arrays, which varve info prints.
// Programs change, so the table has the month in which it was last compared with them.
const factsFile = "cmd/varve/internal/facts/readers.go"

var factsMonth = regexp.MustCompile(`(?m)^const verified = "(\d{4}-\d{2})"$`)

// checkFacts returns an error if the facts about other programs are older than six
// months.
func checkFacts(root string, now time.Time) error {
	source, err := os.ReadFile(filepath.Join(root, factsFile))
	if err != nil {
		return err
	}
	m := factsMonth.FindSubmatch(source)
	if m == nil {
		return fmt.Errorf("%s has no constant verified with a month such as 2026-11", factsFile)
	}
	month, err := time.Parse("2006-01", string(m[1]))
	if err != nil {
		return fmt.Errorf("%s: %w", factsFile, err)
	}
	// The whole month counts: facts of November can be released until the end of May.
	if !now.Before(month.AddDate(0, 7, 0)) {
		return fmt.Errorf("the facts about other programs are of %s, more than six months ago: run interop/peers, correct the table in %s, and set its month", m[1], factsFile)
	}
	return nil
}

// worktree is the working tree of a clone.
type worktree struct{ root string }

// openWorktree returns the working tree that contains dir. It fails if there are
// uncommitted changes, because the release would commit them.
func openWorktree(dir string) (worktree, error) {
	root, err := worktree{dir}.git("rev-parse", "--show-toplevel")
	if err != nil {
		return worktree{}, err
	}
	w := worktree{root}
	changed, err := w.git("status", "--porcelain")
	if err == nil && changed != "" {
		err = fmt.Errorf("commit or remove these changes first:\n%s", changed)
	}
	return w, err
}

// git runs a git command in the clone and returns what it prints.
func (w worktree) git(args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir, c.Stderr = w.root, os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
