// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
)

// Item is one entry of a [Basic], [Orthogonal] or [Blocks] selection. The zero Item
// selects the whole axis.
type Item struct {
	kind              itemKind
	start, stop, step int64
	list              []int64
	mask              []bool
}

type itemKind uint8

const (
	itemAll   itemKind = iota
	itemSlice          // start, stop and step; a bound may be Open
	itemIndex
	itemEllipsis
	itemList
	itemMask
)

// Open stands for a bound of a slice that is omitted.
const Open = math.MinInt64

// At selects one index. Its axis is dropped from the result.
func At(i int64) Item { return Item{kind: itemIndex, start: i} }

// Span selects the elements from start up to but not including stop. Either may be
// [Open].
func Span(start, stop int64) Item { return Stepped(start, stop, 1) }

// Stepped selects every step-th element from start up to but not including stop. Either
// bound may be [Open]. The step may be negative but not 0.
func Stepped(start, stop, step int64) Item {
	return Item{kind: itemSlice, start: start, stop: stop, step: step}
}

// All selects a whole axis.
func All() Item { return Item{kind: itemAll} }

// Ellipsis selects whole axes, as many as the other items leave.
func Ellipsis() Item { return Item{kind: itemEllipsis} }

// List selects elements one by one, in any order and any number of times. Negative
// numbers count from the end.
func List(i ...int64) Item {
	if i == nil {
		i = []int64{}
	}
	return Item{kind: itemList, list: i}
}

// Where selects the elements for which b is true. There must be one boolean for every
// element of the axis.
func Where(b ...bool) Item { return Item{kind: itemMask, mask: b} }

// bind returns the elements that the item selects along axis n, which has the given
// extent.
func (i Item) bind(n int, extent int64) (axis, error) {
	switch i.kind {
	case itemAll:
		return axis{step: 1, count: extent}, nil
	case itemIndex:
		at, ok := inRange(i.start, extent)
		if !ok {
			return axis{}, &grid.AxisError{Axis: n, Err: &IndexError{i.start, extent}}
		}
		return axis{start: at, step: 1, count: 1, drop: true}, nil
	case itemList:
		return bindList(n, extent, i.list)
	case itemMask:
		return bindMask(n, extent, i.mask)
	}
	switch {
	// Open is the smallest int64, which cannot be negated.
	case i.step == 0 || i.step == Open:
		return axis{}, rangeError(n, extent, fmt.Sprintf("step %d (1 takes every element, -1 every element backwards)", i.step))
	case i.step < 0:
		return i.backwards(extent), nil
	}
	start, stop := clip(i.start, 0, extent), clip(i.stop, extent, extent)
	return axis{start: start, step: i.step, count: steps(start, stop, i.step)}, nil
}

// backwards returns the elements of a slice with a negative step: from start down to
// but not including stop.
func (i Item) backwards(extent int64) axis {
	last, stop := extent-1, int64(-1)
	if i.start != Open {
		last = clipBackwards(i.start, extent)
	}
	if i.stop != Open {
		stop = clipBackwards(i.stop, extent)
	}
	count := steps(stop, last, -i.step)
	// Axes ascend, so start with the last element that the slice reaches.
	return axis{start: last - max(0, count-1)*-i.step, step: -i.step, count: count, flip: true}
}

// clipBackwards returns the element that a bound of a backwards slice stands for, or -1
// if it lies before the first.
func clipBackwards(bound, extent int64) int64 {
	if bound < 0 {
		// In NumPy a bound before the first element is clipped, not an error.
		return max(-1, bound+extent)
	}
	return min(bound, extent-1)
}

// steps returns the number of steps from start up to but not including stop.
func steps(start, stop, step int64) int64 {
	if stop <= start {
		return 0
	}
	return (stop-start-1)/step + 1
}

// inRange returns the element that an index stands for. It returns false if there is
// none.
func inRange(i, extent int64) (int64, bool) {
	if i < 0 {
		i += extent
	}
	return i, i >= 0 && i < extent
}

// clip returns the element that a bound of a slice stands for, or open if it is [Open].
func clip(bound, open, extent int64) int64 {
	switch {
	case bound == Open:
		return open
	case bound < 0:
		return max(0, bound+extent)
	}
	return min(bound, extent)
}

func bindList(n int, extent int64, given []int64) (axis, error) {
	cloned := false
	for k, i := range given {
		at, ok := inRange(i, extent)
		if !ok {
			return axis{}, rangeError(n, extent, fmt.Sprintf("index %d (entry %d of a list)", i, k))
		}
		if at != i {
			// The caller's list must stay as it is.
			if !cloned {
				given, cloned = slices.Clone(given), true
			}
			given[k] = at
		}
	}
	return axisOf(given), nil
}

func bindMask(n int, extent int64, b []bool) (axis, error) {
	if int64(len(b)) != extent {
		return axis{}, rangeError(n, extent, fmt.Sprintf("%s, one per element are needed,", quantity.Count(len(b), "booleans")))
	}
	var given []int64
	for i, selected := range b {
		if selected {
			given = append(given, int64(i))
		}
	}
	return axisOf(given), nil
}

// expand returns one item per axis for items that may have an ellipsis.
func expand(b []Item, rank int) ([]Item, error) {
	ellipsis := len(b)
	for i, item := range b {
		if item.kind == itemEllipsis {
			if ellipsis < len(b) {
				return nil, fmt.Errorf("%w: more than one ellipsis", ErrInvalid)
			}
			ellipsis = i
		}
	}
	given := len(b)
	if ellipsis < len(b) {
		// The ellipsis itself names no axis.
		given--
	}
	if given > rank {
		return nil, rankError(given, rank)
	}
	items := make([]Item, rank)
	for i := range items {
		items[i] = All()
	}
	copy(items, b[:ellipsis])
	if ellipsis < len(b) {
		tail := b[ellipsis+1:]
		// Items after the ellipsis belong to the last axes.
		copy(items[rank-len(tail):], tail)
	}
	return items, nil
}

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
	return axis{step: 1, count: int64(n), list: newList(given)}
}
