// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// functionWords are words that only relate others. A reader who meets one as the name of
// a field or a function does not learn what it is.
var functionWords = strings.Fields(`
	is was were been will would should shall had has did does came goes went goesOn said told placed
	now next then once twice ever never always soon still yet meanwhile afterwards beforehand
	here there anywhere nowhere elsewhere everywhere somewhere
	with so thus hence therefore because also both rather quite perhaps otherwise ours theirs mine
`)

// methodWords are the function words that name methods by custom: those of errors and
// iterators, and copies of a value with a change.
var methodWords = []string{"is", "next", "with"}

// TestFunctionWords refuses function words as names of fields, functions, methods and
// types. Variables and parameters may have them, because their use is in sight. Fields of
// test tables in functions count as fields.
func TestFunctionWords(t *testing.T) {
	for dir, module := range source(t) {
		for _, f := range module {
			name := path.Join(filepath.ToSlash(dir), f.Path)
			for id, what := range declaredNames(f) {
				word := strings.ToLower(id.Name[:1]) + id.Name[1:]
				if slices.Contains(functionWords, word) && !(what == "method" && slices.Contains(methodWords, word)) {
					t.Errorf("%s:%d: %s says nothing about this %s: name it after what it is or does", name, f.Set.Position(id.Pos()).Line, id.Name, what)
				}
			}
		}
	}
}

// declaredNames yields the names of the fields, functions, methods and types of a file,
// each with its kind.
func declaredNames(f *File) func(yield func(id *ast.Ident, what string) bool) {
	return func(yield func(*ast.Ident, string) bool) {
		more := true
		all := func(list *ast.FieldList, what string) {
			for _, field := range list.List {
				for _, id := range field.Names {
					more = more && yield(id, what)
				}
			}
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				what := "function"
				if n.Recv != nil {
					what = "method"
				}
				more = more && yield(n.Name, what)
			case *ast.TypeSpec:
				more = more && yield(n.Name, "type")
			case *ast.StructType:
				all(n.Fields, "field")
			case *ast.InterfaceType:
				all(n.Methods, "method")
			}
			return more
		})
	}
}
