// SPDX-License-Identifier: Apache-2.0

package consolidated

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// ErrGone is the error of a member that consolidated metadata lists and the store does
// not have.
var ErrGone = errors.New("only in the consolidated metadata: no node is here any more")

// GoneText is what that error says.
var GoneText = ErrGone.Error()

// Staleness compares the consolidated metadata of an opened group with the nodes below
// it, right below it where deep is not set. It is nil where they agree, where there is no
// such metadata, and where the store cannot be listed: there the consolidated metadata is
// all that is known. Damaged nodes are not compared; whoever opens them reports them.
func Staleness(ctx context.Context, g *zarr.Group, deep bool) (*Drift, error) {
	n, err := g.Location().Metadata(ctx, nil)
	group, ok := n.(*metadata.Group)
	if err != nil || !ok {
		return nil, nil // the members themselves tell what is wrong
	}
	return StalenessOf(ctx, g, group, deep)
}

// StalenessOf is staleness of a group whose own document is known.
func StalenessOf(ctx context.Context, g *zarr.Group, group *metadata.Group, deep bool) (*Drift, error) {
	if group.Consolidated == nil {
		return nil, nil
	}
	h := g.Location().Root()
	d, err := DriftOf(ctx, g.Path(), group, &NodeWalk{Hierarchy: h, Deep: deep, tolerant: true})
	if errors.Is(err, store.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("consolidated metadata could not be compared with the nodes: %w", err)
	}
	if d.IsNone() {
		return nil, nil
	}
	return d, nil
}

// MembersThere yields the members of a group that are really there, whatever stale
// consolidated metadata says, and then what that has besides: errors of damaged entries,
// and members that are gone, whose error is errGone. Without staleness they are those of
// [zarr.Group.Members].
func MembersThere(ctx context.Context, g *zarr.Group, stale *Drift, deep bool) iter.Seq2[zarr.Member, error] {
	if stale == nil {
		return g.Members(ctx, deep)
	}
	return func(yield func(zarr.Member, error) bool) {
		for m, err := range g.Unconsolidated().Members(ctx, deep) {
			if !yield(m, err) {
				return
			}
		}
		for m, err := range g.Members(ctx, deep) {
			_, missing := slices.BinarySearch(stale.Gone, m.Path) // they are in order
			if err == nil && !missing {
				continue
			}
			if err == nil {
				m.Node, m.Err = nil, ErrGone
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// AsStored returns the group without its consolidated metadata where that is stale.
func AsStored(g *zarr.Group, stale *Drift) *zarr.Group {
	if stale == nil {
		return g
	}
	return g.Unconsolidated()
}
