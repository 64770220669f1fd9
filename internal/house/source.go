// SPDX-License-Identifier: Apache-2.0

// Package house reads the source of all modules for tests of the house rules.
package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root is the folder of the core module, relative to a package two levels below it.
const Root = "../.."

// File is one file of Go source, for any system.
type File struct {
	Path   string // relative to the folder that was read, with slashes
	Source []byte
	Syntax *ast.File
	Set    *token.FileSet
}

// Folder returns the folder of the file, or "." for the one that was read.
func (f *File) Folder() string { return filepath.ToSlash(filepath.Dir(f.Path)) }

// IsTest reports whether the file is only built for tests. This includes the packages
// below test, whose code several packages of tests share.
func (f *File) IsTest() bool {
	return strings.HasSuffix(f.Path, "_test.go") || strings.HasPrefix(filepath.ToSlash(f.Path), "internal/test/")
}

// Lines returns the number of lines, including comments.
func (f *File) Lines() int { return bytes.Count(f.Source, []byte("\n")) }

// Span returns the number of lines of a node.
func (f *File) Span(n ast.Node) int {
	return f.Set.Position(n.End()).Line - f.Set.Position(n.Pos()).Line + 1
}

// Modules returns the folders of all modules at and below dir, beginning with dir.
func Modules(dir string) ([]string, error) {
	var found []string
	err := walk(dir, func(path string, e fs.DirEntry) error {
		if e.Name() == "go.mod" {
			found = append(found, filepath.Dir(path))
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// Read parses the Go files of the module in dir, without nested modules.
func Read(dir string) ([]*File, error) {
	var files []*File
	set := token.NewFileSet()
	err := walk(dir, func(path string, e fs.DirEntry) error {
		if e.IsDir() && path != dir && isModule(path) {
			return fs.SkipDir
		}
		if e.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		f, err := parse(set, dir, path)
		files = append(files, f)
		return err
	})
	return files, err
}

func parse(set *token.FileSet, dir, path string) (*File, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(set, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(dir, path)
	return &File{filepath.ToSlash(rel), source, syntax, set}, err
}

// walk visits everything below dir, except build output and files that the go command
// ignores.
func walk(dir string, visit func(path string, e fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() && path != dir && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		return visit(path, e)
	})
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
