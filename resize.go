// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
)

// ResizeOptions are the options of [Array.Resize]. A nil *ResizeOptions is the zero
// value.
type ResizeOptions struct {
	// Grow chooses the new edges of listed axes that grow: one policy for all axes, or
	// one for each ([grid.Grid.Grown]). The zero value is [grid.AppendOne].
	Grow []grid.Growth
	// RoundUp lengthens the last new edge of every axis to whole inner chunks, as
	// [AppendOptions.RoundUp] does.
	RoundUp bool
	// Shrink decides what happens to listed edges beyond the extent, even of axes whose
	// extent does not change. The zero value is [grid.KeepEdges]. [grid.TrimExact]
	// rewrites boundary chunks; in a store without locks no other process may write to
	// them meanwhile.
	Shrink grid.Shrink
	// KeepStale keeps what boundary chunks hold beyond the extent, as zarr-python does.
	// The old values reappear if the array grows again with KeepStale. Chunks that lie
	// completely beyond the extent are deleted in any case.
	KeepStale bool
	// Expect is the shape that the array must have before the change, or nil for any. If
	// it has another one, the error wraps [ErrConflict].
	Expect []int64
}

// Resize changes the extents of the array. Elements inside both shapes stay. New elements
// have the fill value, even where the array had other values before it shrank. Chunks
// that are no longer part of the array are deleted after the new document is published.
// The cost depends on what is added and removed, not on the size of the array.
//
// Errors are those of [Append]. In a store without locks, Resize stores the new chunks,
// although they have only fill values; if these are more than 65,536, the error wraps
// [ErrUnsafeConcurrentWrite].
func (a *Array) Resize(ctx context.Context, shape []int64, opt *ResizeOptions) error {
	var o ResizeOptions
	if opt != nil {
		o = *opt
	}
	// The shape counts from the elements that the array had.
	numbering := a.core.State().Numbering
	return a.fail("resize", a.core.Change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) {
		if s.Numbering != numbering {
			return nil, array.ErrMoved
		}
		return resized(s, shape, o)
	}))
}

// resized plans a change of the extents of s. It returns nil if nothing changes.
func resized(s *snapshot.Array, shape []int64, opt ResizeOptions) (*snapshot.Reshape, error) {
	if err := s.Expect(opt.Expect); err != nil {
		return nil, err
	}
	was := s.Grid.Shape()
	if len(shape) != len(was) {
		return nil, fault.Argument("the new shape %v has %s, the array has %d", shape, quantity.Count(len(shape), "axes"), len(was))
	}
	// Any other policy may change edges beyond the extent even if the shape stays.
	if slices.Equal(shape, was) && opt.Shrink == grid.KeepEdges {
		return nil, nil
	}
	g, err := rechunked(s, shape, opt)
	if err != nil {
		return nil, err
	}
	if err := s.Engine.Chain.CheckGrid(g); err != nil {
		return nil, refused(s, err, shape, opt)
	}
	if slices.Equal(shape, was) && snapshot.SameEdges(g, s.Grid) {
		return nil, nil
	}
	return &snapshot.Reshape{Grid: g, KeepStale: opt.KeepStale}, nil
}

// rechunked returns the grid of s for another shape.
func rechunked(s *snapshot.Array, shape []int64, opt ResizeOptions) (*grid.Grid, error) {
	// Shrunk leaves axes that grow as they are, for Grown.
	smaller, err := s.Grid.Shrunk(shape, opt.Shrink)
	if err != nil {
		return nil, err
	}
	return smaller.Grown(shape, policies(s, opt)...)
}

// refused adds advice to the error of a grid whose new shards do not consist of whole
// inner chunks.
func refused(s *snapshot.Array, err error, shape []int64, opt ResizeOptions) error {
	would := func(opt ResizeOptions) bool {
		g, err := rechunked(s, shape, opt)
		return err == nil && s.Engine.Chain.CheckGrid(g) == nil
	}
	// Suggest an option only if it would work for this shape.
	rounded, whole := opt, opt
	rounded.RoundUp, whole.Shrink = true, grid.TrimEdges
	switch {
	case would(rounded):
		return fmt.Errorf("%w: %w; or have the last shard rounded up ("+remedy.ResizeRoundUp+")", ErrInvalidArgument, err)
	case would(whole):
		return fmt.Errorf("%w: %w; or leave the last shard as long as it is ("+remedy.TrimEdges+")", ErrInvalidArgument, err)
	}
	return fmt.Errorf("%w: %w", ErrInvalidArgument, err)
}

// policies returns the growth policy of each axis, rounded up if opt asks for it.
func policies(s *snapshot.Array, opt ResizeOptions) []grid.Growth {
	// With a wrong number of policies, pass them on as they are. Grown reports the error.
	if !opt.RoundUp || len(opt.Grow) > 1 && len(opt.Grow) != s.Grid.Rank() {
		return opt.Grow
	}
	policies := make([]grid.Growth, s.Grid.Rank())
	for i := range policies {
		switch len(opt.Grow) {
		case 0:
		case 1:
			policies[i] = opt.Grow[0]
		default:
			policies[i] = opt.Grow[i]
		}
		policies[i] = s.Rounded(i, policies[i], true)
	}
	return policies
}

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
	return a.fail("unlock", a.core.Change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) {
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
		return fmt.Errorf("%w: %w; without "+remedy.Trim+" the last shards stay as long as they are", ErrInvalidArgument, err)
	}
	return nil
}
