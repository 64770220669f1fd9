// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongUses uses commands that change or look at rows and attributes in wrong ways.
// The message says what is wrong with which argument, and what to do.
func TestWrongUses(t *testing.T) {
	g := calendarGroup(t)
	f := files(t, "[[1]]")[0]
	for _, c := range []struct{ line, want string }{
		{"insert G/first F --at 2020-01-03", "append --by COORD inserts late planes"},
		{"insert G/first F --at x", `"x" is not the index of an element`},
		{"insert G/first F --at -1", "from 0 on"},
		{"insert G/first F", "say where, as in --at 0"},
		{"insert G --axis time --at 0 F", "G: it is a group: name the arrays"},
		{"insert G --at 0 first=F", "give the name of a dimension"},
		{"stitch G/first", "SEGMENT is missing"},
		{"stitch", "NODE is missing"},
		{"stitch G/first G/first", "varve stitch GROUP SEGMENT"},
		{"stitch G/first G", "is a group, and"},
		{"stitch G G/first", "stitch it to an array"},
		{"attrs G/first units=K", `did you mean set units '"K"'?`},
		{"attrs G/first set units=K", `did you mean set units '"K"'?`},
		{"attrs G/first set units", "JSON is missing"},
		{"attrs G/first set", "KEY is missing"},
		{"attrs G/first units", "did you mean get units?"},
		{"attrs G/first delete units", "did you mean unset?"},
		{"attrs G/first sett units 1", "did you mean set?"},
		{"attrs set G/first units 1", "the node comes first"},
		{"filter G G --where time>3", "filter G: the destination is the node itself"},
		{"filter G G/new --where time>3", "filter G: the destination lies in the node"},
		{"filter G TO --where time=3", "write == in place of ="},
		{"filter G TO", "give a condition (--where) or a file of booleans (--mask)"},
		{"reservations G/first --cancel x", "there is no reservation x"},
		{"reservations G/first x", `unexpected argument "x"`},
	} {
		var args []string
		for word := range strings.FieldsSeq(c.line) {
			word = strings.ReplaceAll(strings.Replace(word, "TO", filepath.Join(t.TempDir(), "to.zarr"), 1), "=F", "="+f)
			switch {
			case word == "F":
				word = f
			case word == "G" || strings.HasPrefix(word, "G/"):
				word = g + word[1:]
			}
			args = append(args, word)
		}
		_, stderr, status := execute(t, "", args...)
		if said := strings.ReplaceAll(stderr, g, "G"); status == 0 || !strings.Contains(said, c.want) {
			t.Errorf("%s: status %d, %s, want %q", c.line, status, said, c.want)
		}
	}
}
