// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/token"
	"regexp"
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
