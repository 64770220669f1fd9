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

// ErrGone is the error of a member that is in the consolidated metadata but not in the
// store.
var ErrGone = errors.New("only in the consolidated metadata: the node does not exist any more")

// GoneText is the message of ErrGone.
var GoneText = ErrGone.Error()

// Staleness compares the consolidated metadata of an opened group with the nodes below
// it, or directly below it if deep is false. It returns nil if they agree, if there is no
// consolidated metadata, or if the store cannot list. Damaged nodes are not compared;
// opening them reports the damage.
func Staleness(ctx context.Context, g *zarr.Group, deep bool) (*Drift, error) {
	n, err := g.Location().Metadata(ctx, nil)
	group, ok := n.(*metadata.Group)
	if err != nil || !ok {
		return nil, nil // opening the members reports the error
	}
	return StalenessOf(ctx, g, group, deep, nil)
}

// StalenessOf is Staleness for a group whose document is known. early may be nil.
func StalenessOf(ctx context.Context, g *zarr.Group, group *metadata.Group, deep bool, early *Early) (*Drift, error) {
	if group.Consolidated == nil {
		return nil, nil
	}
	h := g.Location().Root()
	d, err := DriftOf(ctx, g.Path(), group, &NodeWalk{Hierarchy: h, Deep: deep, Early: early, tolerant: true})
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

// MembersThere yields the members of a group that exist in the store. Then it yields what
// only stale consolidated metadata has: errors of damaged entries, and members with the
// error ErrGone. If stale is nil, it yields [zarr.Group.Members].
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
		// This walk follows the consolidated metadata. Skip what the first walk has
		// yielded.
		for m, err := range g.Members(ctx, deep) {
			_, missing := slices.BinarySearch(stale.Gone, m.Path) // Gone is sorted
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

// AsStored returns the group without its consolidated metadata if that is stale.
func AsStored(g *zarr.Group, stale *Drift) *zarr.Group {
	if stale == nil {
		return g
	}
	return g.Unconsolidated()
}
