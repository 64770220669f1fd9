// SPDX-License-Identifier: Apache-2.0

package blocks

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

// merged returns the line with neighbouring cells joined up to a length.
func (l *line) merged(longest int64) *line {
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
