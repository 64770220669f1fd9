// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// goName matches names that mean nothing to users of the command.
var goName = regexp.MustCompile(`\b(\w*Options|Limits|Experimental|Addition|Group|Array|Collector|Join|rechunk|convert|export|check|transfer|virtual|filter|grid|zarr)\.[A-Z]\w*`)

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
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || filepath.Base(filepath.Dir(path)) == "failure" || strings.Contains(path, "codectest") || strings.Contains(path, "storetest"):
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

// remedied matches what ends a message with a remedy.
var remedied = regexp.MustCompile(`(replaces it|removes|choose|move that|give)[^:]*: %w"$`)

// TestRemedyComesLast checks all errors in the source that wrap [fs.ErrExist] after a
// remedy: the command leaves out the text of the sentinel.
func TestRemedyComesLast(t *testing.T) {
	found := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			wrapped, ok := call.Args[len(call.Args)-1].(*ast.SelectorExpr)
			if !ok || wrapped.Sel.Name != "ErrExist" {
				return true
			}
			text := joined(call.Args[0])
			if !remedied.MatchString(text) {
				return true
			}
			found++
			if told := OneLine(errors.New(strings.ReplaceAll(text, "%w\"", fs.ErrExist.Error()))); strings.Contains(told, "already exists") {
				t.Errorf("%s: %s is told as %s: add the remedy to advised", path, text, told)
			}
			return true
		})
		return nil
	})
	if err != nil || found < 10 {
		t.Errorf("%d errors were found, more are known (%v)", found, err)
	}
}

// joined returns the text of a literal, or of several that are added.
func joined(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.BinaryExpr:
		return strings.TrimSuffix(joined(e.X), `"`) + strings.TrimPrefix(joined(e.Y), `"`)
	}
	return ""
}

// packaged matches a string that begins with the name of a package, as sentinel errors
// do.
var packaged = regexp.MustCompile(`^"(codec|dtype|http|npy|store|vfs|zip): (.*)"$`)

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

// TestRemediesComplete checks that every remedy of the library has its words here, and
// that none hides a longer one that begins with it.
func TestRemediesComplete(t *testing.T) {
	set := token.NewFileSet()
	library, err := parser.ParseFile(set, "../../../../internal/remedy/remedy.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("remedy.go")
	if err != nil {
		t.Fatal(err)
	}
	var before []string
	texts := map[string]string{}
	for name, object := range library.Scope.Objects {
		value := object.Decl.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value
		if texts[name], err = strconv.Unquote(value); err != nil {
			t.Fatal(err)
		}
	}
	for _, found := range regexp.MustCompile(`\n\tremedy\.(\w+), "`).FindAllSubmatch(ours, -1) {
		text := texts[string(found[1])]
		delete(texts, string(found[1]))
		for _, earlier := range before {
			if strings.HasPrefix(text, earlier) {
				t.Errorf("%q stands behind %q, which replaces its beginning", text, earlier)
			}
		}
		before = append(before, text)
	}
	for name := range texts {
		t.Errorf("remedy.%s has no words of the command", name)
	}
}
