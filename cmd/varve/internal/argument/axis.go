// SPDX-License-Identifier: Apache-2.0

package argument

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/spelling"
)

// ParseAxis checks the text of an axis: a number that fits, or a name.
func ParseAxis(text string) (string, error) {
	if text == "" {
		return "", fmt.Errorf("give the number or the name of an axis")
	}
	if IsNumber(text) {
		if _, err := strconv.Atoi(text); err != nil {
			return "", fmt.Errorf("%q is not a whole number of 64 bits", text)
		}
	}
	return text, nil
}

// IsNumber reports whether a text is a whole number of any size.
func IsNumber(text string) bool {
	digits := strings.TrimLeft(text, "+-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// ParseAxes checks the texts of axes, separated by commas. Empty text has none.
func ParseAxes(text string) (axes []string, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		axis, err := ParseAxis(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		axes = append(axes, axis)
	}
	return axes, nil
}

// AxisOf returns the number of the axis that a text names. Negative numbers count from
// the end. A number without an axis is returned unchanged; the library refuses it.
func AxisOf(text string, names []string, rank int) (int, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 0 && n >= -rank {
			n += rank
		}
		return n, nil
	}
	i := slices.Index(names, text)
	switch {
	case i < 0 && !slices.ContainsFunc(names, func(n string) bool { return n != "" }):
		return 0, failure.BadArgument("axis %q: the dimensions of the array have no names; give the number of the axis, from 0 on", text)
	case i < 0:
		return 0, failure.BadArgument("axis %q: no dimension has that name; the array has %s%s", text, strings.Join(names, ", "), spelling.Meant(text, names))
	case slices.Contains(names[i+1:], text):
		return 0, failure.BadArgument("axis %q: several dimensions have that name; give the number of the axis", text)
	}
	return i, nil
}

// AxisOfArray is like [AxisOf] for the axes of an array.
func AxisOfArray(text string, a *zarr.Array) (int, error) {
	return AxisOf(text, a.DimensionNames(), a.Rank())
}

// AxisIn is like [AxisOfArray], and refuses a number that has no axis.
func AxisIn(text string, a *zarr.Array) (int, error) {
	axis, err := AxisOfArray(text, a)
	if err == nil && (axis < 0 || axis >= a.Rank()) {
		err = failure.BadArgument("there is no axis %s: the array has rank %d, and axes are numbered from 0", text, a.Rank())
	}
	return axis, err
}
