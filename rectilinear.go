package zarr

import (
	"context"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
)

// RectilinearOptions says how axes become lists. A nil *RectilinearOptions means the zero
// RectilinearOptions.
type RectilinearOptions struct {
	// Axes are the numbers of the axes, -1 for the last one; nil stands for all.
	Axes []int
	// Trim stores the last chunk of every axis anew, without what reaches beyond the
	// array, so that appends never write to it again. Otherwise its edge reaches beyond
	// the extent until appends have filled it. In a store without locks nobody may write
	// to these chunks meanwhile, since what is stored anew could be older. Chunks that
	// could be read in either shape, as those of packbits without padding_encoding that
	// take as many bytes, wrap [ErrUnsupported], and nothing changes.
	Trim bool
}

// MakeRectilinear lists the chunk lengths of axes that have one length, so that the array can grow
// by any length: a regular grid becomes a rectilinear one, by its document alone. Listed
// axes stay as they are, but for what Trim asks for.
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
			return nil, nil // there is nothing to list
		}
		g, err := s.Grid.Unlocked(axes...)
		if err == nil && o.Trim {
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

// trims refuses a grid whose last shards have no whole number of inner chunks.
func trims(s *snapshot.Array, g *grid.Grid) error {
	if err := s.Engine.Chain.CheckGrid(g); err != nil {
		return fmt.Errorf("%w: %w; without RectilinearOptions.Trim the last shards stay as long as they are", ErrInvalidArgument, err)
	}
	return nil
}
