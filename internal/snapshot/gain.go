// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Gain has the elements of an append: in memory, from a source, or in other arrays.
type Gain struct {
	element.Buffer
	From     *Source
	Segments []Segment
}

// Along returns the number of planes that the array gains along an axis. wanted is
// AppendOptions.Planes, 0 if it was not set.
func (g Gain) Along(s *Array, axis int, wanted int64) (int64, error) {
	if g.Segments != nil {
		return s.segmentsAlong(axis, g.Segments)
	}
	if g.From == nil {
		return s.planes(axis, len(g.Data), wanted)
	}
	shape := s.Grid.Shape()
	switch {
	case s.Type.Variable():
		return 0, fault.Argument("a source cannot provide elements of %s, which have variable length: use Append", s.Type)
	case g.Data != nil:
		return 0, ErrBothGiven
	case g.From.Read == nil:
		return 0, fault.Argument("the source has no Read")
	// Only the growing axis may differ. A source of another rank is refused below.
	case len(g.From.Shape) == len(shape):
		shape[axis] = g.From.Shape[axis]
	}
	_, fits := checked.Product(append(slices.Clone(shape), int64(s.Engine.Size))...)
	switch {
	case !slices.Equal(shape, g.From.Shape) || shape[axis] < 0:
		return 0, fault.Argument("a source of shape %v does not continue shape %v along axis %d", g.From.Shape, s.Grid.Shape(), axis)
	case !fits:
		return 0, fmt.Errorf("%w: a source of shape %v", grid.ErrOverflow, shape)
	case wanted != 0 && wanted != shape[axis]:
		return 0, fault.Argument("the source has %d planes along axis %d, but AppendOptions.Planes is %d", shape[axis], axis, wanted)
	}
	return shape[axis], s.checkNames("the source", g.From.DimensionNames)
}

// checkNames returns an error if axes of what is appended have other names than those of
// the array. A name that either lacks is not compared.
func (s *Array) checkNames(what string, names []string) error {
	for i, here := range s.DimensionNames() {
		if i < len(names) && names[i] != "" && here != "" && names[i] != here {
			return &grid.AxisError{Axis: i, Err: fault.Argument("%s calls it %q, and the array calls it %q: give its axes the order and the names of the array", what, names[i], here)}
		}
	}
	return nil
}

// IsEmpty reports whether the new planes have no elements.
func (g Gain) IsEmpty() bool {
	if g.Segments != nil {
		return !slices.ContainsFunc(g.Segments, func(seg Segment) bool { return !slices.Contains(seg.Grid.Shape(), 0) })
	}
	if g.From == nil {
		return len(g.Data) == 0
	}
	return slices.Contains(g.From.Shape, 0)
}

// ErrBothGiven reports an append with elements in memory and a source.
var ErrBothGiven = fault.Argument("there are both elements and a source of elements: omit one of them")

// planes returns the number of planes along an axis that the given bytes fill. Unless
// wanted is 0, it must be that number.
func (s *Array) planes(axis, bytes int, wanted int64) (int64, error) {
	shape := s.Grid.Shape()
	shape[axis] = 1
	// A plane has no bytes if another axis has the extent 0.
	plane, ok := checked.Product(append(shape, int64(s.Engine.Size))...)
	switch {
	case wanted < 0:
		return 0, fault.Argument("AppendOptions.Planes is %d, but must not be negative", wanted)
	case plane == 0 && bytes == 0 && ok && wanted == 0:
		return 0, fault.Argument("planes of shape %v along axis %d have no elements, so their number is not known: set AppendOptions.Planes", shape, axis)
	case plane == 0 && bytes == 0 && ok:
		return wanted, nil
	case !ok || plane == 0 || int64(bytes)%plane != 0:
		return 0, fault.Argument("%d bytes do not fill planes of shape %v and type %s along axis %d (%d bytes each)", bytes, shape, s.Type, axis, plane)
	}
	count := int64(bytes) / plane
	if wanted != 0 && wanted != count {
		return 0, fault.Argument("%d bytes fill %d planes along axis %d, but AppendOptions.Planes is %d: omit it, or correct it", bytes, count, axis, wanted)
	}
	return count, nil
}

// writeFrom reads the elements of a region from a source and stores them, box by box.
func (s *Array) writeFrom(ctx context.Context, src *Source, region grid.Box, how engine.Writing) error {
	// Boxes end at borders of chunks, so every chunk is written once.
	limit, err := s.Engine.BoxBytes(region)
	if err != nil {
		return err
	}
	boxes, err := s.Engine.Boxes(region, limit)
	if err != nil {
		return err
	}
	var buffer *budget.Buffer
	defer func() { buffer.Put() }()
	for box := range boxes {
		n, _ := box.Len() // cannot overflow: Along has checked all elements together
		// Boxes may differ in size: keep the largest buffer so far.
		if n *= int64(s.Engine.Size); buffer == nil || int64(cap(buffer.B)) < n {
			buffer.Put()
			buffer = budget.Get(n)
		}
		if err := s.writeBox(ctx, src, region, box, buffer.Bytes(n), how); err != nil {
			return err
		}
		// The marker chunk is in the first box and is stored now.
		how.FirstAlone = false
	}
	return ctx.Err()
}

// writeBox reads the elements of one box of a region into room, and stores them.
func (s *Array) writeBox(ctx context.Context, src *Source, region, box grid.Box, room []byte, how engine.Writing) error {
	r, err := selection.Resolve(box, s.Grid.Shape())
	if err != nil {
		return err
	}
	within := slices.Clone(box)
	for i := range within {
		within[i].Start -= region[i].Start
		within[i].Stop -= region[i].Start
	}
	// Read gets the box and may change it, so keep what messages show.
	shown := make([]string, len(within))
	for i, in := range within {
		shown[i] = fmt.Sprintf("%d:%d", in.Start, in.Stop)
	}
	err = src.Read(ctx, within, room)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return &sourceError{fmt.Errorf("read elements %v of the source: %w", shown, err)}
	}
	view, err := (&Selected{r, s.Type, nil}).CheckedView(element.Buffer{Type: s.Type, Data: room})
	if err != nil {
		return fmt.Errorf("elements %v of the source: %w", shown, err)
	}
	return s.Engine.Write(ctx, r, view, how)
}

// sourceError is an error of a source. It matches neither a conflict nor an unknown
// outcome, because those would refer to the array that grows. Otherwise the append would
// be retried, or reported as possibly done.
type sourceError struct{ err error }

// SourceError returns an error of a source that matches neither a conflict nor an unknown
// outcome of the array that takes the elements.
func SourceError(err error) error { return &sourceError{err} }

func (s *sourceError) Error() string { return s.err.Error() }

func (s *sourceError) Is(target error) bool {
	return target != store.ErrConflict && target != publish.ErrIncomplete && target != publish.ErrOutcomeUnknown && errors.Is(s.err, target)
}

// As finds errors of the source, which may be another array.
func (s *sourceError) As(target any) bool { return errors.As(s.err, target) }

// Source is the Source of the root package.
type Source struct {
	Shape          []int64
	DimensionNames []string
	Read           func(ctx context.Context, box grid.Box, dst []byte) error
}
