package grid

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/checked"
)

const (
	// mostDivisors is how many lengths an error proposes.
	mostDivisors = 5
	// mostTrials bounds the search for them, which finds all of them for lengths up to its square.
	mostTrials = 1 << 16
)

// MultipleOf returns nil where every cell is stored with a multiple of n elements, as the sharding codec wants it of shards and inner chunks
// of n. Cells beyond the extent count, and so does the step of a regular axis that has no cell. The time it takes depends on the
// lengths that are kept, not on how often they repeat. A cell that is no multiple and an n below 1 wrap [ErrInvalid]; the error names
// the first such cell, and lengths that would do.
//
// Source: zarr-specs v3, sharding_indexed; zarr-python 3.4.1 for cells beyond the extent.
func (a Axis) MultipleOf(n int64) error {
	if n < 1 {
		return invalid("inner chunk length must be at least 1, got %d", n)
	}
	cell, length, found := a.firstStored(func(length int64) bool { return length%n != 0 })
	if !found {
		return nil
	}
	var all int64
	a.firstStored(func(length int64) bool { all = gcd(all, length); return all == 1 })
	return invalid("shard %d is stored with %d elements, which inner chunks of %d do not divide: shards of %s would do, or inner chunks of %s, "+
		"which divide all shards; inner chunks that are clipped at the end of a shard are an experiment",
		cell, length, n, alternatives(neighbours(length, n)), alternatives(divisors(all, n)))
}

// firstStored returns the first cell whose stored length is one of those that are looked for. Every length that is kept is
// looked at once, however often it repeats.
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
	rest := a.extent % a.step
	return a.chunks - 1, rest, a.IsTrimmed() && rest > 0 && wanted(rest)
}

// first returns the first cell whose length is one of those that are looked for.
func (e *edges) first(wanted func(length int64) bool) (cell, length int64, found bool) {
	for i := range e.parts {
		p := &e.parts[i]
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

// neighbours returns the multiples of n next to length, which is none.
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

// divisors returns some divisors of a number, those nearest to n, in order.
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

// alternatives writes numbers as "1, 3 or 5".
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
