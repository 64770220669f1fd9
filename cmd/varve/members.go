package main

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

// errGone is the error of a member that consolidated metadata lists and the store does
// not have.
var errGone = errors.New("only in the consolidated metadata: no node is here any more")

// goneText is what that error says.
var goneText = errGone.Error()

// staleness compares the consolidated metadata of an opened group with the nodes below
// it, right below it where deep is not set. It is nil where they agree, where there is no
// such metadata, and where the store cannot be listed: there the consolidated metadata is
// all that is known. Damaged nodes are not compared; whoever opens them reports them.
func staleness(ctx context.Context, g *zarr.Group, deep bool) (*drift, error) {
	n, err := g.Location().Metadata(ctx, nil)
	group, ok := n.(*metadata.Group)
	if err != nil || !ok {
		return nil, nil // the members themselves tell what is wrong
	}
	return stalenessOf(ctx, g, group, deep)
}

// stalenessOf is staleness of a group whose own document is known.
func stalenessOf(ctx context.Context, g *zarr.Group, group *metadata.Group, deep bool) (*drift, error) {
	if group.Consolidated == nil {
		return nil, nil
	}
	h := g.Location().Root()
	d, err := driftOf(ctx, g.Path(), group, &nodeWalk{hierarchy: h, deep: deep, tolerant: true})
	if errors.Is(err, store.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("consolidated metadata could not be compared with the nodes: %w", err)
	}
	if d.isNone() {
		return nil, nil
	}
	return d, nil
}

// membersThere yields the members of a group that are really there, whatever stale
// consolidated metadata says, and then what that has besides: errors of damaged entries,
// and members that are gone, whose error is errGone. Without staleness they are those of
// [zarr.Group.Members].
func membersThere(ctx context.Context, g *zarr.Group, stale *drift, deep bool) iter.Seq2[zarr.Member, error] {
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
				m.Node, m.Err = nil, errGone
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// asStored returns the group without its consolidated metadata where that is stale.
func asStored(g *zarr.Group, stale *drift) *zarr.Group {
	if stale == nil {
		return g
	}
	return g.Unconsolidated()
}
