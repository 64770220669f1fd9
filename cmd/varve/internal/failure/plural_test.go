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
	"slices"
	"strings"
	"testing"
)

// counted matches a number in a format with the words behind it.
var counted = regexp.MustCompile(`%d ((?:[a-z]+ )?[a-z]+)`)

// noPlurals are words in s behind a number that are no plurals: verbs, of which a number
// is the subject, as in "axis 1 has", and others.
var noPlurals = strings.Fields(`after appends as begins belongs bytes-of claims comes count degrees-of differs does ends exceeds has is its keeps kills lacks leaves less lies makes needs
	reads says stops takes was without`)

// adjectives are those that stand between a number and its noun.
var adjectives = strings.Fields("code data deflated dimension empty encoded growth hexadecimal inner more new other shrink stored superfluous")

// apart are the folders without messages of the command, and the modules that may not
// import package quantity because they are released apart.
var apart = strings.Fields("testdata bench interop tools examples test house layers codectest storetest extra s3 gcs azure parquet")

// TestSingular checks all formats in the source: numbers stand before plurals only by
// quantity.Count or its siblings, which know the singular.
func TestSingular(t *testing.T) {
	files := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(apart, name):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		files++
		ast.Inspect(file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				return true
			}
			for _, m := range counted.FindAllStringSubmatch(text.Value, -1) {
				words := strings.Fields(m[1])
				noun := words[0]
				if len(words) > 1 && !strings.HasSuffix(noun, "s") && slices.Contains(adjectives, noun) {
					noun = words[1]
				}
				if strings.HasSuffix(noun, "s") && !slices.Contains(noPlurals, noun) {
					t.Errorf("%s: %s: use quantity.Count for the number before %q", path, text.Value, m[1])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("%d files were found, more are known", files)
	}
}

// TestNamesStay reports errors about names that look like a number of things.
func TestNamesStay(t *testing.T) {
	for _, text := range []string{"open run 1 files.zarr: nothing is here: there is no day 1 sets", `"my 1 arrays" is no index`} {
		if got := OneLine(errors.New(text)); got != text {
			t.Errorf("%q is told as %q", text, got)
		}
	}
}
