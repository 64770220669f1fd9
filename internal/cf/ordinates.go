// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"varve.dev/zarr/selection"
)

// span is the interval that a value of a selection names. The span of a day is its
// first and last nanosecond; the span of a number is the number itself. A value with a
// plural span selects all elements in it. Any other value selects the nearest element.
type span[T any] struct {
	first, last T
	plural      bool
}

// ordinates are the values of a coordinate, with functions to compare and format them.
type ordinates[T any] struct {
	values   []T
	missing  []int // indices of elements without a value
	dates    bool  // values are times, and whole numbers of few digits are not
	compare  func(a, b T) int
	distance func(a, b T) float64
	text     func(T) string
}

// add adds an element. It has no value if ok is false.
func (o *ordinates[T]) add(value T, ok bool) {
	if !ok {
		o.missing = append(o.missing, len(o.values))
	}
	o.values = append(o.values, value)
}

// find returns the elements that v selects. parse returns the span of a value.
func (o *ordinates[T]) find(v selection.Values, parse func(string) (span[T], error)) (item selection.Item, err error) {
	switch {
	case len(o.values) == 0:
		return item, emptyRange("it has no elements")
	case len(o.values) == len(o.missing):
		return item, invalid("all of its elements are missing")
	}
	// A single value selects the nearest element, or all elements of a month or a year.
	if !v.IsRange() {
		at, err := parse(v.Single)
		if err != nil {
			return item, suggestDots(err, v.Single, parse, o.dates)
		}
		if at.plural {
			start, stop, err := o.elementsIn(at, v.Single)
			return selection.Span(int64(start), int64(stop)), err
		}
		i, err := o.nearest(at)
		return selection.At(int64(i)), err
	}
	var from, to *span[T]
	for _, end := range []struct {
		text string
		to   **span[T]
	}{{v.From, &from}, {v.To, &to}} {
		if end.text == "" {
			continue
		}
		s, err := parse(end.text)
		if first, last, ok := strings.Cut(end.text, ":"); err != nil && ok && (first == "" || isIndex(first)) && (last == "" || isIndex(last)) {
			err = invalid("%s are indices, and %s has coordinate values besides: give either", end.text, v)
		}
		if err != nil {
			return item, err
		}
		*end.to = &s // an end without text stays open
	}
	start, stop, err := o.elementsBetween(from, to)
	return selection.Span(int64(start), int64(stop)), err
}

// errMixed returns an error for a range of which one end is an index and the other a
// coordinate value, or nil.
func errMixed(from, to string) error {
	index, value := from, to
	if isIndex(to) {
		index, value = to, from
	}
	if from == "" || to == "" || !isIndex(index) || isIndex(value) {
		return nil
	}
	return invalid("%s is an index and %s a coordinate value: give two indices, as in 0:10, or two values with two dots between them", index, value)
}

// isIndex reports whether a text is an index rather than a year or another value.
func isIndex(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil && len(strings.TrimPrefix(text, "-")) < 4
}

// suggestDots adds a hint to the error for a malformed value that contains a colon
// between two valid ones: ranges of values are written with two dots.
func suggestDots[T any](err error, text string, parse func(string) (span[T], error), dates bool) error {
	isEnd := func(text string) bool {
		_, err := parse(text)
		return err == nil || text == ""
	}
	// Only suggest a range if both sides are valid values. A time of day has colons, too.
	for i := range text {
		from, to := strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
		if text[i] != ':' || !isEnd(from) || !isEnd(to) {
			continue
		}
		if mixed := errMixed(from, to); mixed != nil && dates {
			return mixed
		} else if mixed != nil {
			err = mixed
		}
		return fmt.Errorf("%w (a range of values has two dots: %s..%s)", err, from, to)
	}
	return err
}

// elementsIn returns the elements in a span. name is the span as the user wrote it.
func (o *ordinates[T]) elementsIn(s span[T], name string) (start, stop int, err error) {
	if start, stop, err = o.elementsBetween(&s, &s); !errors.Is(err, ErrEmptyRange) {
		return start, stop, err
	}
	// Nothing matches: name the nearest element in the error.
	near := 0
	for i, v := range o.values {
		if o.distance(v, s.first) < o.distance(o.values[near], s.first) {
			near = i
		}
	}
	return 0, 0, emptyRange(fmt.Sprintf("no element is in %s; the nearest, %d, is %s", name, near, o.text(o.values[near])))
}

