// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"bufio"
	"bytes"
	"errors"
	"path"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/internal/consolidation"
)

// TestTreeBelowLeaves adds members to groups that share a branch, and to groups without a
// document, in any order.
func TestTreeBelowLeaves(t *testing.T) {
	root := &branch{}
	at := map[string]*branch{".": root}
	for _, name := range []string{"b", "a", "c"} {
		root.members = append(root.members, twig{name, newBranch(zarr.Member{Path: name, Kind: groupKind})})
	}
	for _, p := range []string{"c/x", "b/y", "a/z/deep", "none/w", "b/v"} {
		parent := branchAt(at, path.Dir(p))
		parent.members = append(parent.members, twig{path.Base(p), newBranch(zarr.Member{Path: p, Kind: arrayKind, Err: consolidation.ErrGone})})
	}
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	if err := errors.Join((&twig{"top", root}).printBelow(w, ""), w.Flush()); err != nil {
		t.Fatal(err)
	}
	want := "├── b\n│   ├── y  array  gone\n│   └── v  array  gone\n├── a\n│   └── z  group  without a document\n│       └── deep  array  gone\n" +
		"├── c\n│   └── x  array  gone\n└── none  group  without a document\n    └── w  array  gone\n"
	if got := strings.ReplaceAll(out.String(), consolidated.GoneText, "gone"); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if len(sharedBranches.group.members) > 0 {
		t.Error("the shared empty leaf has members")
	}
}
