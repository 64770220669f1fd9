// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"iter"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Interval is a half-open range of element or chunk indices along one axis.
type Interval struct{ Start, Stop int64 }

// Len returns the number of indices in the interval.
func (i Interval) Len() int64 { return max(0, i.Stop-i.Start) }

// Intersect returns the indices that both intervals hold. Its Len is 0 if there are none.
func (i Interval) Intersect(o Interval) Interval {
	return Interval{max(i.Start, o.Start), min(i.Stop, o.Stop)}
}

// Box is a half-open region with one interval per axis.
type Box []Interval

// BoxOf returns the box of the given shape at the origin.
func BoxOf(shape []int64) Box {
	b := make(Box, len(shape))
	for i, n := range shape {
		b[i].Stop = n
	}
	return b
}

// Shape returns the length of each axis.
func (b Box) Shape() []int64 {
	s := make([]int64, len(b))
	for i, in := range b {
		s[i] = in.Len()
	}
	return s
}

// Len returns the number of indices in the box. It returns false if that number overflows
// int64.
func (b Box) Len() (int64, bool) {
	n, ok := int64(1), true
	for _, in := range b {
		l := in.Len()
		if l == 0 {
			return 0, true
		}
		// An overflow does not end the loop: a later axis may be empty.
		if ok {
			n, ok = checked.Mul(n, l)
		}
	}
	return n, ok
}

// Contains reports whether index lies in the box.
func (b Box) Contains(index []int64) bool {
	for i, in := range b {
		if index[i] < in.Start || index[i] >= in.Stop {
			return false
		}
	}
	return len(index) == len(b)
}

// Indices yields every index of the box in C order. Each index is a new slice.
func (b Box) Indices() iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		for index := range b.IndicesInto(make([]int64, len(b))) {
			if !yield(slices.Clone(index)) {
				return
			}
		}
	}
}

// IndicesInto is [Box.Indices] without allocations: it writes each index to the slice of
// the caller, which has the rank of the box, and yields that slice.
func (b Box) IndicesInto(index []int64) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		for more := b.First(index); more; more = b.Next(index) {
			if !yield(index) {
				return
			}
		}
	}
}

// First sets index to the first index of the box. It returns false if the box is empty.
func (b Box) First(index []int64) bool {
	for i, in := range b {
		if in.Len() == 0 {
			return false
		}
		index[i] = in.Start
	}
	return true
}

// Next advances index to the one that follows in C order. It returns false after the
// last.
func (b Box) Next(index []int64) bool {
	// In C order the last axis changes first.
	for i := len(b) - 1; i >= 0; i-- {
		if index[i]++; index[i] < b[i].Stop {
			return true
		}
		index[i] = b[i].Start
	}
	return false
}

// Subtract yields disjoint boxes that together hold the indices of b that are not in o,
// at most two per axis. Both boxes must have the same number of axes.
func (b Box) Subtract(o Box) iter.Seq[Box] {
	return func(yield func(Box) bool) {
		rest := append(Box(nil), b...)
		for i := range rest {
			common := rest[i].Intersect(o[i])
			// The boxes do not overlap along this axis, so nothing that is left lies in
			// o.
			if common.Len() == 0 {
				yield(rest)
				return
			}
			// Split off what lies before and after o along this axis. The rest overlaps
			// o here.
			for _, part := range [2]Interval{{rest[i].Start, common.Start}, {common.Stop, rest[i].Stop}} {
				if part.Len() == 0 {
					continue
				}
				out := append(Box(nil), rest...)
				out[i] = part
				if !yield(out) {
					return
				}
			}
			rest[i] = common
		}
	}
}
