// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"iter"

	"varve.dev/zarr/grid"
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
		return nil, fmt.Errorf("%w: chunks in %d runs of equal lengths, at most %d can be planned", grid.ErrUnsupported, n, mostRuns)
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
	l.stored = l.stored.plus(stored, count)
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
