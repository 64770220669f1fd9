// SPDX-License-Identifier: Apache-2.0

package calendar

// Edges returns the number of elements in each bucket, in order. These are the lengths of
// chunks with one month or year each. The values are the whole coordinate of the axis, so
// the lengths sum to their number. The first and last bucket may be incomplete. A bucket
// without elements has no entry, and without values there are no entries.
//
// The error wraps [ErrInvalid] if values do not increase or are not finite, or if u or
// unit is zero. It wraps [ErrOverflow] if a value is too large for a time.
func Edges[T Number](values []T, u Units, unit Unit) ([]int64, error) {
	stops, err := stops(values, u, unit)
	for i := len(stops) - 1; i > 0; i-- {
		stops[i] -= stops[i-1]
	}
	return stops, err
}

// stops returns the index after the last element of each bucket. It converts only a few
// values per bucket, because values increase.
func stops[T Number](values []T, u Units, unit Unit) ([]int64, error) {
	if err := unit.check(); err != nil || len(values) == 0 {
		return nil, err
	}
	if err := increasing(values, u); err != nil {
		return nil, err
	}
	var list []int64
	// The length of a bucket is a good guess for that of the next one.
	for i, length := 0, 1; i < len(values); {
		t, _, err := at(u, values[i])
		if err != nil {
			return nil, err
		}
		next, err := search(values, u, i, length, u.calendar.end(t.Day, unit))
		if err != nil {
			return nil, err
		}
		i, length = next, next-i
		list = append(list, int64(i))
	}
	return list, nil
}

// search returns the first index after i whose element is not before a day. It first
// tries the element one bucket further, because buckets hardly differ in length.
func search[T Number](values []T, u Units, i, length int, day int64) (int, error) {
	lo, hi := i, len(values) // lo is before day, hi is not
	for step := max(1, length); lo+1 < hi; step = (hi - lo) / 2 {
		probe := min(lo+max(1, step), hi-1)
		t, _, err := at(u, values[probe])
		if err != nil {
			return 0, err
		}
		if t.Day < day {
			lo = probe
		} else {
			hi = probe
		}
	}
	return hi, nil
}

// increasing returns an error if values do not increase, or if the first or the last is
// not a valid time.
func increasing[T Number](values []T, u Units) error {
	for i := 1; i < len(values); i++ {
		if !(values[i-1] < values[i]) { // NaN is not less
			return invalid("time %v of element %d comes after %v; times must increase", values[i], i, values[i-1])
		}
	}
	// Values increase, so if both ends are valid times all others are, too.
	for _, i := range []int{0, len(values) - 1} {
		if _, _, err := at(u, values[i]); err != nil {
			return onElement(int64(i), err)
		}
	}
	return nil
}
