package grid

import (
	"cmp"
	"fmt"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Groups cuts an axis where its labels change: one cell a group of equal labels, such as the parent of every cell of a
// tiling. The axis has one element a label. Labels have to ascend, as [cmp.Compare] orders them; one that does not
// wraps [ErrInvalid], which says where it stands and whether it has occurred before. So do no labels at all.
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

// disorder says what is wrong with label i, before which all ascend.
func disorder[L cmp.Ordered](labels []L, i int) error {
	label, before := fmt.Sprint(labels[i]), fmt.Sprint(labels[i-1])
	if at, again := slices.BinarySearch(labels[:i], labels[i]); again {
		return invalid("label %.80q at index %d belongs to the group that begins at index %d and has ended: sort the elements by label", label, i, at)
	}
	return invalid("label %.80q at index %d comes after %.80q, which is larger: sort the elements by label", label, i, before)
}

// Counts cuts an axis into groups of the given numbers of elements, and returns their sum, which is the extent of the
// axis. A number below one, which says its index, and no numbers at all wrap [ErrInvalid]; a sum beyond 64 bits is [ErrOverflow].
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
