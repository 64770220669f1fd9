// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"varve.dev/zarr/strided"
)

// Orthogonal selects along every axis independently, as np.ix_ in NumPy and oindex in
// zarr-python do. Its items are those of [Basic], [List] and [Where]. Axes without an
// item are selected whole.
//
// If lists name an element several times, a write stores the last of its values in C
// order.
type Orthogonal []Item

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

func (o Orthogonal) resolve(t *Target) (*Resolved, error) {
	items, err := Basic(o).expand(len(t.Shape))
	if err != nil {
		return nil, err
	}
	axes := make([]axis, len(t.Shape))
	for i, item := range items {
		if axes[i], err = item.bind(i, t.Shape[i]); err != nil {
			return nil, err
		}
	}
	return t.ofAxes(axes)
}

// list holds elements along an axis, both sorted and in the order given.
type list struct {
	strided.List
	given []int64
}

func bindList(n int, extent int64, given []int64) (axis, error) {
	own := false
	for k, i := range given {
		at, ok := inRange(i, extent)
		if !ok {
			return axis{}, rangeError(n, extent, fmt.Sprintf("index %d (entry %d of a list)", i, k))
		}
		if at != i {
			// The caller's list must stay as it is.
			if !own {
				given, own = slices.Clone(given), true
			}
			given[k] = at
		}
	}
	return axisOf(given), nil
}

func bindMask(n int, extent int64, b []bool) (axis, error) {
	if int64(len(b)) != extent {
		return axis{}, rangeError(n, extent, fmt.Sprintf("%d booleans, one per element are needed,", len(b)))
	}
	var given []int64
	for i, is := range b {
		if is {
			given = append(given, int64(i))
		}
	}
	return axisOf(given), nil
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
