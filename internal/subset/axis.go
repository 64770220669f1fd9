// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"cmp"
	"slices"

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

// at returns the element that goes to the given place of the result.
func (a Axis) at(place int64) int64 {
	switch {
	case a.list != nil:
		return a.list.given[place]
	case a.Flip:
		return a.Start + (a.Count-1-place)*a.Step
	}
	return a.Start + place*a.Step
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
