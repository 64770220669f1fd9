// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
)

// Insertion puts planes into an array. The planes from there on move down. A chunk that
// the place lies in is cut there and encoded anew; all others are copied as they are.
//
// The place means the planes at the time when the re-gridding begins, as the range of a
// [Removal] does.
type Insertion struct {
	// Axis is the axis along which the array gets longer.
	Axis int `json:"axis"`
	// At is the number of planes before the new ones.
	At int64 `json:"at"`
	// From has the new elements. It may be read several times, and must have the same
	// elements each time, also when another process resumes the re-gridding. It must not
	// read the array itself.
	From *zarr.Source `json:"-"`
	// Words are the new elements in C order, in place of From, if they have variable
	// length: text in UTF-8, or bytes.
	Words [][]byte `json:"-"`
	// Identity identifies the new elements: a request with another one does not resume
	// this one. If it is empty, the elements are read once more to compute a hash.
	Identity string `json:"identity"`
	// Edges are the lengths of the new chunks. Nil is one chunk for all planes. An axis
	// that stays regular has chunks of its own length.
	Edges []int64 `json:"edges,omitempty"`
	// Expect, if not 0, is the extent of the axis when the re-gridding begins. If it is
	// another one, the error wraps [zarr.ErrConflict]. This prevents the same planes from
	// being moved twice, if the outcome of an earlier call is not known.
	Expect int64 `json:"expect,omitempty"`
	// Unlock gives an axis with regular chunks listed ones. Without it, the axis stays
	// regular in the same cases as with a [Removal].
	Unlock bool `json:"unlock,omitempty"`
}

func (Insertion) operation() string { return "insert" }

func (r Insertion) planesAt() (axis int, expect int64) { return r.Axis, r.Expect }

func (r Insertion) target(s *snapshot.Array) (*target, error) {
	if err := checkAxis(s, r.Axis); err != nil {
		return nil, err
	}
	was := s.Grid.Axis(r.Axis)
	extent := was.Extent()
	if r.At < 0 {
		return nil, &grid.AxisError{Axis: r.Axis, Err: fmt.Errorf("%w: insert at %d", zarr.ErrInvalidArgument, r.At)}
	}
	if r.At > extent {
		return nil, &grid.AxisError{Axis: r.Axis, Err: noPlanes{r.At, extent}}
	}
	planes, err := r.planes(s)
	if err != nil || planes == 0 {
		return nil, err
	}
	longer, ok := checked.Add(extent, planes)
	if !ok {
		return nil, &grid.AxisError{Axis: r.Axis, Err: fmt.Errorf("%w: %d and %d planes", grid.ErrOverflow, extent, planes)}
	}
	unit := innerStep(s, r.Axis)
	whole := r.At == extent || was.IsRegular() && r.At%was.Step() == 0 && planes%was.Step() == 0
	is, stays, err := staysRegular(s, r.Axis, longer, whole, r.Unlock)
	if err == nil && !stays {
		if was, err = unlocked(s, r.Axis, r.Unlock); err != nil {
			return nil, err
		}
		is, err = r.cut(was, longer, planes, unit)
	}
	if err != nil {
		return nil, &grid.AxisError{Axis: r.Axis, Err: err}
	}
	t, err := reshaped(s, r.Axis, is)
	if err != nil {
		return nil, err
	}
	if err := fitsShards(s, t); err != nil {
		return nil, &grid.AxisError{Axis: r.Axis, Err: fmt.Errorf("%w: shards must have whole inner chunks of %d elements: insert at %s, and in chunks of multiples of that",
			zarr.ErrInvalidArgument, unit, places(was, r.At, unit))}
	}
	given := &staging.Given{Words: r.Words, Digest: staging.DigestOfText(r.Identity)}
	if r.From != nil {
		given.Source = snapshot.Source(*r.From)
	} else {
		given.Shape = s.Grid.Shape()
		given.Shape[r.Axis] = planes
	}
	t.move = staging.Move{Axis: r.Axis, Given: given}
	for _, m := range []staging.Segment{{Count: r.At}, {To: r.At, Count: planes, Given: true}, {To: r.At + planes, From: r.At, Count: extent - r.At}} {
		if m.Count > 0 {
			t.move.Segments = append(t.move.Segments, m)
		}
	}
	return t, nil
}

// planes returns the number of new planes.
func (r Insertion) planes(s *snapshot.Array) (int64, error) {
	n, err := r.given(s)
	if err != nil {
		return 0, err
	}
	if r.Edges == nil {
		return n, nil
	}
	sum, ok := int64(0), true
	for _, e := range r.Edges {
		if sum, ok = checked.Add(sum, e); !ok || e < 1 {
			return 0, fmt.Errorf("%w: new chunks of lengths %v", zarr.ErrInvalidArgument, r.Edges)
		}
	}
	if sum != n {
		return 0, fmt.Errorf("%w: new chunks of lengths %v have %d planes, but %d are given", zarr.ErrInvalidArgument, r.Edges, sum, n)
	}
	return n, nil
}

// given returns the number of planes of From or Words.
func (r Insertion) given(s *snapshot.Array) (int64, error) {
	if err := checkAxis(s, r.Axis); err != nil {
		return 0, err
	}
	switch {
	case r.From == nil && r.Words == nil:
		return 0, fmt.Errorf("%w: there are no elements to insert", zarr.ErrInvalidArgument)
	case r.From != nil && r.Words != nil:
		return 0, fmt.Errorf("%w: both From and Words are given, only one can be meant", zarr.ErrInvalidArgument)
	case r.From != nil && s.Type.Variable():
		return 0, fmt.Errorf("%w: elements of %s have variable length: give Words in place of From", zarr.ErrInvalidArgument, s.Type)
	case r.From != nil:
		return snapshot.Gain{Buffer: element.Buffer{Type: s.Type}, From: (*snapshot.Source)(r.From)}.Along(s, r.Axis, 0)
	case !s.Type.Variable():
		return 0, fmt.Errorf("%w: elements of %s have one length: give From in place of Words", zarr.ErrInvalidArgument, s.Type)
	}
	shape := s.Grid.Shape()
	shape[r.Axis] = 1
	plane, ok := checked.Product(shape...)
	if n := int64(len(r.Words)); ok && plane > 0 && n%plane == 0 {
		return n / plane, nil
	}
	return 0, fmt.Errorf("%w: %d words for planes of shape %v", zarr.ErrInvalidArgument, len(r.Words), shape)
}

// cut returns the axis of an extent, with the new chunks. unit is the length of inner
// chunks, or 1.
func (r Insertion) cut(a grid.Axis, extent, planes, unit int64) (grid.Axis, error) {
	edges := r.Edges
	if edges == nil {
		edges = []int64{planes}
	}
	from := r.At
	if r.At == a.Extent() {
		// The last chunk ends here now. Planned ones stay.
		if end, ok := a.Cell(a.Chunks() - 1); ok {
			from = end.Start + end.Edge
		}
	}
	runs := clipped(nil, a, 0, r.At)
	for _, e := range edges {
		runs = append(runs, grid.Run{Length: e, Count: 1})
	}
	tail := clipped(nil, a, from, a.Covered())
	// An axis without elements has an edge because it needs one.
	if a.Extent() == 0 && len(tail) == 1 && tail[0].Count == 1 {
		tail = nil
	}
	runs = slices.Concat(roundedUp(runs, unit, len(tail) == 0), tail)
	return grid.NewAxis(extent, grid.Runs(runs...))
}
