// SPDX-License-Identifier: Apache-2.0

package house

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// widest is the number of columns that a line of comment may have.
	widest = 90
	// tab is the width of a tab in columns.
	tab = 4
)

// TestWidth checks the width of comments that have lines of their own. Code in comments,
// the output of examples, and what cannot be broken may be wider.
func TestWidth(t *testing.T) {
	for dir, module := range source(t) {
		for _, f := range module {
			output := false
			for i, line := range strings.Split(string(f.Source), "\n") {
				text, isComment := strings.CutPrefix(strings.TrimLeft(line, "\t"), "//")
				output = isComment && (output || isOutput(text))
				width := utf8.RuneCountInString(line) + (tab-1)*(len(line)-len(strings.TrimLeft(line, "\t")))
				if isComment && width > widest && !output && isProse(text) {
					t.Errorf("%s:%d: a comment of %d columns, where %d are allowed", filepath.Join(dir, f.Path), i+1, width, widest)
				}
			}
		}
	}
}

// isProse reports whether the text after the slashes of a comment can be broken into
// lines: it is neither a directive, nor code, nor a single word.
func isProse(text string) bool {
	prose, ok := strings.CutPrefix(text, " ")
	return ok && !strings.HasPrefix(prose, " ") && strings.Contains(prose, " ")
}

// isOutput reports whether the output of an example begins after the slashes.
func isOutput(text string) bool {
	return strings.HasPrefix(text, " Output:") || strings.HasPrefix(text, " Unordered output:")
}
