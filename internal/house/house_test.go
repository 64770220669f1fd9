// SPDX-License-Identifier: Apache-2.0

package house

import (
	"cmp"
	"go/ast"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// source returns the files of all modules by module folder. Tests must not change them.
func source(t *testing.T) map[string][]*File {
	t.Helper()
	racing.Skip(t)
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parsed reads the files once for all tests.
var parsed = sync.OnceValues(func() (map[string][]*File, error) {
	modules, err := Modules(Root)
	if err != nil {
		return nil, err
	}
	all := map[string][]*File{}
	for _, dir := range modules {
		if all[dir], err = Read(dir); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// TestLengths checks that no file and no function is long. There is no rule for the usual
// length: a file is a noun that a reader would look for, and what is read together stands
// together.
func TestLengths(t *testing.T) {
	var files, funcs []length
	for dir, module := range source(t) {
		for _, f := range module {
			if f.IsTest() {
				continue
			}
			name := path.Join(filepath.ToSlash(dir), f.Path)
			files = append(files, length{name, f.Lines()})
			for d := range functions(f) {
				funcs = append(funcs, length{name + ": " + d.Name.Name, f.Span(d)})
			}
		}
	}
	judge(t, "file", files, 800)
	judge(t, "function", funcs, 100)
}

// length is the length of a file or function in lines.
type length struct {
	name  string
	lines int
}

// judge checks the longest ones, and prints how long they are.
func judge(t *testing.T, what string, all []length, limit int) {
	t.Helper()
	slices.SortFunc(all, func(a, b length) int { return cmp.Compare(a.lines, b.lines) })
	n, last := len(all), all[len(all)-1]
	t.Logf("%d %ss: median %d lines, 90 %% up to %d, longest %d (%s)", n, what, all[n/2].lines, all[n*9/10].lines, last.lines, last.name)
	for _, l := range all {
		if l.lines > limit {
			t.Errorf("%s has %d lines, a %s may have %d: part it", l.name, l.lines, what, limit)
		}
	}
}

// TestTestLines prints the number of lines of tests per line of code.
func TestTestLines(t *testing.T) {
	for dir, module := range source(t) {
		code, tests := 0, 0
		for _, f := range module {
			if f.IsTest() {
				tests += f.Lines()
			} else {
				code += f.Lines()
			}
		}
		t.Logf("%s: %d lines of code, %d of tests", dir, code, tests)
	}
}

// TestNames refuses empty names such as utils, receivers of more than one letter, and
// getters with a Get.
func TestNames(t *testing.T) {
	empty := regexp.MustCompile(`^(utils?|commons?|helpers?|managers?|misc|types)$`)
	get := regexp.MustCompile(`^Get[A-Z]`)
	for dir, module := range source(t) {
		for _, f := range module {
			base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.Path), ".go"), "_test")
			if empty.MatchString(base) || empty.MatchString(f.Syntax.Name.Name) {
				t.Errorf("%s/%s: name it after what is in it", dir, f.Path)
			}
			for d := range functions(f) {
				if get.MatchString(d.Name.Name) {
					t.Errorf("%s/%s: %s: leave Get out", dir, f.Path, d.Name.Name)
				}
				if r := receiver(d); len(r) > 1 {
					t.Errorf("%s/%s: %s: a receiver has one letter, not %q", dir, f.Path, d.Name.Name, r)
				}
			}
		}
	}
}

// functions yields the functions and methods of a file.
func functions(f *File) func(yield func(*ast.FuncDecl) bool) {
	return func(yield func(*ast.FuncDecl) bool) {
		for _, d := range f.Syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && !yield(d) {
				return
			}
		}
	}
}

// receiver returns the name of a method's receiver, or "".
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List[0].Names) == 0 {
		return ""
	}
	return d.Recv.List[0].Names[0].Name
}

// TestFinished refuses marks of unfinished work.
func TestFinished(t *testing.T) {
	mark := regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	for dir, module := range source(t) {
		for _, f := range module {
			if f.IsTest() {
				continue
			}
			for i, line := range strings.Split(string(f.Source), "\n") {
				if mark.MatchString(line) {
					t.Errorf("%s/%s:%d: %s", dir, f.Path, i+1, strings.TrimSpace(line))
				}
			}
		}
	}
}

// TestDocumented checks that every package and every exported name has a comment, and
// prints their number.
func TestDocumented(t *testing.T) {
	for dir, module := range source(t) {
		packages, names := map[string]bool{}, 0
		for _, f := range module {
			if f.IsTest() {
				continue
			}
			packages[f.Folder()] = packages[f.Folder()] || f.Syntax.Doc != nil
			for _, d := range f.Syntax.Decls {
				for name, documented := range exported(d) {
					if names++; !documented {
						t.Errorf("%s/%s: %s has no comment", dir, f.Path, name)
					}
				}
			}
		}
		for folder, documented := range packages {
			if !documented {
				t.Errorf("%s: package %s has no comment", dir, folder)
			}
		}
		t.Logf("%s: %d packages, %d exported names", dir, len(packages), names)
	}
}

// exported yields the exported names of a declaration, and whether each has a comment. It
// omits methods of unexported types.
func exported(d ast.Decl) func(yield func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && seen(d) {
				yield(d.Name.Name, d.Doc != nil)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				for name, documented := range spec(s, d.Doc != nil) {
					if ast.IsExported(name) && !yield(name, documented) {
						return
					}
				}
			}
		}
	}
}

// spec returns the names of types, constants or variables, and whether they or their
// group have a comment.
func spec(s ast.Spec, group bool) map[string]bool {
	names := map[string]bool{}
	switch s := s.(type) {
	case *ast.TypeSpec:
		names[s.Name.Name] = group || s.Doc != nil
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names[n.Name] = group || s.Doc != nil || s.Comment != nil
		}
	}
	return names
}

// seen reports whether a function is not a method, or is a method of an exported type.
func seen(d *ast.FuncDecl) bool {
	return d.Recv == nil || ast.IsExported(typeName(d.Recv.List[0].Type))
}

// typeName returns the name of a receiver's type, without pointer and type parameters.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
