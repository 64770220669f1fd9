// SPDX-License-Identifier: Apache-2.0

package consolidated

import (
	"context"
	"fmt"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/check/consolidation"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/metadata"
)

// LargestCopy bounds the document of a group, in bytes, in which info looks for a copy of
// an array's metadata.
const LargestCopy = 1 << 20

// OlderCopies returns a note for every group above the array whose consolidated metadata
// differs from the array's document or lacks it. It skips groups that cannot be read or
// are large.
func OlderCopies(ctx context.Context, location string, a *zarr.Array) []string {
	path := a.Path()
	root, ok := strings.CutSuffix(node.Clean(location), "/"+path)
	if !ok || path == "" {
		return nil
	}
	is, err := a.Metadata().Record(metadata.Limits{})
	if err != nil {
		return nil
	}
	var notes []string
	for above := path; above != ""; {
		above = above[:max(0, strings.LastIndexByte(above, '/'))]
		node, err := a.Location().Root().At(above).Metadata(ctx, &zarr.Options{Limits: zarr.Limits{Document: LargestCopy}})
		g, ok := node.(*metadata.Group)
		if err != nil || !ok || g == nil || g.Consolidated == nil || g.Format() != a.Format() {
			continue
		}
		// A damaged entry is reported like an old one, because consolidate replaces both.
		if !consolidation.Agrees(g.Consolidated, strings.TrimPrefix(path[len(above):], "/"), is) {
			group := strings.TrimSuffix(root+"/"+above, "/")
			notes = append(notes, fmt.Sprintf("the consolidated metadata of %s is older than this array: varve consolidate updates it", group))
		}
	}
	return notes
}
