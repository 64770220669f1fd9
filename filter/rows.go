// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math/bits"
	"sync/atomic"

	"varve.dev/zarr/grid"
)

// rows are the kept rows of a table: one bit for each row.
type rows struct {
	n    int64
	bits []uint64
}

func newRows(n int64) *rows { return &rows{n, make([]uint64, (n+63)/64)} }

// keep adds the rows from start on for which is is true. Calls may be concurrent.
func (r *rows) keep(start int64, is []bool) {
	word, at := uint64(0), start/64
	for i, b := range is {
		row := start + int64(i)
		if row/64 != at {
			r.add(at, word)
			word, at = 0, row/64
		}
		if b {
			word |= 1 << (row % 64)
		}
	}
	r.add(at, word)
}

// add adds the rows of a word, which other goroutines may change as well.
func (r *rows) add(at int64, word uint64) {
	if word != 0 {
		atomic.OrUint64(&r.bits[at], word)
	}
}

// keepRange adds all rows of a range.
func (r *rows) keepRange(in grid.Interval) {
	for at := in.Start / 64 * 64; at < in.Stop; at += 64 {
		word := ^uint64(0)
		if at < in.Start {
			word <<= in.Start - at
		}
		if at+64 > in.Stop {
			word &= ^uint64(0) >> (at + 64 - in.Stop)
		}
		r.bits[at/64] |= word
	}
}

// shifted returns the first row of n, and each kept one as the row after it.
func (r *rows) shifted(n int64) *rows {
	s := newRows(n)
	s.keepRange(grid.Interval{Stop: 1})
	for word, first := range r.words(grid.Interval{Stop: r.n}) {
		s.bits[first/64] |= word << 1
		if word>>63 != 0 {
			s.bits[first/64+1] |= 1
		}
	}
	return s
}

// count returns the number of kept rows of a range.
func (r *rows) count(in grid.Interval) int64 {
	n := 0
	for word := range r.words(in) {
		n += bits.OnesCount64(word)
	}
	return int64(n)
}

// words yields the words of a range, without the bits outside of it, and the row of the
// first bit of each.
func (r *rows) words(in grid.Interval) func(yield func(word uint64, first int64) bool) {
	return func(yield func(uint64, int64) bool) {
		for at := in.Start / 64 * 64; at < in.Stop; at += 64 {
			word := r.bits[at/64]
			if at < in.Start {
				word &= ^uint64(0) << (in.Start - at)
			}
			if at+64 > in.Stop {
				word &= ^uint64(0) >> (at + 64 - in.Stop)
			}
			if !yield(word, at) {
				return
			}
		}
	}
}

// after returns the row behind the first n kept ones of a range, which has as many.
func (r *rows) after(in grid.Interval, n int64) int64 {
	for word, first := range r.words(in) {
		k := int64(bits.OnesCount64(word))
		if n > k {
			n -= k
			continue
		}
		for ; n > 1; n-- {
			word &= word - 1
		}
		return first + int64(bits.TrailingZeros64(word)) + 1
	}
	return in.Stop
}

// list appends the kept rows of a range.
func (r *rows) list(dst []int64, in grid.Interval) []int64 {
	for word, first := range r.words(in) {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, first+int64(bits.TrailingZeros64(word)))
		}
	}
	return dst
}
