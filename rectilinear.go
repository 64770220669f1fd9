// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
)

// RectilinearOptions are the options of [Array.MakeRectilinear]. A nil
// *RectilinearOptions is the zero value.
type RectilinearOptions struct {
	// Axes are the numbers of the axes, -1 for the last one. Nil means all.
	Axes []int
	// Trim cuts the last edge of every axis at the extent and rewrites the boundary
	// chunks, so that appends never write to them again. Without it, the last edge
	// reaches beyond the extent until appends have filled it.
	//
	// In a store without locks no other process may write to these chunks meanwhile: its
	// elements could be lost. If a chunk decodes in both shapes, such as packbits without
	// padding_encoding with equal sizes, the error wraps [ErrUnsupported] and nothing
	// changes.
	Trim bool
}

// MakeRectilinear turns regular axes into listed ones, so that the array can grow by any
// length without rewriting its last chunk. Only the document changes, unless opt.Trim is
// set. Axes that are listed already stay as they are, apart from what Trim does. The
// command calls it unlock.
func (a *Array) MakeRectilinear(ctx context.Context, opt *RectilinearOptions) error {
	var o RectilinearOptions
	if opt != nil {
		o = *opt
	}
	axes := make([]int, len(o.Axes))
	for i, axis := range o.Axes {
		var err error
		if axes[i], err = a.axis(axis); err != nil {
			return a.fail("unlock", err)
		}
	}
	return a.fail("unlock", a.change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) {
		if s.Grid.Rank() == 0 {
			return nil, nil // no axes
		}
		g, err := s.Grid.Unlocked(axes...)
		if err == nil && o.Trim {
			// The shape stays, so this only cuts the last edges at the extent.
			if g, err = g.Shrunk(g.Shape(), grid.TrimExact); err == nil {
				err = trims(s, g)
			}
		}
		if err != nil || snapshot.SameEdges(g, s.Grid) {
			return nil, err
		}
		return &snapshot.Reshape{Grid: g}, nil
	}))
}

// trims returns an error if a boundary shard would not consist of whole inner chunks.
func trims(s *snapshot.Array, g *grid.Grid) error {
	if err := s.Engine.Chain.CheckGrid(g); err != nil {
		return fmt.Errorf("%w: %w; without RectilinearOptions.Trim the last shards stay as long as they are", ErrInvalidArgument, err)
	}
	return nil
}
