package selection

import (
	"fmt"
	"math"
)

// Basic selects with an item an axis, as NumPy's basic indexing does: indices, slices with steps and an ellipsis.
// Negative numbers count from the end, slices are clipped at the extent, and missing items select whole axes.
type Basic []Item

// Item is one entry of a [Basic] selection. The zero Item is the whole axis.
type Item struct {
	kind              itemKind
	start, stop, step int64
}

type itemKind uint8

const (
	itemAll   itemKind = iota
	itemSlice          // start, stop and step, where a bound may be Open
	itemIndex
	itemEllipsis
)

// Open stands for a bound of a slice that is left out.
const Open = math.MinInt64

// At selects one index; its axis is not in the result.
func At(i int64) Item { return Item{kind: itemIndex, start: i} }

// Span selects the elements from start to before stop; either may be [Open].
func Span(start, stop int64) Item { return Stepped(start, stop, 1) }

// Stepped selects every step-th element from start to before stop; either bound may be [Open], step is at least 1.
func Stepped(start, stop, step int64) Item { return Item{itemSlice, start, stop, step} }

// All selects a whole axis.
func All() Item { return Item{kind: itemAll} }

// Ellipsis stands for whole axes, as many as the other items leave over.
func Ellipsis() Item { return Item{kind: itemEllipsis} }

func (b Basic) resolve(shape []int64) ([]axis, error) {
	items, err := b.expand(len(shape))
	if err != nil {
		return nil, err
	}
	axes := make([]axis, len(shape))
	for i, item := range items {
		if axes[i], err = item.bind(i, shape[i]); err != nil {
			return nil, err
		}
	}
	return axes, nil
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
		at := i.start
		if at < 0 {
			at += extent
		}
		if at < 0 || at >= extent {
			return axis{}, rangeError(n, extent, fmt.Sprintf("index %d", i.start))
		}
		return axis{start: at, step: 1, count: 1, drop: true}, nil
	}
	if i.step < 1 {
		return axis{}, rangeError(n, extent, fmt.Sprintf("step %d (at least 1 is needed)", i.step))
	}
	start, stop := clip(i.start, 0, extent), clip(i.stop, extent, extent)
	count := int64(0)
	if stop > start {
		count = (stop-start-1)/i.step + 1
	}
	return axis{start: start, step: i.step, count: count}, nil
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
