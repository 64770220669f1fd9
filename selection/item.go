// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/subset"
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
func (i Item) bind(n int, extent int64) (subset.Axis, error) {
	switch i.kind {
	case itemAll:
		return subset.Axis{Step: 1, Count: extent}, nil
	case itemIndex:
		at, ok := inRange(i.start, extent)
		if !ok {
			return subset.Axis{}, &grid.AxisError{Axis: n, Err: indexError(i.start, extent)}
		}
		return subset.Axis{Start: at, Step: 1, Count: 1, Drop: true}, nil
	case itemList:
		return bindList(n, extent, i.list)
	case itemMask:
		return bindMask(n, extent, i.mask)
	}
	switch {
	// Open is the smallest int64, which cannot be negated.
	case i.step == 0 || i.step == Open:
		return subset.Axis{}, rangeError(n, extent, fmt.Sprintf("step %d (1 takes every element, -1 every element backwards)", i.step))
	case i.step < 0:
		return i.backwards(extent), nil
	}
	start, stop := clip(i.start, 0, extent), clip(i.stop, extent, extent)
	return subset.Axis{Start: start, Step: i.step, Count: steps(start, stop, i.step)}, nil
}

// backwards returns the elements of a slice with a negative step: from start down to
// but not including stop.
func (i Item) backwards(extent int64) subset.Axis {
	last, stop := extent-1, int64(-1)
	if i.start != Open {
		last = clipBackwards(i.start, extent)
	}
	if i.stop != Open {
		stop = clipBackwards(i.stop, extent)
	}
	count := steps(stop, last, -i.step)
	// Axes ascend, so start with the last element that the slice reaches.
	return subset.Axis{Start: last - max(0, count-1)*-i.step, Step: -i.step, Count: count, Flip: true}
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

func bindList(n int, extent int64, given []int64) (subset.Axis, error) {
	cloned := false
	for k, i := range given {
		at, ok := inRange(i, extent)
		if !ok {
			return subset.Axis{}, rangeError(n, extent, fmt.Sprintf("index %d (entry %d of a list)", i, k))
		}
		if at != i {
			// The caller's list must stay as it is.
			if !cloned {
				given, cloned = slices.Clone(given), true
			}
			given[k] = at
		}
	}
	return subset.ListAxis(given), nil
}

func bindMask(n int, extent int64, b []bool) (subset.Axis, error) {
	if int64(len(b)) != extent {
		return subset.Axis{}, rangeError(n, extent, fmt.Sprintf("%s, one per element are needed,", quantity.Count(len(b), "booleans")))
	}
	var given []int64
	for i, selected := range b {
		if selected {
			given = append(given, int64(i))
		}
	}
	return subset.ListAxis(given), nil
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
