// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/checked"
)

const (
	// mostDivisors is the number of lengths that an error suggests.
	mostDivisors = 5
	// mostTrials bounds the search for divisors. It finds all divisors of numbers up to
	// its square.
	mostTrials = 1 << 16
)

// MultipleOf returns nil if the encoded length of every cell is a multiple of n elements.
// The sharding codec requires this of shards with inner chunks of n. Cells beyond the
// extent count, and so does the step of a regular axis without cells. An axis without
// edges ([Edges]) only fits inner chunks of 1. The time it takes depends on the number of
// lengths in memory, not on how often they repeat.
//
// Otherwise MultipleOf returns an error that wraps [ErrInvalid]. It names the first cell
// at fault and suggests lengths that fit. The error also wraps [ErrInvalid] if n is below
// 1.
//
// Sources: zarr-specs v3, sharding_indexed; zarr-python 3.4.1 for cells beyond the
// extent.
func (a Axis) MultipleOf(n int64) error {
	if n < 1 {
		return invalid("inner chunk length must be at least 1, got %d", n)
	}
	// Other programs see the placeholder, which is no multiple of n.
	if n > 1 && a.edges != nil && a.edges.cells == 0 {
		return invalid("an axis of shards without elements needs an edge: declare one that is a multiple of %d", n)
	}
	cell, length, found := a.firstStored(func(length int64) bool { return length%n != 0 })
	if !found {
		return nil
	}
	// all becomes the greatest common divisor of the lengths. Its divisors fit all
	// shards.
	var all int64
	a.firstStored(func(length int64) bool { all = gcd(all, length); return all == 1 })
	return invalid("shard %d is stored with %d elements, which inner chunks of %d do not divide: shards of %s would do, or inner chunks of %s, "+
		"which divide all shards; inner chunks that are clipped at the end of a shard are an experiment",
		cell, length, n, alternatives(neighbours(length, n)), alternatives(divisors(all, n)))
}

// firstStored returns the first cell whose encoded length is wanted. It calls wanted once
// for every entry in memory, however often that repeats.
func (a Axis) firstStored(wanted func(length int64) bool) (cell, length int64, found bool) {
	s := a.stored
	switch {
	case s != nil && s.edges != nil:
		return s.edges.first(wanted)
	case a.edges != nil && s == nil:
		return a.edges.first(wanted)
	case s != nil && !s.trimmed:
		return 0, s.step, wanted(s.step)
	case wanted(a.step):
		return 0, a.step, true
	}
	// Only the last chunk of a trimmed axis has another length than the step.
	rest := a.extent % a.step
	return a.chunks - 1, rest, a.IsTrimmed() && rest > 0 && wanted(rest)
}

// first returns the first cell whose length is wanted.
func (e *edges) first(wanted func(length int64) bool) (cell, length int64, found bool) {
	for i := range e.stretches {
		p := &e.stretches[i]
		for r := range p.entries() {
			if n := p.run(r).Length; wanted(n) {
				cell = int64(r)
				if p.table.first != nil {
					cell = p.table.first[r]
				}
				return p.index + cell, n, true
			}
		}
	}
	return 0, 0, false
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// neighbours returns the multiples of n next to length, which must not be one itself.
func neighbours(length, n int64) []int64 {
	var near []int64
	if below := length - length%n; below > 0 {
		near = append(near, below)
	}
	if above, ok := checked.Add(length, n-length%n); ok {
		near = append(near, above)
	}
	return near
}

// divisors returns the divisors of number that are nearest to n, in ascending order.
func divisors(number, n int64) []int64 {
	var all []int64
	for d := int64(1); d <= mostTrials && d <= number/d; d++ {
		if number%d == 0 {
			all = append(all, d)
			if d != number/d {
				all = append(all, number/d)
			}
		}
	}
	slices.SortFunc(all, func(a, b int64) int { return cmp.Or(cmp.Compare(max(a-n, n-a), max(b-n, n-b)), cmp.Compare(a, b)) })
	all = all[:min(len(all), mostDivisors)]
	slices.Sort(all)
	return all
}

// alternatives formats numbers as "1, 3 or 5".
func alternatives(numbers []int64) string {
	text := make([]string, len(numbers))
	for i, n := range numbers {
		text[i] = strconv.FormatInt(n, 10)
	}
	if len(text) < 2 {
		return strings.Join(text, "")
	}
	last := len(text) - 1
	return strings.Join(text[:last], ", ") + " or " + text[last]
}
