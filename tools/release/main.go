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
