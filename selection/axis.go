// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"cmp"
	"slices"
	"sort"

	"varve.dev/zarr/internal/strided"
)

// axis is a selection along one axis: count elements from start on that are step apart,
// or the elements of a list.
type axis struct {
	start, step, count int64 // step is at least 1
	flip               bool  // they go to the selected block in reverse order
	drop               bool  // a single index, whose axis is dropped from the result
	list               *list
}

// first returns the smallest selected element. There must be one.
func (a axis) first() int64 {
	if a.list != nil {
		return a.list.At[0] - a.list.Base
	}
	return a.start
}

// last returns the largest selected element. There must be one.
func (a axis) last() int64 {
	if a.list != nil {
		return a.list.At[a.count-1] - a.list.Base
	}
	return a.start + (a.count-1)*a.step
}

// at returns the element that goes to the given place of the result.
func (a axis) at(place int64) int64 {
	switch {
	case a.list != nil:
		return a.list.given[place]
	case a.flip:
		return a.start + (a.count-1-place)*a.step
	}
	return a.start + place*a.step
}

// list holds elements along an axis, both sorted and in the order given.
type list struct {
	strided.List
	given []int64
}

func sorted(given []int64) *list {
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
	// Equal elements keep the order of their places, so that the last value written wins.
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
func axisOf(given []int64) axis {
	n := len(given)
	// A single element has no step.
	if n <= 1 {
		a := axis{step: 1, count: int64(n)}
		if n == 1 {
			a.start = given[0]
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
		return axis{start: given[0], step: step, count: int64(n)}
	case even && step < 0:
		return axis{start: given[n-1], step: -step, count: int64(n), flip: true}
	}
	return axis{step: 1, count: int64(n), list: sorted(given)}
}

// upTo returns the number of elements, counted from number k on, that lie before element
// stop.
func (l *list) upTo(k, stop int64) int64 {
	rest := l.At[k:]
	return int64(sort.Search(len(rest), func(i int) bool { return rest[i]-l.Base >= stop }))
}

// cut returns the elements with numbers from k up to but not including stop, relative to
// element base.
func (l *list) cut(k, stop, base int64) strided.List {
	return strided.List{At: l.At[k:stop:stop], Place: l.Place[k:stop:stop], Base: l.Base + base}
}
