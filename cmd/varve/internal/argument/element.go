// SPDX-License-Identifier: Apache-2.0

package argument

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// Element is the index of an element, in the order of the axes or by axis.
type Element struct {
	at   []int64
	axes []string // numbers or names of dimensions; nil if the index is in the order of the axes
}

// ParseElement parses an index, such as 15,40, or time=15,lat=40 in any order.
func ParseElement(text string) (e Element, err error) {
	if !strings.Contains(text, "=") {
		e.at, err = ParseIntegers(text)
		return e, err
	}
	for part := range strings.SplitSeq(text, ",") {
		axis, number, named := strings.Cut(part, "=")
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if axis = strings.TrimSpace(axis); !named || err != nil || axis == "" {
			return e, fmt.Errorf("%q is not an axis with an index, such as time=15", part)
		}
		e.at, e.axes = append(e.at, n), append(e.axes, axis)
	}
	return e, nil
}

// Index returns the index in the order of the axes, whose dimensions have the given
// names. Each axis must be given once.
func (e Element) Index(names []string, rank int) ([]int64, error) {
	if e.axes == nil {
		return e.at, nil
	}
	index, given := make([]int64, rank), make([]bool, rank)
	for i, text := range e.axes {
		axis, err := AxisOf(text, names, rank)
		switch {
		case err != nil:
			return nil, err
		case axis < 0 || axis >= rank:
			return nil, fmt.Errorf("there is no axis %s; the array has %s", text, phrase.Plural(int64(rank), "axis"))
		case given[axis]:
			return nil, fmt.Errorf("axis %s is given twice", text)
		}
		index[axis], given[axis] = e.at[i], true
	}
	if missing := slices.Index(given, false); missing >= 0 {
		text := fmt.Sprint(missing)
		if names != nil && names[missing] != "" {
			text = names[missing]
		}
		return nil, fmt.Errorf("the index along %s is missing", text)
	}
	return index, nil
}
