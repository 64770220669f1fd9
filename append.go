// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
)

// AppendOptions are the options of appends. A nil *AppendOptions is the zero value.
type AppendOptions struct {
	// Grow chooses the new edges of a listed axis, once the edges that it has are filled.
	// The zero value is [grid.AppendOne]: one edge for each append.
	Grow grid.Growth
	// RoundUp lengthens the last new edge of a sharded array to whole inner chunks. The
	// next append fills the part beyond the extent. Without it, an append fails if inner
	// chunks do not divide the new shard.
	RoundUp bool
	// Expect is the shape that the array must have before the append, or nil for any. If
	// it has another one, the error wraps [ErrConflict]. This makes it safe to repeat an
	// append with an unknown outcome.
	Expect []int64
	// Planes is the number of indices that the axis gains. 0 derives it from the length
	// of src. It is needed only if another axis has the extent 0, as in the shape (3, 0):
	// then planes have no elements, and their number does not follow from the length of
	// src.
	Planes int64
}

func (o *AppendOptions) orZero() AppendOptions {
	if o == nil {
		return AppendOptions{}
	}
	return *o
}

// Append adds the elements of src at the end of an axis. src is in C order and has the
// shape of the array along all other axes; axis -1 is the last one. A boundary chunk is
// filled first, which reads it. All other chunks are only written.
//
// Readers see the array without the new elements, or with all of them. Several processes
// may append to one array if the store has locks or conditional writes: each appends
// after the others. In other stores the error wraps [ErrUnsafeConcurrentWrite], unless
// [Options.SingleWriter] is set. An append that repeatedly loses to other writers fails
// with [ErrConflict]. If the policy does not fit the axis, the error wraps
// [ErrInvalidArgument].
func Append[T dtype.Element](ctx context.Context, a *Array, axis int, src []T, opt *AppendOptions) error {
	e, err := elementsOf(a, src)
	if err == nil {
		err = a.append(ctx, axis, snapshot.Gain{Buffer: e}, opt.orZero())
	}
	return a.fail("append", err)
}

// AppendBytes is [Append] for any data type of fixed size. src has the elements in host
// byte order.
func (a *Array) AppendBytes(ctx context.Context, axis int, src []byte, opt *AppendOptions) error {
	return a.fail("append", a.append(ctx, axis, snapshot.Gain{Buffer: element.Buffer{Type: a.Type(), Data: src}}, opt.orZero()))
}

func (a *Array) append(ctx context.Context, axis int, more snapshot.Gain, opt AppendOptions) error {
	axis, err := a.axis(axis)
	if err != nil {
		return err
	}
	return a.change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) { return appended(s, axis, more, opt) })
}

// axis returns the number of an axis. Negative numbers count from the last axis, -1.
func (a *Array) axis(axis int) (int, error) {
	i := axis
	if i < 0 {
		i += a.Rank()
	}
	if i < 0 || i >= a.Rank() {
		return 0, fault.Argument("there is no axis %d: the array has rank %d, and axes are numbered from 0", axis, a.Rank())
	}
	return i, nil
}

// appended plans an append to s. It returns nil if there is nothing to append.
func appended(s *snapshot.Array, axis int, more snapshot.Gain, opt AppendOptions) (*snapshot.Reshape, error) {
	// A change that was made before is told from data that do not fit.
	if err := s.Expect(opt.Expect); err != nil {
		return nil, err
	}
	if err := s.CheckType(more.Buffer); err != nil {
		return nil, err
	}
	shape := s.Grid.Shape()
	count, err := more.Along(s, axis, opt.Planes)
	if err != nil || count == 0 {
		return nil, err
	}
	from := shape[axis]
	// Both terms are at least 0, so an overflow makes the sum negative.
	if shape[axis] += count; shape[axis] < 0 {
		return nil, &grid.AxisError{Axis: axis, Err: fmt.Errorf("%w: %d more than %d", ErrOverflow, count, from)}
	}
	policies := make([]grid.Growth, len(shape))
	// The chunks of segments stay as they are, after those elements that fill edges which
	// the axis has already.
	if cut := s.Grid.Axis(axis); more.Segments != nil && opt.Grow.IsAppendOne() && !cut.IsRegular() {
		if edges := more.Edges(axis, cut.Covered()-cut.Extent()); edges != nil {
			opt.Grow = grid.Preplanned(edges...)
		}
	}
	policies[axis] = s.Rounded(axis, opt.Grow, opt.RoundUp)
	g, err := s.Grid.Grown(shape, policies...)
	// A policy that needs listed edges cannot work in format 2. Say what to do instead.
	if err != nil && s.Doc.Format() == 2 && !opt.Grow.KeepsRegular() {
		err = fmt.Errorf("%w; format 2 has regular chunks only: convert the array to format 3 first (varve convert --to 3)", err)
	}
	if err == nil {
		// Check this while the requested count is known, so that the message can suggest
		// counts that fit.
		err = s.Fits(g, axis, count, opt.Grow)
	}
	if err != nil {
		return nil, err
	}
	if more.IsEmpty() { // another axis has the extent 0, so there are no chunks to write
		return &snapshot.Reshape{Grid: g}, nil
	}
	region := grid.BoxOf(shape)
	region[axis].Start = from
	return &snapshot.Reshape{Grid: g, Region: region, Gain: more}, nil
}
