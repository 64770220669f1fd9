// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"cmp"
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
)

// Axis is what is picked along one axis: Count elements from Start on that are Step
// apart, or the elements of a list ([ListAxis]).
type Axis struct {
	Start, Step, Count int64 // Step is at least 1
	Flip               bool  // they go to the selected block in reverse order
	Drop               bool  // a single index, whose axis is dropped from the result
	list               *list
}

// Given returns the elements of a list in the order given, or nil if the axis has no
// list. They must not be changed.
func (a Axis) Given() []int64 {
	if a.list == nil {
		return nil
	}
	return a.list.given
}

// first returns the smallest selected element. There must be one.
func (a Axis) first() int64 {
	if a.list != nil {
		return a.list.At[0] - a.list.Base
	}
	return a.Start
}

// last returns the largest selected element. There must be one.
func (a Axis) last() int64 {
	if a.list != nil {
		return a.list.At[a.Count-1] - a.list.Base
	}
	return a.Start + (a.Count-1)*a.Step
}

// At returns the element that goes to the given place of the result.
func (a Axis) At(place int64) int64 {
	switch {
	case a.list != nil:
		return a.list.given[place]
	case a.Flip:
		return a.Start + (a.Count-1-place)*a.Step
	}
	return a.Start + place*a.Step
}

// Runs yields how many places of the result, side by side, lie in one chunk of an axis.
func (a Axis) Runs(of grid.Axis) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for place := int64(0); place < a.Count; {
			n := a.run(of, place)
			if place += n; !yield(n) {
				return
			}
		}
	}
}

// run returns how many places from one on lie in one chunk.
func (a Axis) run(of grid.Axis, place int64) int64 {
	chunk, within, _ := of.Locate(a.At(place))
	n := int64(1)
	switch cell, _ := of.Cell(chunk); {
	case a.list != nil:
		for ; place+n < a.Count; n++ {
			if next, _, _ := of.Locate(a.At(place + n)); next != chunk {
				break
			}
		}
	case a.Flip:
		n = within/a.Step + 1
	default:
		n = (cell.Logical-1-within)/a.Step + 1
	}
	return min(n, a.Count-place)
}

// list holds elements along an axis, both sorted and in the order given.
type list struct {
	strided.List
	given []int64
}

func newList(given []int64) *list {
	l := &list{given: given}
	l.Place = make([]int64, len(given))
	for k := range l.Place {
		l.Place[k] = int64(k)
	}
	// The places are in order already.
	if slices.IsSorted(given) {
		l.At = given
		return l
	}
	// Equal elements keep the order of their places, so that the last value written
	// wins.
	slices.SortFunc(l.Place, func(a, b int64) int {
		return cmp.Or(cmp.Compare(given[a], given[b]), cmp.Compare(a, b))
	})
	l.At = make([]int64, len(given))
	for k, p := range l.Place {
		l.At[k] = given[p]
	}
	return l
}

// axisOf returns the axis that selects the given elements. Evenly spaced elements become
// a step, which is copied in longer runs.
func ListAxis(given []int64) Axis {
	n := len(given)
	// A single element has no step.
	if n <= 1 {
		a := Axis{Step: 1, Count: int64(n)}
		if n == 1 {
			a.Start = given[0]
		}
		return a
	}
	// A constant difference is a step, forwards or backwards.
	step, even := given[1]-given[0], true
	for k := 2; k < n && even; k++ {
		even = given[k]-given[k-1] == step
	}
	switch {
	case even && step > 0:
		return Axis{Start: given[0], Step: step, Count: int64(n)}
	case even && step < 0:
		return Axis{Start: given[n-1], Step: -step, Count: int64(n), Flip: true}
	}
	return Axis{Step: 1, Count: int64(n), list: newList(given)}
}
