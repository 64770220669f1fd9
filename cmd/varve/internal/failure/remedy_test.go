// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goName matches names that mean nothing to users of the command.
var goName = regexp.MustCompile(`\b(\w*Options|Limits|Experimental|Addition|Group|Array|rewrite|grid|zarr)\.[A-Z]\w*`)

// TestRemedies checks all strings in the source. Those that name a Go field or function
// must be reworded for users of the command.
func TestRemedies(t *testing.T) {
	found := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "bench" || name == "interop" || name == "tools" || name == "internal" && strings.Contains(path, "bench")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name == "remedy.go" || strings.Contains(path, "codectest") || strings.Contains(path, "storetest"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING || !goName.MatchString(text.Value) {
				return true
			}
			found++
			if told := OneLine(errors.New(text.Value)); goName.MatchString(told) {
				t.Errorf("%s: %s is told as %s: add it to remedies", path, text.Value, told)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 30 {
		t.Errorf("%d texts were found, more are known", found)
	}
}

// packaged matches a string that begins with the name of a package, as sentinel errors
// do.
var packaged = regexp.MustCompile(`^"(calendar|codec|dtype|grid|http|npy|selection|store|strictjson|vfs|zip): (.*)"$`)

// TestPackages checks that messages of the command drop the package names of sentinels.
// Errors of package metadata say where instead.
func TestPackages(t *testing.T) {
	found := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "storetest") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING || !packaged.MatchString(text.Value) {
				return true
			}
			found++
			if told := OneLine(errors.New("open a: " + strings.Trim(text.Value, `"`) + ": reason")); packaged.MatchString(`"` + strings.TrimPrefix(told, "open a: ") + `"`) {
				t.Errorf("%s: %s is told as %s: add it to packages", path, text.Value, told)
			}
			return true
		})
		return nil
	})
	if err != nil || found < 30 {
		t.Errorf("%d texts were found, more are known: %v", found, err)
	}
}
