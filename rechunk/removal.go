// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
)

// Removal takes a range of planes out of an array. The planes after it move up. Chunks
// that the ends of the range cut are encoded anew; all others are copied as they are.
//
// The range means the planes that the array had when it was opened, or last refreshed.
// Elements that are appended meanwhile stay. If the array becomes too short meanwhile, or
// if another rechunk has moved its planes, the error wraps [zarr.ErrConflict].
//
// In a group, the other arrays that have the dimension should change with it: see
// [DoAll].
type Removal struct {
	// Axis is the axis of the range.
	Axis int `json:"axis"`
	// Range has the planes that are removed.
	Range grid.Interval `json:"range"`
	// Expect, if not 0, is the extent of the axis when the rechunk begins. If it is
	// another one, the error wraps [zarr.ErrConflict]. This prevents the same planes from
	// being moved twice, if the outcome of an earlier call is not known.
	Expect int64 `json:"expect,omitempty"`
	// Unlock gives an axis with regular chunks listed ones. Without it, the axis stays
	// regular if only whole chunks move, or if the elements take at most 16 MiB.
	// Otherwise the error wraps [zarr.ErrInvalidArgument]. The coordinate of a dimension,
	// an array of one axis with its name, stays regular in any case if it is that small.
	Unlock bool `json:"unlock,omitempty"`
}

func (Removal) operation() string { return "drop" }

func (r Removal) planesAt() (axis int, expect int64) { return r.Axis, r.Expect }

func (r Removal) target(s *snapshot.Array) (*target, error) {
	if err := checkAxis(s, r.Axis); err != nil {
		return nil, err
	}
	was := s.Grid.Axis(r.Axis)
	extent := was.Extent()
	if r.Range.Start < 0 || r.Range.Stop < r.Range.Start {
		return nil, &grid.AxisError{Axis: r.Axis, Err: fmt.Errorf("%w: the range %d:%d", zarr.ErrInvalidArgument, r.Range.Start, r.Range.Stop)}
	}
	if r.Range.Stop > extent {
		return nil, &grid.AxisError{Axis: r.Axis, Err: noPlanes{r.Range.Stop, extent}}
	}
	if r.Range.Len() == 0 {
		return nil, nil
	}
	unit := innerStep(s, r.Axis)
	whole := r.Range.Stop == extent || was.IsRegular() && r.Range.Start%was.Step() == 0 && r.Range.Len()%was.Step() == 0
	is, stays, err := regularAxis(s, r.Axis, extent-r.Range.Len(), whole, r.Unlock)
	if err == nil && !stays {
		if was, err = unlockedAxis(s, r.Axis, r.Unlock); err != nil {
			return nil, err
		}
		is, err = r.cut(was, unit)
	}
	if err != nil {
		return nil, &grid.AxisError{Axis: r.Axis, Err: err}
	}
	t, err := targetWithAxis(s, r.Axis, is)
	if err != nil {
		return nil, err
	}
	if err := fitsShards(s, t); err != nil {
		return nil, &grid.AxisError{Axis: r.Axis, Err: fmt.Errorf("%w: the shards that are cut must keep whole inner chunks of %s: begin at %s and end at %s",
			zarr.ErrInvalidArgument, quantity.Count(unit, "elements"), cutPlaces(was, r.Range.Start, unit), cutPlaces(was, r.Range.Stop, unit))}
	}
	move := staging.Move{Axis: r.Axis, Segments: []staging.Segment{}}
	for _, in := range []grid.Interval{{Stop: r.Range.Start}, {Start: r.Range.Stop, Stop: extent}} {
		if in.Len() > 0 {
			move.Segments = append(move.Segments, staging.Segment{Target: min(in.Start, r.Range.Start), Source: in.Start, Count: in.Len()})
		}
	}
	t.move = move
	return t, nil
}

// cut returns the axis without the range. unit is the length of inner chunks, or 1.
func (r Removal) cut(a grid.Axis, unit int64) (grid.Axis, error) {
	extent, from, to := a.Extent()-r.Range.Len(), r.Range.Start, r.Range.Stop
	head := appendClipped(nil, a, 0, from)
	last, planned := a.Chunks()-1, int64(0)
	if end, ok := a.Cell(last); ok {
		planned = end.Start + end.Edge
	}
	if to == a.Extent() {
		// Nothing of the last chunk stays behind the range. Chunks that are planned for
		// later appends do.
		if tail := appendClipped(nil, a, planned, a.Covered()); len(tail) > 0 || len(head) > 0 {
			return grid.NewAxis(extent, grid.Runs(append(roundLastUp(head, unit, len(tail) == 0), tail...)...))
		}
		// An axis needs an edge. The next append fills it.
		first, _ := a.Cell(0)
		return grid.NewAxis(extent, grid.Runs(grid.Run{Length: first.Edge, Count: 1}))
	}
	tail := appendClipped(nil, a, to, a.Covered())
	// A chunk that loses planes within stays one chunk.
	k, before, _ := a.Locate(from)
	j, within, _ := a.Locate(to)
	if k == j && before > 0 && within > 0 {
		end := len(head) - 1
		one := grid.Run{Length: head[end].Length + tail[0].Length, Count: 1}
		head[end].Count--
		tail[0].Count--
		head = append(head, one)
	}
	runs := slices.DeleteFunc(append(head, tail...), func(r grid.Run) bool { return r.Count == 0 })
	return grid.NewAxis(extent, grid.Runs(runs...))
}
