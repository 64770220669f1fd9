// SPDX-License-Identifier: Apache-2.0

// Package consolidated says how the consolidated metadata of groups differs from the
// documents of their members, in the words of the command.
package consolidated

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
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
	is, err := metadata.Record(a.Metadata(), metadata.Limits{})
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

// FindDrift compares the consolidated metadata of the group at a location with all nodes
// below it. Without consolidated metadata, all nodes are new. It calls found for each
// node.
func FindDrift(ctx context.Context, location string, found func()) (*consolidation.Drift, error) {
	at, err := zarr.Locate(ctx, location, store.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer node.Close(at)
	node, err := at.Metadata(ctx, nil)
	if err != nil {
		return nil, err
	}
	group, ok := node.(*metadata.Group)
	if !ok {
		return nil, failure.BadArgument("%s is an array; only groups have consolidated metadata", location)
	}
	return consolidation.Compare(ctx, at, group, &consolidation.Options{Found: found})
}

// GoneText is the message of [consolidation.ErrGone].
var GoneText = consolidation.ErrGone.Error()

// StaleText reports that consolidated metadata is stale, and what to do.
func StaleText(d *consolidation.Drift) string { return failure.Remedied(d.Message()) }

// Undecodable reports whether an error means that there is a node which this program
// cannot interpret.
func Undecodable(err error) bool {
	return errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, zarr.ErrInvalidMetadata)
}
