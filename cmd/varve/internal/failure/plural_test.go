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
var counted = regexp.MustCompile(`%[dv] ((?:[a-z]+ )?[a-z]+)`)

// noPlurals are words in s behind a number that are no plurals: verbs, of which a number
// is the subject, as in "axis 1 has", and others.
var noPlurals = strings.Fields(`after appends as begins belongs bytes-of claims comes count degrees-of differs does ends exceeds has is its keeps kills lacks leaves less lies makes needs
	reads says stops takes was without`)

// TestSingular checks all messages in the source with the number 1: none has a plural
// behind it.
func TestSingular(t *testing.T) {
	found := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"testdata", "bench", "interop", "tools", "examples", "test", "house", "layers"}, name):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(path, "codectest") || strings.Contains(path, "storetest"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
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
				if !strings.HasSuffix(noun, "s") || slices.Contains(noPlurals, noun) {
					continue
				}
				found++
				message := "of 1 " + m[1]
				if got := OneLine(errors.New(message)); got == message {
					t.Errorf("%s: %s: %q is told with a one: add the noun to nouns, or use a function for the number", path, text.Value, message)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 300 {
		t.Errorf("%d numbers were found, more are known", found)
	}
}

// adjectives are those of the pattern one.
var adjectives = strings.Split(regexp.MustCompile(`\(\?:([a-z|]+)\) \)\?`).FindStringSubmatch(one.String())[1], "|")

// TestSingularOf changes what there is one of, and nothing else.
func TestSingularOf(t *testing.T) {
	for text, want := range map[string]string{
		"1 axes selected, the array has 1":          "1 axis selected, the array has 1",
		"a: 1 dimension names for 2 dimensions":     "a: 1 dimension name for 2 dimensions",
		"1 bytes are too few, 1 entries":            "1 byte is too few, 1 entry",
		"(1 values follow)":                         "(1 value follows)",
		"1 bytes do not fit 1 blocks":               "1 byte does not fit 1 block",
		"1 elements have 1 indices, 1 more rows":    "1 element has 1 index, 1 more row",
		"1,001 bytes, 0.1 bytes, 21 axes, x1 bytes": "1,001 bytes, 0.1 bytes, 21 axes, x1 bytes",
		"axis 1 has 11 elements at 1":               "axis 1 has 11 elements at 1",
		"key c/1 bytes, t:1 bytes, -1 values":       "key c/1 bytes, t:1 bytes, -1 values",
	} {
		if got := OneLine(errors.New(text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
