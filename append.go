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

// AppendOptions says how an array grows by elements. A nil *AppendOptions means the zero
// AppendOptions.
type AppendOptions struct {
	// Grow says which edges an axis with listed edges gets where the ones it has do not
	// reach. The zero value is [grid.AppendOne]: one edge for what is appended.
	Grow grid.Growth
	// RoundUp lengthens the last new edge to whole inner chunks where chunks are shards.
	// Its end lies beyond the extent then, and is filled by the next append. Otherwise a
	// shard that inner chunks do not divide is refused.
	RoundUp bool
	// Expect is the shape that the array has to have before; nil stands for any. An array
	// of another shape wraps [ErrConflict], so that an append which is repeated, because
	// nobody knew how it ended, is not done twice.
	Expect []int64
	// Planes is how many indices the axis gains; 0 leaves it to src, whose length tells.
	// Only an array that is empty along another axis needs it, as one of shape (3, 0):
	// its planes have no elements, so no src tells how many there are.
	Planes int64
}

func (o *AppendOptions) orZero() AppendOptions {
	if o == nil {
		return AppendOptions{}
	}
	return *o
}

// Append grows the array along an axis by the elements of src, which is in C order and as
// long as the array along all other axes. On an axis with listed edges it writes new
// chunks and the document and reads nothing, once edges that reach beyond the extent are
// filled. A regular axis fills its last chunk first.
//
// Readers see the array without the new elements, or with all of them. Several programs
// may append to an array in a store with locks or with conditional writes: each appends
// behind the others. One that is overtaken again and again gives up with [ErrConflict];
// without either power the error wraps [ErrUnsafeConcurrentWrite]. A policy that does not
// go with the axis wraps [ErrInvalidArgument].
func Append[T dtype.Element](ctx context.Context, a *Array, axis int, src []T, opt *AppendOptions) error {
	e, err := elementsOf(a, src)
	if err == nil {
		err = a.append(ctx, axis, snapshot.Gain{Buffer: e}, opt.orZero())
	}
	return a.fail("append", err)
}

// AppendBytes is [Append] for an array of any type: src has the elements in the byte
// order of the host.
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

// axis returns the number of an axis that may be counted from the last one, which is -1.
func (a *Array) axis(axis int) (int, error) {
	i := axis
	if i < 0 {
		i += a.Rank()
	}
	if i < 0 || i >= a.Rank() {
		return 0, fault.Argument("axis %d of an array with %d axes", axis, a.Rank())
	}
	return i, nil
}

// appended plans to append elements to the newest state, nil where there are none.
func appended(s *snapshot.Array, axis int, more snapshot.Gain, opt AppendOptions) (*snapshot.Reshape, error) {
	if err := s.CheckType(more.Buffer); err != nil {
		return nil, err
	}
	if err := s.Expect(opt.Expect); err != nil {
		return nil, err
	}
	shape := s.Grid.Shape()
	count, err := more.Along(s, axis, opt.Planes)
	if err != nil || count == 0 {
		return nil, err
	}
	from := shape[axis]
	if shape[axis] += count; shape[axis] < 0 {
		return nil, &grid.AxisError{Axis: axis, Err: fmt.Errorf("%w: %d more than %d", ErrOverflow, count, from)}
	}
	policies := make([]grid.Growth, len(shape))
	policies[axis] = s.Rounded(axis, opt.Grow, opt.RoundUp)
	g, err := s.Grid.Grown(shape, policies...)
	if err != nil && s.Doc.Format() == 2 && !opt.Grow.KeepsRegular() {
		err = fmt.Errorf("%w; format 2 has regular chunks only: convert the array to format 3 first (varve convert --to 3)", err)
	}
	if err == nil {
		err = s.Fits(g, axis, count, opt.Grow)
	}
	if err != nil {
		return nil, err
	}
	if more.IsEmpty() { // planes without elements: no chunk holds any of them
		return &snapshot.Reshape{Grid: g}, nil
	}
	region := grid.BoxOf(shape)
	region[axis].Start = from
	return &snapshot.Reshape{Grid: g, Region: region, Gain: more}, nil
}
