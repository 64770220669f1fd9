// SPDX-License-Identifier: Apache-2.0

package consolidation

import (
	"context"
	"errors"
	"iter"
	"slices"

	"varve.dev/zarr"
)

// ErrGone is the error of a member that is in the consolidated metadata but not in the
// store.
var ErrGone = errors.New("only in the consolidated metadata: the node does not exist any more")

// Members yields the members of a group that exist in the store. Then it yields what
// only stale consolidated metadata has: errors of damaged entries, and members with the
// error ErrGone. If stale is nil, it yields [zarr.Group.Members].
func Members(ctx context.Context, g *zarr.Group, stale *Drift, deep bool) iter.Seq2[zarr.Member, error] {
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
