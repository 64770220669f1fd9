// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"sort"
)

// MaxBuckets is the largest number of buckets that [Buckets.Edges] and [Buckets.Covering]
// list. It suffices for the months of 87,000 years.
const MaxBuckets = 1 << 20

// Buckets knows where months or years begin along an axis. It is made from a coordinate
// ([Boundaries]) or from regular steps ([Steps.Buckets]) and is safe for concurrent use.
// The zero value has no times.
type Buckets struct {
	unit  Unit
	steps *Steps  // nil if there is a coordinate
	stops []int64 // of a coordinate: index after the last element of each bucket
}

// Boundaries returns the buckets of a coordinate. The values must cover the whole axis,
// including all elements by which it will grow. What comes after the last value is
// unknown, so the last bucket ends there; [Continue] and [Predict] look further. Errors
// are those of [Edges].
func Boundaries[T Number](values []T, u Units, unit Unit) (Buckets, error) {
	list, err := stops(values, u, unit)
	return Buckets{unit: unit, stops: list}, err
}

// Unit returns the unit of the buckets.
func (b Buckets) Unit() Unit { return b.unit }

// Len returns the number of elements that have times, or that [Predict] expects. It
// returns false if there is no end to them.
func (b Buckets) Len() (int64, bool) {
	if b.steps != nil {
		return 0, false
	}
	if len(b.stops) == 0 {
		return 0, true
	}
	return b.stops[len(b.stops)-1], true
}

// Next returns the smallest index above i whose element begins a new bucket. For the last
// bucket of a coordinate it is the number of values, or what [Predict] expects. A chunk
// that begins at i may therefore end there. The error wraps [ErrOutOfRange] if element i
// has no time, and [ErrOverflow] if the next bucket is too far away.
func (b Buckets) Next(i int64) (int64, error) {
	if err := b.check(i); err != nil {
		return 0, err
	}
	if b.steps != nil {
		return b.steps.next(i, b.unit)
	}
	return b.stops[b.bucket(i)], nil
}

// Fits returns nil if element i begins a bucket, so that a chunk may begin there. Element
// 0 always does. So does the end of a coordinate, because nothing is known about what
// follows. Otherwise the error wraps [ErrUnaligned] and gives the elements of the bucket.
// For elements beyond the end of a coordinate it wraps [ErrOutOfRange].
func (b Buckets) Fits(i int64) error {
	if n, ends := b.Len(); i == 0 || ends && i == n {
		return nil
	}
	if err := b.check(i); err != nil {
		return err
	}
	// Element i begins a bucket if that of the element before it ends there.
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

// Edges returns the number of elements of each bucket among the first n elements. The
// last bucket is cut at n. Errors are those of [Buckets.Covering].
func (b Buckets) Edges(n int64) ([]int64, error) {
	edges, sum, err := b.cover(n)
	if len(edges) > 0 {
		// The last bucket may reach beyond element n.
		edges[len(edges)-1] -= sum - n
	}
	return edges, err
}

// Covering returns the number of elements of each bucket that holds any of the first n
// elements. The last one is complete and may reach beyond n, but not beyond the end of a
// coordinate. The error wraps [ErrOutOfRange] if a coordinate has fewer than n values,
// [ErrLimit] if there are more than [MaxBuckets] buckets, or [ErrOverflow].
func (b Buckets) Covering(n int64) ([]int64, error) {
	edges, _, err := b.cover(n)
	return edges, err
}

// cover returns complete buckets and the sum of their elements.
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
		// Steps can have any number of buckets. Those of a coordinate are in memory
		// already.
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

// check returns an error if element i has no time.
func (b Buckets) check(i int64) error {
	if err := b.unit.check(); err != nil {
		return err
	}
	if i < 0 {
		return fmt.Errorf("%w: element %d is negative", ErrOutOfRange, i)
	}
	if n, ends := b.Len(); ends && i >= n {
		return fmt.Errorf("%w: it has %d values, but none for element %d; extend the coordinate first", ErrOutOfRange, n, i)
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
