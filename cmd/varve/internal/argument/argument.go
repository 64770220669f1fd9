// SPDX-License-Identifier: Apache-2.0

// Package argument parses arguments and flags that name axes, lengths and elements.
package argument

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/phrase"
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

// ParseIntegers parses whole numbers separated by commas. The empty text is an empty
// list: the shape and the index of an array of rank 0.
func ParseIntegers(text string) ([]int64, error) {
	numbers := []int64{}
	if strings.TrimSpace(text) == "" {
		return numbers, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil && strings.TrimSpace(part) == "" {
			return nil, errors.New("a number is missing beside a comma; write lists without spaces, such as 60,100")
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number of 64 bits%s", part, ListMeant(text))
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// ListMeant returns a hint for a text that is not a list of whole numbers, such as 3x4,
// (3, 4), 1_000 or 1e3.
func ListMeant(text string) string {
	plain := strings.Trim(text, "[]() ")
	plain = strings.TrimRight(plain, ",")
	// A letter between commas is a part that has no number: 3,x is not 3.
	if slices.ContainsFunc(strings.Split(plain, ","), func(part string) bool { return !strings.ContainsAny(part, "0123456789") }) {
		return ""
	}
	plain = strings.ReplaceAll(plain, "_", "")
	plain = strings.NewReplacer("x", ",", "X", ",", "×", ",", "*", ",", ";", ",").Replace(plain)
	plain = strings.Join(strings.FieldsFunc(plain, func(r rune) bool { return r == ',' || r == ' ' }), ",")
	// In Python, 1e3 and 10.0 may stand for whole numbers.
	if x, err := strconv.ParseFloat(plain, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		plain = strconv.FormatInt(int64(x), 10)
	}
	for part := range strings.SplitSeq(plain, ",") {
		if _, err := strconv.ParseInt(part, 10, 64); err != nil {
			return ""
		}
	}
	if plain == text {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", plain)
}

// ParseShape parses lengths: whole numbers of at least 0.
func ParseShape(text string) ([]int64, error) {
	shape, err := ParseIntegers(text)
	for _, n := range shape {
		if n < 0 {
			return nil, fmt.Errorf("\"%d\" is less than 0", n)
		}
	}
	return shape, err
}

// ShapeFlag adds the flag --shape to a command.
func ShapeFlag(cmd *cobra.Command, p *string, usage string) {
	flagtext.Var(cmd.Flags(), p, "shape", "", usage, flagtext.Syntax(ParseShape))
}

// FileName checks the name of a file.
func FileName(file string) error { return flagtext.Needed("the name of a file")(file) }

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
