// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// deletesByHand matches advice to delete files that Varve has made. A repeated call, a
// command or a vacuum does that: only these know what nobody needs.
var deletesByHand = regexp.MustCompile(`by hand, (delete|remove)|remove its %s|delete (that|the) record|(are|be) left: delete them|or delete them"|remove it if (no|the)`)

// TestNothingIsDeletedByHand checks that no message tells users to delete what belongs to
// Varve.
func TestNothingIsDeletedByHand(t *testing.T) {
	for _, files := range source(t) {
		for _, f := range files {
			if f.IsTest() {
				continue
			}
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && deletesByHand.MatchString(l.Value) {
					t.Errorf("%s says %s", f.Path, l.Value)
				}
				return true
			})
		}
	}
}

// named matches options and functions of the library in a message.
var named = regexp.MustCompile(`\b(\w*Options|Limits|Experimental|Join|Collector|Addition|Group|Array|Location)\.[A-Z]\w+|` +
	`\b(zarr|rechunk|convert|check|transfer|virtual|filter|grid|pyramid)\.[A-Z]\w+`)

// TestRemediesAreConstants checks that messages name options and functions only by the
// constants of package remedy, in whose place the command puts its own words.
func TestRemediesAreConstants(t *testing.T) {
	files, err := Read(Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch folder, _, _ := strings.Cut(f.Path, "/"); {
		case f.IsTest() || f.Folder() == "internal/remedy" || slices.Contains([]string{"tools", "examples"}, folder):
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && named.MatchString(l.Value) {
				t.Errorf("%s says %s, which package remedy has no constant for", f.Path, l.Value)
			}
			return true
		})
	}
}
