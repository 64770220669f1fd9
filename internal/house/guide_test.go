// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exampleMark is where a document has an example: its folder and its name.
var exampleMark = regexp.MustCompile("(?m)^<!-- example (\\S+) (\\S+) -->\n(?:\n```go\n(?s:.*?)\n```\n)?")

// TestGuide compares the blocks of documents with the examples that they are copies of:
// VARVE_UPDATE=1 go test -run TestGuide . copies them again.
func TestGuide(t *testing.T) {
	examples := exampleBodies(t)
	checkExamples(t, examples, "guide.md", 10)
	checkExamples(t, examples, "cf.md", 4)
	checkExamples(t, examples, "ragged.md", 1)
	checkExamples(t, examples, "integrity.md", 1)
}

// exampleBodies returns the bodies of the examples of the core by their folder and name.
func exampleBodies(t *testing.T) map[string]string {
	examples := map[string]string{}
	for dir, files := range source(t) {
		if dir != filepath.Clean(Root) {
			continue
		}
		for _, f := range files {
			for d := range functions(f) {
				if f.IsTest() && strings.HasPrefix(d.Name.Name, "Example") {
					body := f.Source[f.Set.Position(d.Body.Lbrace).Offset+1 : f.Set.Position(d.Body.Rbrace).Offset]
					examples[f.Folder()+" "+d.Name.Name] = strings.ReplaceAll(strings.Trim(string(body), "\n"), "\n\t", "\n")[1:]
				}
			}
		}
	}
	return examples
}

// checkExamples compares the blocks of a document, at least so many, with the examples.
func checkExamples(t *testing.T, examples map[string]string, document string, least int) {
	name := filepath.Join(Root, "docs", document)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	want := exampleMark.ReplaceAllStringFunc(string(text), func(block string) string {
		n++
		m := exampleMark.FindStringSubmatch(block)
		body, ok := examples[m[1]+" "+m[2]]
		if !ok {
			t.Errorf("%s has an example %s of the folder %s, which does not exist", document, m[2], m[1])
		}
		return "<!-- example " + m[1] + " " + m[2] + " -->\n\n```go\n" + body + "\n```\n"
	})
	if n < least {
		t.Errorf("%s has %d examples, at least %d were there", document, n, least)
	}
	if os.Getenv("VARVE_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		text = []byte(want)
	}
	if string(text) != want {
		t.Errorf("%s is not what the examples are; VARVE_UPDATE=1 copies them again", document)
	}
}

// code is a block of code, or code in a line, which may look like a link.
var code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// link is a link of Markdown to a file of the repository.
var link = regexp.MustCompile(`\]\(([^):# ]+)(?:#[^)]*)?\)`)

// TestLinksOfDocuments checks that documents link to files that exist.
func TestLinksOfDocuments(t *testing.T) {
	documents, err := filepath.Glob(filepath.Join(Root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(Root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range append(documents, more...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			n++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n < 30 {
		t.Errorf("%d links are found", n)
	}
}
