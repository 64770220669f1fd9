// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testName matches a test or fuzz target in a document. An ellipsis at its end stands for
// all tests with that prefix.
var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)(…?)")

// TestTestsAreThere checks that the tests named in documents exist.
func TestTestsAreThere(t *testing.T) {
	var names []string
	for _, files := range source(t) {
		for _, f := range files {
			for d := range functions(f) {
				if f.IsTest() && receiver(d) == "" {
					names = append(names, d.Name.Name)
				}
			}
		}
	}
	all := "\n" + strings.Join(names, "\n") + "\n"
	for _, doc := range []string{"CORRECTNESS.md", "TESTING.md", "README.md", "ARCHITECTURE.md", "PERFORMANCE.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(Root, doc))
		if err != nil {
			t.Fatal(err)
		}
		named := testName.FindAllStringSubmatch(string(text), -1)
		for _, m := range named {
			end := "\n"
			if m[2] != "" {
				end = ""
			}
			if !strings.Contains(all, "\n"+m[1]+end) {
				t.Errorf("%s names %s, which is not there", doc, m[1])
			}
		}
		if doc == "CORRECTNESS.md" && len(named) < 40 {
			t.Errorf("%s names %d tests", doc, len(named))
		}
	}
}

// pathName is a file or a folder of the repository as the map of CONTRIBUTING.md names
// it.
var pathName = regexp.MustCompile("`([a-z.][A-Za-z0-9/._-]*|[A-Z]+\\.md)`")

// TestMapIsTrue checks that the files and folders which CONTRIBUTING.md says to look at
// exist.
func TestMapIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(Root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Where do I change what")
	table, _, _ := strings.Cut(rest, "\n## ")
	named := pathName.FindAllStringSubmatch(table, -1)
	for _, m := range named {
		if _, err := os.Stat(filepath.Join(Root, m[1])); err != nil {
			t.Errorf("CONTRIBUTING.md: %v", err)
		}
	}
	if len(named) < 30 {
		t.Errorf("%d files and folders are found in the map", len(named))
	}
}
