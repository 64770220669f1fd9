// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"cmp"
	"fmt"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Groups cuts an axis where its labels change, so that each group of equal labels is one
// cell. There is one label per element, such as the coarse cell of a tiling that the
// element lies in. Labels must ascend in the order of [cmp.Compare].
//
// Groups returns an error that wraps [ErrInvalid] if there are no labels or if they do
// not ascend. The error then names the first label out of order, and whether its
// group has already ended.
func Groups[L cmp.Ordered](labels []L) (Cut, error) {
	if len(labels) == 0 {
		return Cut{}, invalid("no labels: an axis needs at least one group")
	}
	var lengths []int64
	first := 0
	for i := 1; i < len(labels); i++ {
		switch before := labels[i-1]; {
		case cmp.Compare(labels[i], before) < 0:
			return Cut{}, disorder(labels, i)
		case cmp.Compare(labels[i], before) > 0:
			lengths, first = append(lengths, int64(i-first)), i
		}
	}
	return Edges(append(lengths, int64(len(labels)-first))...), nil
}

// disorder returns the error for label i, the first that is out of order.
func disorder[L cmp.Ordered](labels []L, i int) error {
	label, before := fmt.Sprint(labels[i]), fmt.Sprint(labels[i-1])
	// The labels before i are sorted, so a search tells whether this group occurred
	// before.
	if at, again := slices.BinarySearch(labels[:i], labels[i]); again {
		return invalid("label %.80q at index %d belongs to the group that begins at index %d and has ended: sort the elements by label", label, i, at)
	}
	return invalid("label %.80q at index %d comes after %.80q, which is larger: sort the elements by label", label, i, before)
}

// Counts cuts an axis into groups with the given numbers of elements. It also returns
// their sum, which is the extent of the axis. It returns an error that wraps [ErrInvalid]
// if there are no counts or if one is below 1, and [ErrOverflow] if the sum overflows
// int64.
func Counts(counts []int64) (cut Cut, extent int64, err error) {
	if len(counts) == 0 {
		return Cut{}, 0, invalid("no counts: an axis needs at least one group")
	}
	for i, n := range counts {
		if n < 1 {
			return Cut{}, 0, invalid("the count at index %d is %d, a group has at least 1 element", i, n)
		}
		var ok bool
		if extent, ok = checked.Add(extent, n); !ok {
			return Cut{}, 0, fmt.Errorf("%w: the sum of the counts up to index %d", ErrOverflow, i)
		}
	}
	return Edges(counts...), extent, nil
}