// elementsBetween returns the elements between two bounds. A nil bound is open. The
// values of the coordinate must rise or fall. If they fall, the bounds may be in either
// order. If they rise, a first bound above the second is an error: a longitude from 350
// to 10 probably means the 20 degrees across the end of the axis, which are not one
// range.
func (o *ordinates[T]) elementsBetween(from, to *span[T]) (start, stop int, err error) {
	falls, err := o.falls()
	if err != nil {
		return 0, 0, err
	}
	if from != nil && to != nil && o.compare(from.first, to.last) > 0 {
		if !falls {
			return 0, 0, invalid("the range ends before it begins (%s to %s), but the values of the coordinate rise; select by index, or in two parts",
				o.text(from.first), o.text(to.last))
		}
		// The values fall, so the user may name the bounds in the order of the axis.
		from, to = to, from
	}
	n := len(o.values)
	below := func(i int) bool { return from != nil && o.compare(o.values[i], from.first) < 0 }
	above := func(i int) bool { return to != nil && o.compare(o.values[i], to.last) > 0 }
	if falls {
		start = sort.Search(n, func(i int) bool { return !above(i) })
		stop = sort.Search(n, below)
	} else {
		start = sort.Search(n, func(i int) bool { return !below(i) })
		stop = sort.Search(n, above)
	}
	if start >= stop {
		return 0, 0, emptyRange(fmt.Sprintf("no element is in the range; the values go from %s to %s", o.text(o.values[0]), o.text(o.values[n-1])))
	}
	return start, stop, nil
}

// falls reports whether the values fall. If they neither rise nor fall, ranges are
// undefined and falls returns an error.
func (o *ordinates[T]) falls() (bool, error) {
	if len(o.missing) > 0 {
		return false, invalid("element %d is missing, so ranges are undefined; select by index", o.missing[0])
	}
	direction := 0
	for i := 1; i < len(o.values); i++ {
		c := o.compare(o.values[i], o.values[i-1])
		// Equal neighbours are permitted.
		if c*direction < 0 {
			return false, invalid("its values neither rise nor fall throughout: %s follows %s at element %d; select by index",
				o.text(o.values[i]), o.text(o.values[i-1]), i)
		}
		if c != 0 {
			direction = c
		}
	}
	return direction < 0, nil
}

// nearest returns the first element within the span, or else the element nearest to it.
// Of two equally near elements it returns the larger, as in pandas. A span beyond all
// values is an error if its distance from the nearest one exceeds the step there. It is
// probably a mistake, and does not mean the end of the axis.
func (o *ordinates[T]) nearest(at span[T]) (int, error) {
	best, least := -1, 0.0
	skip := o.missing
	for i, v := range o.values {
		if len(skip) > 0 && skip[0] == i {
			skip = skip[1:]
			continue
		}
		d := 0.0
		switch {
		case o.compare(v, at.first) < 0:
			d = o.distance(at.first, v)
		case o.compare(v, at.last) > 0:
			d = o.distance(v, at.last)
		}
		larger := best >= 0 && o.compare(v, o.values[best]) > 0
		if best < 0 || d < least || d == least && larger == (d > 0) && o.compare(v, o.values[best]) != 0 {
			best, least = i, d
		}
	}
	if least > 0 && o.isBeyond(best, at, least) {
		return 0, invalid("the nearest element, %d, is %s, too far from %s", best, o.text(o.values[best]), o.text(at.first))
	}
	return best, nil
}

// isBeyond reports whether a span lies beyond all values, and farther from the nearest
// one than that is from its neighbour. gap is the distance from the nearest value.
func (o *ordinates[T]) isBeyond(best int, at span[T], gap float64) bool {
	step, inside := 0.0, false
	side := o.compare(o.values[best], at.first)
	skip := o.missing
	for i, v := range o.values {
		if len(skip) > 0 && skip[0] == i {
			skip = skip[1:]
			continue
		}
		inside = inside || o.compare(v, at.first)*side < 0
		if (i == best-1 || i == best+1) && o.compare(v, o.values[best]) != 0 {
			step = max(step, o.distance(v, o.values[best]))
		}
	}
	return !inside && gap > step
}
