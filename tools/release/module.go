// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
)

// released are the folders of the modules in a release. The others (bench, examples,
// interop, tools) are only useful in a clone.
var released = []string{
	".", "codec/extra", "columnar", "virtual/parquet", "icechunk", "observe/otel", "store/s3", "store/gcs", "store/azure", "cmd/varve", "job/beam",
}

// module is a module of the repository.
type module struct {
	dir  string // relative to the root, with slashes
	file *modfile.File
}

// path returns the module path.
func (m module) path() string { return m.file.Module.Mod.Path }

// tag returns the name of the tag for a version, by the rules of the go command for
// modules in subdirectories.
func (m module) tag(version string) string {
	if m.dir == "." {
		return version
	}
	return m.dir + "/" + version
}

// readModules reads the released modules and sorts them so that each comes after those it
// requires.
func readModules(root string) ([]module, error) {
	var all []module
	for _, dir := range released {
		name := filepath.Join(root, dir, "go.mod")
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(name, data, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, module{dir, file})
	}
	return inOrder(all)
}

// inOrder sorts modules so that each comes after those it requires.
func inOrder(all []module) (sorted []module, err error) {
	for len(all) > 0 {
		next := slices.IndexFunc(all, func(m module) bool { return !m.requiresAny(all) })
		if next < 0 {
			return nil, fmt.Errorf("%s and %d other modules require one another in a cycle", all[0].path(), len(all)-1)
		}
		sorted = append(sorted, all[next])
		all = slices.Delete(all, next, next+1)
	}
	return sorted, nil
}

// requiresAny reports whether m requires one of the modules.
func (m module) requiresAny(modules []module) bool {
	return slices.ContainsFunc(modules, func(other module) bool { return m.requires(other.path()) })
}

// requires reports whether m requires the module at a path.
func (m module) requires(path string) bool {
	return slices.ContainsFunc(m.file.Require, func(r *modfile.Require) bool { return r.Mod.Path == path })
}

// pin makes m require the others by version and drops its replace directives.
func (m module) pin(others []module, version string) error {
	for _, other := range others {
		if !m.requires(other.path()) {
			continue
		}
		if err := m.file.DropReplace(other.path(), ""); err != nil {
			return err
		}
		if err := m.file.AddRequire(other.path(), version); err != nil {
			return err
		}
	}
	m.file.Cleanup()
	if len(m.file.Replace) > 0 {
		return fmt.Errorf("%s replaces %s, which is not a module of the release", m.path(), m.file.Replace[0].Old.Path)
	}
	return nil
}
