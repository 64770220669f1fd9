package calendar

// Edges returns how many elements each bucket has, in order: the lengths of chunks that hold one month or year of an axis
// each. The values are the whole coordinate of the axis, so the lengths sum to their number; the first and the last bucket
// are as long as the axis reaches into them, and a bucket without an element has no length. For no values there are none.
//
// Its errors wrap [ErrInvalid] where values do not increase or are not finite, and where units or unit are zero;
// [ErrOverflow] where a value is too large to be a time.
func Edges[T Number](values []T, u Units, unit Unit) ([]int64, error) {
	stops, err := stops(values, u, unit)
	for i := len(stops) - 1; i > 0; i-- {
		stops[i] -= stops[i-1]
	}
	return stops, err
}

// stops returns after which element each bucket ends. It looks at a few values of a bucket only, since all of them increase.
func stops[T Number](values []T, u Units, unit Unit) ([]int64, error) {
	if err := unit.check(); err != nil || len(values) == 0 {
		return nil, err
	}
	if err := increasing(values, u); err != nil {
		return nil, err
	}
	var list []int64
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

// search returns the first element after i that is not before a day. It tries the elements one bucket further first,
// since buckets hardly differ in length.
func search[T Number](values []T, u Units, i, length int, day int64) (int, error) {
	lo, hi := i, len(values) // lo is before the day, hi is not
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

// increasing returns an error where values do not increase, or where the first or the last is no time.
func increasing[T Number](values []T, u Units) error {
	for i := 1; i < len(values); i++ {
		if !(values[i-1] < values[i]) { // NaN is not less
			return invalid("time %v of element %d comes after %v; times have to increase", values[i], i, values[i-1])
		}
	}
	for _, i := range []int{0, len(values) - 1} {
		if _, _, err := at(u, values[i]); err != nil {
			return onElement(int64(i), err)
		}
	}
	return nil
}
