// SPDX-License-Identifier: Apache-2.0

package blocks

import "math/bits"

// borders is an arithmetic progression of borders.
type borders struct {
	first, step, count int64
}

// within returns the number of borders of a run in the half-open interval that excludes
// lo and includes hi. lo must not lie before the run, hi not after it.
func (r run) within(lo, hi int64) int64 {
	// Listed edges: most runs have one cell, and divisions take longest.
	if r.count == 1 {
		if lo < hi && hi == r.start+r.length {
			return 1
		}
		return 0
	}
	return (hi-r.start)/r.length - (lo-r.start)/r.length
}

// has reports whether x, which must lie within the run, is one of its borders.
func (r run) has(x int64) bool {
	return x == r.start+r.length || (x-r.start)%r.length == 0
}

// common returns the borders that two runs share in the interval that excludes lo and
// includes hi, which both runs must cover.
//
// A border of a is a.start + t·a.length. It is one of b if t solves a linear congruence
// modulo b.length.
func common(a, b run, lo, hi int64) borders {
	if b.within(lo, hi) < a.within(lo, hi) {
		a, b = b, a
	}
	n := a.within(lo, hi)
	if n == 0 {
		return borders{}
	}
	last := (hi - a.start) / a.length
	// A single border needs no congruence.
	if n == 1 {
		x := a.start + a.length*last
		if b.has(x) {
			return borders{first: x, count: 1}
		}
		return borders{}
	}
	first := last - n + 1
	g, inverse := invert(a.length, b.length)
	d := b.start - a.start
	if d%g != 0 {
		return borders{}
	}
	// The solutions are t0 and every m-th number before and after it.
	m := b.length / g
	t0 := mulMod(modulo(d/g, m), inverse, m)
	skip := modulo(t0-modulo(first, m), m)
	if skip > last-first {
		return borders{}
	}
	t := first + skip
	n = (last-t)/m + 1
	s := borders{first: a.start + a.length*t, count: n}
	// The step of a single border might overflow.
	if n > 1 {
		s.step = a.length * m
	}
	return s
}

// invert returns the greatest common divisor g of a and b, and the inverse of a/g modulo
// b/g.
func invert(a, b int64) (g, inverse int64) {
	// Euclid's algorithm keeps r ≡ s·a modulo b for both pairs.
	r0, s0, r1, s1 := a, int64(1), b, int64(0)
	for r1 != 0 {
		q := r0 / r1
		r0, s0, r1, s1 = r1, s1, r0-q*r1, s0-q*s1
	}
	return r0, modulo(s0, b/r0)
}

// modulo returns the remainder of a/m, which is not negative.
func modulo(a, m int64) int64 {
	if a %= m; a < 0 {
		a += m
	}
	return a
}

// mulMod returns the remainder of a·b/m. Both factors must lie in [0, m).
func mulMod(a, b, m int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(bits.Rem64(hi, lo, uint64(m)))
}

// sharedBorders returns the line whose borders both lines share.
func sharedBorders(a, b *line) *line {
	s := new(line)
	for i, j, lo := 0, 0, int64(0); lo < a.extent; {
		p, q := a.runs[i], b.runs[j]
		hi := min(p.end(), q.end())
		if c := common(p, q, lo, hi); c.count > 0 {
			s.addBlocks(c.first-s.extent, 1)
			s.addBlocks(c.step, c.count-1)
		}
		lo = hi
		if a.runs[i].end() == hi {
			i++
		}
		if b.runs[j].end() == hi {
			j++
		}
	}
	return s
}
