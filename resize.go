package zarr

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
)

// ResizeOptions says how the extents of an array change. A nil *ResizeOptions means the
// zero ResizeOptions.
type ResizeOptions struct {
	// Grow says which edges axes with listed edges get where the ones they have do not
	// reach; see [grid.Grid.Grown] for what one policy means for several axes. The zero
	// value is [grid.AppendOne].
	Grow []grid.Growth
	// RoundUp lengthens the last new edge of every axis to whole inner chunks; see
	// [AppendOptions].
	RoundUp bool
	// Shrink says what becomes of listed edges beyond the extent, also where the extent
	// stays. The zero value is [grid.KeepEdges]. While [grid.TrimExact] stores last
	// chunks anew in a store without locks, nobody may write to them.
	Shrink grid.Shrink
	// KeepStale leaves what chunks hold beyond the extent, so that old values come back
	// when the array grows again with it: what zarr-python does. Chunks that lie wholly
	// beyond the extent are deleted all the same.
	KeepStale bool
	// Expect is the shape that the array has to have before; nil stands for any. Another
	// one wraps [ErrConflict].
	Expect []int64
}

// Resize changes the extents of the array. Elements within both shapes stay. What an
// array grows by is the fill value, whatever it held before it once shrank; chunks that
// it shrinks by are deleted after readers have been told. What it costs follows what is
// added and removed, not the array.
//
// Errors are those of [Append]. In a store without locks new chunks of fill values are
// stored; more than 65,536 of them wrap [ErrUnsafeConcurrentWrite].
func (a *Array) Resize(ctx context.Context, shape []int64, opt *ResizeOptions) error {
	var o ResizeOptions
	if opt != nil {
		o = *opt
	}
	return a.fail("resize", a.change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) { return resized(s, shape, o) }))
}

// resized plans to change the extents of the newest state, nil where nothing changes.
func resized(s *snapshot.Array, shape []int64, opt ResizeOptions) (*snapshot.Reshape, error) {
	if err := s.Expect(opt.Expect); err != nil {
		return nil, err
	}
	was := s.Grid.Shape()
	if len(shape) != len(was) {
		return nil, fault.Argument("the new shape %v has %d axes, the array has %d", shape, len(shape), len(was))
	}
	if slices.Equal(shape, was) && opt.Shrink == grid.KeepEdges {
		return nil, nil
	}
	g, err := regridded(s, shape, opt)
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

// regridded returns the grid of another shape.
func regridded(s *snapshot.Array, shape []int64, opt ResizeOptions) (*grid.Grid, error) {
	smaller, err := s.Grid.Shrunk(shape, opt.Shrink)
	if err != nil {
		return nil, err
	}
	return smaller.Grown(shape, policies(s, opt)...)
}

// refused adds to what is wrong with new shards, which have no whole number of inner
// chunks, what would do.
func refused(s *snapshot.Array, err error, shape []int64, opt ResizeOptions) error {
	would := func(opt ResizeOptions) bool {
		g, err := regridded(s, shape, opt)
		return err == nil && s.Engine.Chain.CheckGrid(g) == nil
	}
	rounded, whole := opt, opt
	rounded.RoundUp, whole.Shrink = true, grid.TrimEdges
	switch {
	case would(rounded):
		return fmt.Errorf("%w: %w; or have the last shard rounded up (ResizeOptions.RoundUp)", ErrInvalidArgument, err)
	case would(whole):
		return fmt.Errorf("%w: %w; or leave the last shard as long as it is (grid.TrimEdges)", ErrInvalidArgument, err)
	}
	return fmt.Errorf("%w: %w", ErrInvalidArgument, err)
}

// policies returns those by which axes grow, rounded up where that is asked for.
func policies(s *snapshot.Array, opt ResizeOptions) []grid.Growth {
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
