package selection

import (
	"fmt"
	"math"

	"varve.dev/zarr/grid"
)

// Basic selects with an item an axis, as NumPy's basic indexing does: indices, slices with steps and an ellipsis.
// Negative numbers count from the end, slices are clipped at the extent, and missing items select whole axes.
// A negative step goes backwards, from the last element on where the start is open.
type Basic []Item

// Item is one entry of a [Basic], [Orthogonal] or [Blocks] selection. The zero Item is the whole axis.
type Item struct {
	kind              itemKind
	start, stop, step int64
	list              []int64
	mask              []bool
}

type itemKind uint8

const (
	itemAll   itemKind = iota
	itemSlice          // start, stop and step, where a bound may be Open
	itemIndex
	itemEllipsis
	itemList
	itemMask
)

// Open stands for a bound of a slice that is left out.
const Open = math.MinInt64

// At selects one index; its axis is not in the result.
func At(i int64) Item { return Item{kind: itemIndex, start: i} }

// Span selects the elements from start to before stop; either may be [Open].
func Span(start, stop int64) Item { return Stepped(start, stop, 1) }

// Stepped selects every step-th element from start to before stop; either bound may be [Open], and step may be negative but not 0.
func Stepped(start, stop, step int64) Item {
	return Item{kind: itemSlice, start: start, stop: stop, step: step}
}

// All selects a whole axis.
func All() Item { return Item{kind: itemAll} }

// Ellipsis stands for whole axes, as many as the other items leave over.
func Ellipsis() Item { return Item{kind: itemEllipsis} }

func (b Basic) resolve(t *Target) (*Resolved, error) {
	for i, item := range b {
		if item.kind == itemList || item.kind == itemMask {
			return nil, fmt.Errorf("%w: item %d names elements one by one; that is for Orthogonal, or for Points where lists go together", ErrInvalid, i)
		}
	}
	return Orthogonal(b).resolve(t)
}

// expand returns one item an axis.
func (b Basic) expand(rank int) ([]Item, error) {
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
		copy(items[rank-len(tail):], tail)
	}
	return items, nil
}

// bind clips the item to the extent of axis number n.
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
	case i.step == 0 || i.step == Open:
		return axis{}, rangeError(n, extent, fmt.Sprintf("step %d (1 takes every element, -1 every element backwards)", i.step))
	case i.step < 0:
		return i.backwards(extent), nil
	}
	start, stop := clip(i.start, 0, extent), clip(i.stop, extent, extent)
	return axis{start: start, step: i.step, count: steps(start, stop, i.step)}, nil
}

// backwards clips a slice with a negative step: it goes from start down to behind stop.
func (i Item) backwards(extent int64) axis {
	last, stop := extent-1, int64(-1)
	if i.start != Open {
		last = below(i.start, extent)
	}
	if i.stop != Open {
		stop = below(i.stop, extent)
	}
	count := steps(stop, last, -i.step)
	return axis{start: last - max(0, count-1)*-i.step, step: -i.step, count: count, flip: true}
}

// below returns the element that a bound of a slice means that goes backwards, -1 for one before the first.
func below(bound, extent int64) int64 {
	if bound < 0 {
		return max(-1, bound+extent)
	}
	return min(bound, extent-1)
}

// steps returns how many steps there are from start to before stop.
func steps(start, stop, step int64) int64 {
	if stop <= start {
		return 0
	}
	return (stop-start-1)/step + 1
}

// inRange returns the element that an index means.
func inRange(i, extent int64) (int64, bool) {
	if i < 0 {
		i += extent
	}
	return i, i >= 0 && i < extent
}

// clip returns the element that a bound of a slice means.
func clip(bound, open, extent int64) int64 {
	switch {
	case bound == Open:
		return open
	case bound < 0:
		return max(0, bound+extent)
	}
	return min(bound, extent)
}
