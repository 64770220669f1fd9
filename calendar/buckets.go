package calendar

import (
	"fmt"
	"sort"
)

// MaxBuckets is how many buckets [Buckets.Edges] and [Buckets.Covering] list at most: months of 87,000 years.
const MaxBuckets = 1 << 20

// Buckets says where along an axis months or years begin. They come from a coordinate ([Boundaries]), or from regular steps
// ([Steps.Buckets]), and are safe for concurrent use. The zero value has no time for any element.
type Buckets struct {
	unit  Unit
	steps *Steps  // nil where there is a coordinate
	stops []int64 // of a coordinate: after which element each bucket ends
}

// Boundaries returns the buckets of a coordinate, whose values cover the whole axis and whatever it is going to grow by. What
// comes after the last value is not known, so the last bucket ends with it; [Continue] looks further. The errors are
// those of [Edges].
func Boundaries[T Number](values []T, u Units, unit Unit) (Buckets, error) {
	list, err := stops(values, u, unit)
	return Buckets{unit: unit, stops: list}, err
}

// Unit returns what a bucket is.
func (b Buckets) Unit() Unit { return b.unit }

// Len returns for how many elements there are times; false says that there is no end to them.
func (b Buckets) Len() (int64, bool) {
	if b.steps != nil {
		return 0, false
	}
	if len(b.stops) == 0 {
		return 0, true
	}
	return b.stops[len(b.stops)-1], true
}

// Next returns the smallest index above i whose element begins a new bucket; for the last bucket of a coordinate it is the
// number of values. So chunks that begin at i may end there. Its errors wrap [ErrOutOfRange] for an element without a time,
// [ErrOverflow] where the next bucket is too far away.
func (b Buckets) Next(i int64) (int64, error) {
	if err := b.check(i); err != nil {
		return 0, err
	}
	if b.steps != nil {
		return b.steps.next(i, b.unit)
	}
	return b.stops[b.bucket(i)], nil
}

// Fits returns nil where element i begins a bucket, so that an edge may lie before it. Element 0 always does, and so does the
// end of a coordinate, of which nothing else is known. The error wraps [ErrUnaligned] and says where the bucket begins and
// ends; for elements beyond the end of a coordinate it wraps [ErrOutOfRange].
func (b Buckets) Fits(i int64) error {
	if n, ends := b.Len(); i == 0 || ends && i == n {
		return nil
	}
	if err := b.check(i); err != nil {
		return err
	}
	next, err := b.Next(i - 1)
	if err != nil || next == i {
		return err
	}
	start, err := b.start(i)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: element %d lies within a %v that has elements %d to %d", ErrUnaligned, i, b.unit, start, next-1)
}

// Edges returns how many of the first n elements each bucket has; the last bucket is cut at n.
// Its errors are those of [Buckets.Covering].
func (b Buckets) Edges(n int64) ([]int64, error) {
	edges, sum, err := b.cover(n)
	if len(edges) > 0 {
		edges[len(edges)-1] -= sum - n
	}
	return edges, err
}

// Covering returns how many elements each bucket has that holds any of the first n. The last one is whole and may reach beyond n,
// though never beyond the end of a coordinate. Its errors wrap [ErrOutOfRange] where a coordinate has fewer than n
// values, [ErrLimit] for more than [MaxBuckets] buckets, and [ErrOverflow].
func (b Buckets) Covering(n int64) ([]int64, error) {
	edges, _, err := b.cover(n)
	return edges, err
}

// cover returns whole buckets and the sum of their elements.
func (b Buckets) cover(n int64) (edges []int64, sum int64, err error) {
	if n <= 0 {
		if n < 0 {
			err = invalid("%d elements", n)
		}
		return nil, 0, err
	}
	if err := b.check(n - 1); err != nil {
		return nil, 0, err
	}
	if b.steps != nil {
		if err := b.steps.limit(n, b.unit); err != nil {
			return nil, 0, err
		}
	}
	for sum < n {
		next, err := b.Next(sum)
		if err != nil {
			return nil, 0, err
		}
		edges, sum = append(edges, next-sum), next
	}
	return edges, sum, nil
}

// check returns an error for an element that has no time.
func (b Buckets) check(i int64) error {
	if err := b.unit.check(); err != nil {
		return err
	}
	if i < 0 {
		return fmt.Errorf("%w: there is no element %d", ErrOutOfRange, i)
	}
	if n, ends := b.Len(); ends && i >= n {
		return fmt.Errorf("%w: it has %d values, element %d has none; extend the coordinate first", ErrOutOfRange, n, i)
	}
	return nil
}

// bucket returns the bucket of a coordinate that holds element i.
func (b Buckets) bucket(i int64) int {
	return sort.Search(len(b.stops), func(k int) bool { return b.stops[k] > i })
}

// start returns the first element of the bucket that holds element i.
func (b Buckets) start(i int64) (int64, error) {
	if b.steps != nil {
		return b.steps.first(i, b.unit)
	}
	k := b.bucket(i)
	if k == 0 {
		return 0, nil
	}
	return b.stops[k-1], nil
}
