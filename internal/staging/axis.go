// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
)

// Segment is a run of planes that the target takes from the source, along the axis of a
// [Move].
type Segment struct {
	To, From int64 // first plane in the target, and in the source or in what is given
	Count    int64 // planes
	Given    bool  // the planes come from [Move].Given, not from the source
}

// axis relates the chunks of the target to those of the source, along one axis. A unit is
// the smallest part of a stored chunk that can be copied: an inner chunk or, if there are
// none, the chunk.
type axis struct {
	source, sourceUnits grid.Axis
	target, targetUnits grid.Axis
	segments            []Segment // in order; they cover the target
	moved               bool      // the segments are those of a move
	given               int64     // planes of what is given
}

// cell is a chunk of the target along one axis.
type cell struct {
	start, stop int64           // elements within the extent
	sources     []grid.Interval // chunks of the source that it takes elements from, in order
	given       bool            // it takes elements from what is given
	// copies is set if every unit is a unit of the source, so that nothing needs to be
	// decoded along this axis.
	copies bool
	// clone is the chunk of the source that has the same elements in the same encoded
	// shape, or -1.
	clone int64
}

// cell returns the chunk of the target with the index k.
func (a *axis) cell(k int64) (cell, error) {
	c, is, err := a.bare(k)
	if err != nil {
		return c, err
	}
	if c.copies = a.manyUnits(is) <= mostUnits; !c.copies {
		return c, nil // decode it part by part, rather than compare so many units
	}
	for k, _, ok := a.targetUnits.Locate(c.start); ok && c.copies; k++ {
		unit, more := a.targetUnits.Cell(k)
		if !more || unit.Logical == 0 || unit.Start >= c.stop {
			break
		}
		c.copies = a.unitFrom(unit) >= 0
	}
	if len(c.sources) == 1 && c.sources[0].Len() == 1 {
		from, _ := a.source.Cell(c.sources[0].Start)
		at, ok := a.from(c.start)
		if ok && at == from.Start && from.Encoded == is.Encoded && from.Logical == is.Logical {
			c.clone = from.Index
		}
	}
	return c, nil
}

// mostUnits bounds the units of a chunk that are compared one by one along an axis.
const mostUnits = 1 << 24

// manyUnits returns about how many units a chunk of the target has along the axis.
func (a *axis) manyUnits(is grid.Cell) int64 {
	first, _, _ := a.targetUnits.Locate(is.Start)
	last, _, ok := a.targetUnits.Locate(is.Start + max(1, is.Logical) - 1)
	if !ok {
		return 0
	}
	return last - first + 1
}

// bare returns the chunk of the target with the index k, without looking at its units.
func (a *axis) bare(k int64) (cell, grid.Cell, error) {
	is, ok := a.target.Cell(k)
	if !ok {
		return cell{}, is, fmt.Errorf("%w: no chunk %d", grid.ErrOutOfRange, k)
	}
	c := cell{start: is.Start, stop: is.Start + is.Logical, clone: -1}
	for s := range a.taken(c.start, c.stop) {
		if s.Given {
			c.given = true
			continue
		}
		first, _, _ := a.source.Locate(s.From)
		last, _, ok := a.source.Locate(s.From + s.Count - 1)
		if !ok {
			return c, is, fmt.Errorf("%w: planes %d to %d of the source", grid.ErrOutOfRange, s.From, s.From+s.Count)
		}
		c.sources = append(c.sources, grid.Interval{Start: first, Stop: last + 1})
	}
	return c, is, nil
}

// from returns the plane of the source that becomes a plane of the target. It returns
// false if that plane is given.
func (a *axis) from(plane int64) (int64, bool) {
	i, _ := slices.BinarySearchFunc(a.segments, plane, func(s Segment, plane int64) int {
		if s.To+s.Count <= plane {
			return -1
		}
		return 1
	})
	if i == len(a.segments) || a.segments[i].To > plane || a.segments[i].Given {
		return 0, false
	}
	return a.segments[i].From + plane - a.segments[i].To, true
}

// taken yields the segments of the planes from start to stop.
func (a *axis) taken(start, stop int64) func(yield func(Segment) bool) {
	return func(yield func(Segment) bool) {
		for _, s := range a.segments {
			from, to := max(start, s.To), min(stop, s.To+s.Count)
			if from < to && !yield(Segment{To: from, From: s.From + from - s.To, Count: to - from, Given: s.Given}) {
				return
			}
		}
	}
}

// unitFrom returns the unit of the source that has the elements of a unit of the target
// in the same encoded shape, or -1.
func (a *axis) unitFrom(unit grid.Cell) int64 {
	at, ok := a.from(unit.Start)
	if !ok {
		return -1
	}
	// The last plane is in the same segment, or the elements come from two places.
	if end, ok := a.from(unit.Start + unit.Logical - 1); !ok || end-at != unit.Logical-1 {
		return -1
	}
	k, within, ok := a.sourceUnits.Locate(at)
	if !ok || within != 0 {
		return -1
	}
	from, _ := a.sourceUnits.Cell(k)
	if from.Encoded != unit.Encoded || from.Logical != unit.Logical {
		return -1
	}
	return k
}

// targets returns the chunks of the target that take elements from chunk k of the source,
// as intervals in order.
func (a *axis) targets(k int64) []grid.Interval {
	is, ok := a.source.Cell(k)
	if !ok || is.Logical == 0 {
		return nil
	}
	var list []grid.Interval
	for _, s := range a.segments {
		from, to := max(is.Start, s.From), min(is.Start+is.Logical, s.From+s.Count)
		if s.Given || from >= to {
			continue
		}
		first, _, _ := a.target.Locate(s.To + from - s.From)
		last, _, _ := a.target.Locate(s.To + to - 1 - s.From)
		list = append(list, grid.Interval{Start: first, Stop: last + 1})
	}
	return list
}
