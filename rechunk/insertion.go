// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
)

// Insertion puts planes into an array. The planes from there on move down. A chunk that
// the place lies in is cut there and encoded anew; all others are copied as they are. A
// chunk that reaches beyond the extent ends where it did, if it has room for the planes
// that are put into it: the chunks of a growth policy stay where they are.
//
// The place means the planes at the time when the rechunk begins, as the range of a
// [Removal] does.
type Insertion struct {
	// Axis is the axis along which the array gets longer.
	Axis int `json:"axis"`
	// At is the number of planes before the new ones.
	At int64 `json:"at"`
	// Places, if not nil, are several places in place of At, in order. The first planes
	// go to the first place, and so on. All become visible at once.
	Places []Place `json:"places,omitempty"`
	// From has the new elements. It may be read several times, and must have the same
	// elements each time, also when another process resumes the rechunk. It must not
	// read the array itself.
	From *zarr.Source `json:"-"`
	// Words are the new elements in C order, in place of From, if they have variable
	// length: text in UTF-8, or bytes.
	Words [][]byte `json:"-"`
	// Identity identifies the new elements: a request with another one does not resume
	// this one. If it is empty, the elements are read once more to compute a hash.
	Identity string `json:"identity"`
	// Edges are the lengths of the new chunks. Nil is one chunk for all planes of a
	// place. An axis that stays regular has chunks of its own length.
	Edges []int64 `json:"edges,omitempty"`
	// Expect, if not 0, is the extent of the axis when the rechunk begins. If it is
	// another one, the error wraps [zarr.ErrConflict]. This prevents the same planes from
	// being moved twice, if the outcome of an earlier call is not known.
	Expect int64 `json:"expect,omitempty"`
	// Unlock gives an axis with regular chunks listed ones. Without it, the axis stays
	// regular in the same cases as with a [Removal].
	Unlock bool `json:"unlock,omitempty"`
}

// Place is one of several places of an [Insertion].
type Place struct {
	// At is the number of planes of the array before the new ones. New planes of other
	// places do not count.
	At int64 `json:"at"`
	// Count is the number of new planes.
	Count int64 `json:"count"`
}

func (Insertion) operation() string { return "insert" }

func (r Insertion) planesAt() (axis int, expect int64) { return r.Axis, r.Expect }

func (r Insertion) target(s *snapshot.Array) (*target, error) {
	if err := checkAxis(s, r.Axis); err != nil {
		return nil, err
	}
	was := s.Grid.Axis(r.Axis)
	extent := was.Extent()
	planes, err := r.planes(s)
	to := r.places(planes)
	if err == nil {
		err = checkPlaces(to, planes, extent)
	}
	if err != nil {
		return nil, &grid.AxisError{Axis: r.Axis, Err: err}
	}
	if planes == 0 {
		return nil, nil
	}
	longer, ok := checked.Add(extent, planes)
	if !ok {
		return nil, &grid.AxisError{Axis: r.Axis, Err: fmt.Errorf("%w: %d and %s", grid.ErrOverflow, extent, quantity.Count(planes, "planes"))}
	}
	unit := innerStep(s, r.Axis)
	whole := !slices.ContainsFunc(to, func(p Place) bool {
		return p.At < extent && !(was.IsRegular() && p.At%was.Step() == 0 && p.Count%was.Step() == 0)
	})
	is, stays, err := regularAxis(s, r.Axis, longer, whole, r.Unlock)
	if err == nil && !stays {
		if was, err = unlockedAxis(s, r.Axis, r.Unlock); err != nil {
			return nil, err
		}
		is, err = r.cut(was, longer, to, unit)
	}
	if err != nil {
		return nil, &grid.AxisError{Axis: r.Axis, Err: err}
	}
	t, err := targetWithAxis(s, r.Axis, is)
	if err != nil {
		return nil, err
	}
	if err := fitsShards(s, t); err != nil {
		return nil, &grid.AxisError{Axis: r.Axis, Err: fmt.Errorf("%w: shards must have whole inner chunks of %s: insert at %s, and in chunks of multiples of that",
			zarr.ErrInvalidArgument, quantity.Count(unit, "elements"), cutPlaces(was, misplaced(was, to, unit), unit))}
	}
	// The digest is part of the records of staged chunks: those that were made from other
	// new elements do not count.
	given := &staging.Given{Words: r.Words, Digest: staging.DigestOfText(r.Identity)}
	if r.From != nil {
		given.Source = snapshot.Source(*r.From)
	} else {
		given.Shape = s.Grid.Shape()
		given.Shape[r.Axis] = planes
	}
	t.move = staging.Move{Axis: r.Axis, Given: given, Segments: segments(to, extent)}
	return t, nil
}

