// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"iter"
	"math/bits"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
)

// mostRuns is the number of runs that an axis may have. That many take 128 MiB.
const mostRuns = 1 << 22

// run is a number of neighbouring cells of equal lengths.
type run struct {
	start  int64 // first element
	length int64 // elements of each cell within the array
	count  int64 // cells
	stored int64 // encoded length of each cell
}

// end returns the first element after the run.
func (r run) end() int64 { return r.start + r.length*r.count }

// line is an axis as a list of runs, clipped at the extent. Its borders are the ends of
// its cells. The last one is the extent, unless that is 0.
type line struct {
	runs    []run
	extent  int64
	cells   int64
	longest int64 // length of the longest cell within the array
	stored  total // encoded lengths of all cells
}

// lineOf returns the chunks of an axis.
func lineOf(a grid.Axis) (*line, error) {
	if n := a.NumRuns(); n > mostRuns {
		return nil, fmt.Errorf("%w: chunks in %s of equal lengths, at most %d can be planned", grid.ErrUnsupported, quantity.Count(n, "runs"), mostRuns)
	}
	l := &line{runs: make([]run, 0, a.NumRuns()+1)}
	next, stop := iter.Pull(a.Encoded())
	defer stop()
	var s grid.Run
	for r := range a.Edges() {
		// One run of edges may span several runs of encoded lengths, and the other way
		// round.
		for r.Count > 0 && l.extent < a.Extent() {
			if s.Count == 0 {
				s, _ = next()
			}
			n := min(r.Count, s.Count)
			r.Count, s.Count = r.Count-n, s.Count-n
			l.addClipped(r.Length, n, s.Length, a.Extent()-l.extent)
		}
	}
	return l, nil
}

// addClipped appends cells of which only the first elements, left of them, lie within the
// array.
func (l *line) addClipped(length, count, stored, left int64) {
	whole := min(count, left/length)
	l.add(length, whole, stored)
	if whole < count {
		l.add(left-whole*length, min(1, left-whole*length), stored)
	}
}

// add appends cells. It does nothing if their count is 0.
func (l *line) add(length, count, stored int64) {
	if count == 0 {
		return
	}
	if n := len(l.runs); n > 0 && l.runs[n-1].length == length && l.runs[n-1].stored == stored {
		l.runs[n-1].count += count
	} else {
		l.runs = append(l.runs, run{l.extent, length, count, stored})
	}
	l.extent += length * count
	l.cells += count
	l.longest = max(l.longest, length)
	l.stored = l.stored.addProduct(stored, count)
}

// addBlocks appends cells that are stored as long as they are.
func (l *line) addBlocks(length, count int64) { l.add(length, count, length) }

// holding returns the run that holds element x-1, at or after run from. That run must
// start before x, and x must not exceed the extent.
func (l *line) holding(x int64, from int) int {
	// Gallop: the next border is usually near, so this takes few steps.
	step := 1
	for from+step < len(l.runs) && l.runs[from+step].start < x {
		from += step
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if from+step < len(l.runs) && l.runs[from+step].start < x {
			from += step
		}
	}
	return from
}

// cut returns how to cut an axis into the cells of the line. Cells of one length become a
// regular axis, of which the extent may clip the last cell.
func (l *line) cut() grid.Cut {
	r := l.runs
	switch {
	case len(r) == 0:
		return grid.Every(1) // an axis without elements
	case len(r) == 1, len(r) == 2 && r[1].count == 1 && r[1].length < r[0].length:
		return grid.Every(r[0].length)
	}
	list := make([]grid.Run, len(r))
	for i, r := range r {
		list[i] = grid.Run{Length: r.length, Count: r.count}
	}
	return grid.Runs(list...)
}

// indexOf returns the first cell of the given length.
func (l *line) indexOf(length int64) int64 {
	k := int64(0)
	for _, r := range l.runs {
		if r.length == length {
			break
		}
		k += r.count
	}
	return k
}

// add takes the next cells of a line that is being made.
type add func(length, count int64)

// merge joins neighbouring cells up to a length, from the front, between two borders. A
// longer cell stays as it is. at is a run at or before the first cell; merge returns one
// at or before the last.
func (l *line) merge(from, to, longest int64, at int, next add) int {
	for p := from; p < to; {
		at = l.holding(p+1, at)
		r := l.runs[at]
		in := (min(r.end(), to) - p) / r.length
		// Blocks within the run. At least one cell is left for the block below, which
		// may reach into the runs that follow.
		each := max(1, min(in, longest/r.length))
		if whole := (in - 1) / each; whole > 0 {
			next(each*r.length, whole)
			p += each * r.length * whole
		}
		stop := to
		if longest < to-p {
			stop = l.borderUpTo(p+longest, at)
		}
		// A cell that is too long by itself stays as it is.
		stop = max(stop, p+r.length)
		next(stop-p, 1)
		p = stop
	}
	return at
}

// borderUpTo returns the last border up to element y, which must lie after the start of
// run at.
func (l *line) borderUpTo(y int64, at int) int64 {
	r := l.runs[l.holding(y, at)]
	return y - (y-r.start)%r.length
}

// mergeUpTo returns the line with neighbouring cells joined up to a length.
func (l *line) mergeUpTo(longest int64) *line {
	m := new(line)
	l.merge(0, l.extent, longest, 0, m.addBlocks)
	return m
}

// mergeAlong joins neighbouring cells up to a length, but prefers to end a block at a
// border that is also one of another line. common has the borders that both share.
func (l *line) mergeAlong(common *line, longest int64, next add) {
	at, from := 0, 0
	for i, r := range common.runs {
		if r.length <= longest {
			continue
		}
		// The cells between shared borders are too long, so that blocks end in between.
		// Those of one run count as a whole: one block more for each of them would not
		// be worth the loss of a regular axis.
		common.mergeRuns(from, i, longest, next)
		at = l.merge(r.start, r.end(), longest, at, next)
		from = i + 1
	}
	common.mergeRuns(from, len(common.runs), longest, next)
}

// mergeRuns merges the cells of some runs.
func (l *line) mergeRuns(from, to int, longest int64, next add) {
	if from < to {
		l.merge(l.runs[from].start, l.runs[to-1].end(), longest, from, next)
	}
}

// borders is an arithmetic progression of borders.
type borders struct {
	first, step, count int64
}

// countBorders returns the number of borders of a run in the half-open interval that
// excludes lo and includes hi. lo must not lie before the run, hi not after it.
func (r run) countBorders(lo, hi int64) int64 {
	// Listed edges: most runs have one cell, and divisions take longest.
	if r.count == 1 {
		if lo < hi && hi == r.start+r.length {
			return 1
		}
		return 0
	}
	return (hi-r.start)/r.length - (lo-r.start)/r.length
}

// isBorder reports whether x, which must lie within the run, is one of its borders.
func (r run) isBorder(x int64) bool {
	return x == r.start+r.length || (x-r.start)%r.length == 0
}

// commonBorders returns the borders that two runs share in the interval that excludes
// lo and includes hi, which both runs must cover.
//
// A border of a is a.start + t·a.length. It is one of b if t solves a linear congruence
// modulo b.length.
func commonBorders(a, b run, lo, hi int64) borders {
	if b.countBorders(lo, hi) < a.countBorders(lo, hi) {
		a, b = b, a
	}
	n := a.countBorders(lo, hi)
	if n == 0 {
		return borders{}
	}
	last := (hi - a.start) / a.length
	// A single border needs no congruence.
	if n == 1 {
		x := a.start + a.length*last
		if b.isBorder(x) {
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
		if c := commonBorders(p, q, lo, hi); c.count > 0 {
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
