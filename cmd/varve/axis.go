package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/spelling"
)

// parseAxis checks the text of an axis: a number that fits, or a name.
func parseAxis(text string) (string, error) {
	if text == "" {
		return "", fmt.Errorf("the number or the name of an axis is needed")
	}
	if isNumber(text) {
		if _, err := strconv.Atoi(text); err != nil {
			return "", fmt.Errorf("%q is no whole number that fits", text)
		}
	}
	return text, nil
}

// isNumber reports whether a text is spelled like a whole number, whatever its size.
func isNumber(text string) bool {
	digits := strings.TrimLeft(text, "+-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// parseAxes checks the texts of axes with commas between them; without text there are
// none.
func parseAxes(text string) (axes []string, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		axis, err := parseAxis(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		axes = append(axes, axis)
	}
	return axes, nil
}

// axisOf returns the number of the axis that a text means. Numbers below 0 count from the
// end; those of no axis are returned as they are, for the library to refuse.
func axisOf(text string, names []string, rank int) (int, error) {
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
		return 0, failure.BadArgument("axis %q: no dimension has that name; there are %s%s", text, strings.Join(names, ", "), spelling.Meant(text, names))
	case slices.Contains(names[i+1:], text):
		return 0, failure.BadArgument("axis %q: several dimensions have that name; give the number of the axis", text)
	}
	return i, nil
}

// axisOfArray returns the number of the axis of an array that a text means.
func axisOfArray(text string, a *zarr.Array) (int, error) {
	return axisOf(text, a.DimensionNames(), a.Rank())
}