// segments returns where the planes of an array come from that get planes at some places.
func segments(to []Place, extent int64) (list []staging.Segment) {
	add := func(m staging.Segment) {
		if m.Count > 0 {
			list = append(list, m)
		}
	}
	from, given := int64(0), int64(0) // planes of the array, and new ones
	for _, p := range to {
		add(staging.Segment{Target: from + given, Source: from, Count: p.At - from})
		add(staging.Segment{Target: p.At + given, Source: given, Count: p.Count, Given: true})
		from, given = p.At, given+p.Count
	}
	add(staging.Segment{Target: from + given, Source: from, Count: extent - from})
	return list
}

// places returns all places. planes is the number of all new planes.
func (r Insertion) places(planes int64) []Place {
	if r.Places != nil {
		return r.Places
	}
	return []Place{{r.At, planes}}
}

// checkPlaces returns an error if an array of the given extent cannot get so many planes
// at these places.
func checkPlaces(to []Place, planes, extent int64) error {
	last, sum := int64(0), int64(0)
	for _, p := range to {
		if p.At < 0 || p.Count < 0 || p.Count > planes-sum {
			return fmt.Errorf("%w: insert %d of %s at %d", zarr.ErrInvalidArgument, p.Count, quantity.Count(planes, "planes"), p.At)
		}
		if p.At < last {
			return fmt.Errorf("%w: insert at %d after %d", zarr.ErrInvalidArgument, p.At, last)
		}
		last, sum = p.At, sum+p.Count
	}
	if sum != planes {
		return fmt.Errorf("%w: places for %s, but %d are given", zarr.ErrInvalidArgument, quantity.Count(sum, "planes"), planes)
	}
	if last > extent {
		return noPlanes{last, extent}
	}
	return nil
}

// misplaced returns the first place at which shards cannot be cut, or the first one.
func misplaced(a grid.Axis, to []Place, unit int64) int64 {
	for _, p := range to {
		if _, within, ok := a.Locate(p.At); ok && within%unit != 0 {
			return p.At
		}
	}
	return to[0].At
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
		return 0, fmt.Errorf("%w: new chunks of lengths %v have %s, but %d are given", zarr.ErrInvalidArgument, r.Edges, quantity.Count(sum, "planes"), n)
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
	return 0, fmt.Errorf("%w: %s for planes of shape %v", zarr.ErrInvalidArgument, quantity.Count(len(r.Words), "words"), shape)
}

// cut returns the axis of an extent, with the new chunks. unit is the length of inner
// chunks, or 1.
func (r Insertion) cut(a grid.Axis, extent int64, to []Place, unit int64) (grid.Axis, error) {
	edges := r.Edges
	if edges == nil {
		for _, p := range to {
			if p.Count > 0 {
				edges = append(edges, p.Count)
			}
		}
	}
	open, hasOpen := a.Cell(a.Chunks() - 1) // the last chunk, which may reach beyond the extent
	var runs []grid.Run
	from, within := int64(0), int64(0)
	for _, p := range to {
		runs = appendClipped(runs, a, from, p.At)
		if from = p.At; hasOpen && from > open.Start {
			within += p.Count
		}
		for n := p.Count; n > 0; edges = edges[1:] {
			if len(edges) == 0 || edges[0] > n {
				return grid.Axis{}, fmt.Errorf("%w: new chunks of lengths %v reach from one place to the next", zarr.ErrInvalidArgument, r.Edges)
			}
			runs = append(runs, grid.Run{Length: edges[0], Count: 1})
			n -= edges[0]
		}
	}
	var tail []grid.Run
	switch {
	case !hasOpen:
	case from == a.Extent():
		// The last chunk ends here now. Chunks that are planned for later appends stay.
		from = open.Start + open.Edge
	// A place within the last chunk cuts it. New planes take the room that was left for
	// appends, so that the planned chunks after it keep their edges.
	case from > open.Start:
		room := min(within, open.Edge-open.Logical)
		tail = []grid.Run{{Length: open.Start + open.Edge - from - (room - room%unit), Count: 1}}
		from = open.Start + open.Edge
	}
	tail = append(tail, appendClipped(nil, a, from, a.Covered())...)
	// An axis without elements has an edge because it needs one.
	if a.Extent() == 0 && len(tail) == 1 && tail[0].Count == 1 {
		tail = nil
	}
	runs = slices.Concat(roundLastUp(runs, unit, len(tail) == 0), tail)
	return grid.NewAxis(extent, grid.Runs(runs...))
}
