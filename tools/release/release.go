// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	modversion "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// release is the state of a release while it is made.
type release struct {
	worktree
	version string
	modules []module
	sums    map[string][]string // lines of go.sum for finished modules, by module path
}

// make commits the release on a detached HEAD, tags it, and returns to the branch.
//
// make handles modules in the order of their requirements: go.sum contains the hashes
// of the required modules, which depend on their own go.mod and go.sum.
func (r *release) make() error {
	for _, m := range r.modules {
		if _, err := r.git("rev-parse", "--verify", "--quiet", "refs/tags/"+m.tag(r.version)); err == nil {
			return fmt.Errorf("the tag %s exists", m.tag(r.version))
		}
	}
	branch, err := r.git("symbolic-ref", "--short", "HEAD")
	if err != nil {
		return fmt.Errorf("no branch is checked out: %w", err)
	}
	if _, err := r.git("switch", "--quiet", "--detach"); err != nil {
		return err
	}
	if err := r.commit(); err != nil {
		return fmt.Errorf("%w; `git switch --discard-changes %s` undoes the unfinished release", err, branch)
	}
	for _, m := range r.modules {
		tag := m.tag(r.version)
		if _, err := r.git("tag", "--annotate", "--message", m.path()+" "+r.version, tag); err != nil {
			return err
		}
		fmt.Println(tag)
	}
	_, err = r.git("switch", "--quiet", branch)
	return err
}

// commit pins all modules and commits the result.
func (r *release) commit() error {
	for _, m := range r.modules {
		if err := r.pin(m); err != nil {
			return err
		}
	}
	_, err := r.git("commit", "--quiet", "--all", "--message", "Release "+r.version)
	return err
}

// pin rewrites go.mod and go.sum of a module, and records the module's own hashes.
func (r *release) pin(m module) error {
	if err := m.pin(r.modules, r.version); err != nil {
		return err
	}
	data, err := m.file.Format()
	if err != nil {
		return err
	}
	dir := filepath.Join(r.root, m.dir)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), data, 0o666); err != nil {
		return err
	}
	for _, other := range r.modules {
		// Modules come in the order of requirements, so these sums are known.
		if m.requires(other.path()) {
			if err := addSums(filepath.Join(dir, "go.sum"), r.sums[other.path()]); err != nil {
				return err
			}
		}
	}
	return r.sum(m, data)
}

// addSums adds lines to a go.sum file. It keeps the order of the go command, which
// sorts by module and then by version.
func addSums(name string, sums []string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(data), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" || slices.Contains(sums, l) })
	for _, sum := range sums {
		at := slices.IndexFunc(lines, func(l string) bool { return l > sum })
		if at < 0 {
			at = len(lines)
		}
		lines = slices.Insert(lines, at, sum)
	}
	return os.WriteFile(name, []byte(strings.Join(lines, "")), 0o666)
}

// sum records the lines of go.sum for a module.
func (r *release) sum(m module, goMod []byte) error {
	// A module contains only tracked files, so archive it from the index.
	if _, err := r.git("add", "--update"); err != nil {
		return err
	}
	tree, err := r.git("write-tree")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "release-*.zip")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(r.archive(f, m, tree), f.Close()); err != nil {
		return err
	}
	whole, err := dirhash.HashZip(f.Name(), dirhash.Hash1)
	if err != nil {
		return err
	}
	mod, err := hashMod(goMod)
	if err != nil {
		return err
	}
	r.sums[m.path()] = []string{
		fmt.Sprintf("%s %s %s\n", m.path(), r.version, whole),
		fmt.Sprintf("%s %s/go.mod %s\n", m.path(), r.version, mod),
	}
	return nil
}

// hashMod returns the hash of a go.mod file, as in go.sum.
func hashMod(goMod []byte) (string, error) {
	return dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(goMod)), nil
	})
}

// archive writes a module as a zip archive for the go command. revision is a commit or
// a tree.
func (r *release) archive(w io.Writer, m module, revision string) error {
	dir := m.dir
	if dir == "." {
		dir = ""
	}
	return zip.CreateFromVCS(w, modversion.Version{Path: m.path(), Version: r.version}, r.root, revision, dir)
}

// serve writes the tagged modules to a folder for use as GOPROXY. See
// https://go.dev/ref/mod#goproxy-protocol.
func (r *release) serve(proxy string) error {
	for _, m := range r.modules {
		if err := r.serveModule(proxy, m); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) serveModule(proxy string, m module) error {
	escaped, err := modversion.EscapePath(m.path())
	if err != nil {
		return err
	}
	dir := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	goMod, err := m.file.Format()
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": r.version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"list": []byte(r.version + "\n"), r.version + ".info": info, r.version + ".mod": goMod,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, r.version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(r.archive(f, m, m.tag(r.version)), f.Close())
}
