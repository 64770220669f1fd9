// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"math"
	"runtime/debug"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/fault"
)

// Stream returns a stream that appends planes at the end of an axis. It reads only the
// document.
//
// A listed axis without chunks needs [StreamOptions.Every] or a policy. The error wraps
// [ErrInvalidArgument] if inner chunks do not divide the edges, if the policy does not fit
// the axis, or if planes have no elements.
func (a *Array) Stream(ctx context.Context, axis int, opt *StreamOptions) (*Stream, error) {
	var o StreamOptions
	if opt != nil {
		o = *opt
	}
	s, err := a.stream(ctx, axis, o)
	if err != nil {
		return nil, a.fail("stream", err)
	}
	return s, nil
}

func (a *Array) stream(ctx context.Context, axis int, opt StreamOptions) (*Stream, error) {
	if err := a.writable(); err != nil {
		return nil, err
	}
	axis, err := a.axis(axis)
	if err != nil {
		return nil, err
	}
	if opt.Every < 0 || opt.Budget < 0 {
		return nil, fault.Argument("Every is %d and Budget %d, neither can be negative", opt.Every, opt.Budget)
	}
	if opt.Budget == 0 {
		opt.Budget = min(1<<30, debug.SetMemoryLimit(-1)/2)
	}
	base, err := a.fresh(ctx, a.state.Load())
	if err == nil {
		err = base.Expect(opt.Expect)
	}
	if err != nil {
		return nil, err
	}
	s := &Stream{array: a, axis: axis, opt: opt, base: base, grid: base.Grid, next: base.Grid.Axis(axis).Extent()}
	if err := s.measure(); err != nil {
		return nil, err
	}
	if s.next == math.MaxInt64 {
		return nil, &grid.AxisError{Axis: axis, Err: ErrOverflow}
	}
	if err := s.plan(s.next + 1); err != nil {
		return nil, err
	}
	return s, s.check()
}

// check returns an error if the chunks could not be written, before any plane is held.
func (s *Stream) check() error {
	planned, limits := s.planned, s.array.options.Limits
	if planned.Engine.Chain.Divided() {
		return planned.CheckShards(limits.innerChunks())
	}
	shape := make([]int64, planned.Grid.Rank())
	for i := range shape {
		axis := planned.Grid.Axis(i)
		cells := grid.Interval{Stop: axis.Chunks()}
		if i == s.axis {
			cells.Start = cells.Stop - 1
		}
		shape[i] = axis.Longest(cells)
	}
	_, err := planned.Engine.ChunkBytes(shape)
	return err
}

// measure sets the size of a plane and the length of a chunk along the axis.
func (s *Stream) measure() error {
	shape := s.base.Grid.Shape()
	shape[s.axis] = 1
	var ok bool
	if s.plane, ok = checked.Product(append(shape, int64(s.base.Engine.Size))...); !ok || s.plane == 0 {
		return fault.Argument("planes of shape %v along axis %d: a stream needs planes with elements, and with less than 2^63 bytes; "+
			"Append takes planes without elements (AppendOptions.Planes)", shape, s.axis)
	}
	axis := s.base.Grid.Axis(s.axis)
	s.policy = s.opt.Grow
	if s.exact = !axis.IsRegular() && s.opt.Grow.IsAppendOne(); !s.exact {
		return nil
	}
	if s.edge = s.opt.Every; s.edge == 0 {
		last, ok := axis.Cell(axis.Cells() - 1)
		if !ok {
			return &grid.AxisError{Axis: s.axis, Err: fault.Argument("there is no chunk yet: say how many planes a new one has (Every), or give a policy (Grow)")}
		}
		s.edge = last.Edge
	}
	s.policy = grid.Fixed(s.edge)
	return nil
}
