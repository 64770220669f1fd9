// SPDX-License-Identifier: Apache-2.0

package streaming

import (
	"math"
	"runtime/debug"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
)

// Open returns a stream that appends to an array along an axis. base is the newest
// state of the array.
func Open(base *snapshot.Array, axis int, target Target, opt Options) (*Stream, error) {
	if opt.Every < 0 || opt.Budget < 0 {
		return nil, fault.Argument("Every is %d and Budget is %d, but neither may be negative", opt.Every, opt.Budget)
	}
	if opt.Budget == 0 {
		// A negative argument only returns the limit.
		opt.Budget = min(1<<30, debug.SetMemoryLimit(-1)/2)
	}
	if err := base.Expect(opt.Expect); err != nil {
		return nil, err
	}
	s := &Stream{target: target, axis: axis, opt: opt, base: base, grid: base.Grid, next: base.Grid.Axis(axis).Extent()}
	if err := s.measure(); err != nil {
		return nil, err
	}
	// s.next + 1 would overflow.
	if s.next == math.MaxInt64 {
		return nil, &grid.AxisError{Axis: axis, Err: grid.ErrOverflow}
	}
	if err := s.plan(s.next + 1); err != nil {
		return nil, err
	}
	return s, s.check()
}

// check returns an error if the chunks could not be written, before any plane is held.
func (s *Stream) check() error {
	planned := s.planned
	if planned.Engine.Chain.Divided() {
		// A shard is never in memory as a whole, so only the number of its inner chunks
		// counts.
		return planned.CheckShards(s.target.InnerChunks)
	}
	shape := make([]int64, planned.Grid.Rank())
	for i := range shape {
		axis := planned.Grid.Axis(i)
		cells := grid.Interval{Stop: axis.Chunks()}
		// The stream does not write to earlier chunks along its axis.
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
