// SPDX-License-Identifier: Apache-2.0

// Command references prints the references between the files of packages. A reference
// is a file that uses a name of another file in its package. The command orders the
// files such that few references point upward, from a lower file to a higher one.
//
//	go run ./tools/references . ./cmd/varve
//
// Without arguments it measures all packages of the core module.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	list := flag.Bool("order", false, "also print the files in order, highest first, and the names of upward references")
	flag.Parse()
	if err := run(flag.Args(), *list); err != nil {
		fmt.Fprintln(os.Stderr, "references:", err)
		os.Exit(1)
	}
}

func run(folders []string, list bool) error {
	if len(folders) == 0 {
		out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "./...").Output()
		if err != nil {
			return err
		}
		folders = strings.Fields(string(out))
	}
	set := token.NewFileSet()
	packages := importer.ForCompiler(set, "source", nil)
	all, up := 0, 0
	for _, folder := range folders {
		g, err := read(set, packages, folder)
		if err != nil {
			return err
		}
		order := g.order()
		n, upward := g.count(), g.upward(order)
		if n > 0 {
			fmt.Printf("%4d references, %3d upward, %3d files: %s\n", n, upward, len(g.files), folder)
		}
		if list {
			g.print(order)
		}
		all, up = all+n, up+upward
	}
	fmt.Printf("%4d references, %3d upward in all\n", all, up)
	return nil
}

// print prints the files in order, and below each file its upward references.
func (g *graph) print(order []int) {
	for i, from := range order {
		fmt.Println("\t" + g.files[from])
		for _, to := range order[:i] {
			if names := g.names[[2]int{from, to}]; names != nil {
				fmt.Printf("\t\t^ %s: %s\n", g.files[to], strings.Join(names, ", "))
			}
		}
	}
}

// read returns the references between the files of the package in a folder, without
// tests.
func read(set *token.FileSet, packages types.Importer, folder string) (*graph, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	p, err := build.ImportDir(folder, 0)
	if err != nil {
		return nil, err
	}
	g := newGraph(p.GoFiles)
	number := map[string]int{}
	var files []*ast.File
	for i, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(folder, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		number[filepath.Join(folder, name)] = i
	}
	// Names of imported packages do not matter here, so neither do errors about them.
	conf := types.Config{Importer: packages, Error: func(error) {}}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, _ := conf.Check(p.ImportPath, set, files, info)
	for id, used := range info.Uses {
		if used.Pkg() != checked || used.Parent() != checked.Scope() && !isMethod(used) {
			continue
		}
		from, to := set.Position(id.Pos()).Filename, set.Position(used.Pos()).Filename
		g.add(number[from], number[to], used.Name())
	}
	return g, nil
}

func isMethod(o types.Object) bool {
	f, ok := o.(*types.Func)
	return ok && f.Signature().Recv() != nil
}
