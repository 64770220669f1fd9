// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"iter"
	"math"
	"slices"
)

// Axis is one dimension of an array together with the edges that cut it into cells. It is
// immutable. The zero Axis is not usable.
type Axis struct {
	extent int64
	step   int64   // length of every cell; 0 if edges are listed
	edges  *edges  // nil if every cell has length step
	stored *stored // encoded lengths; nil if they are the edges
	chunks int64   // cells that overlap [0, extent)
}

// Extent returns the length of the axis in elements.
func (a Axis) Extent() int64 { return a.extent }

// Step returns the length of every cell, or 0 if lengths are listed.
func (a Axis) Step() int64 { return a.step }

// IsRegular reports whether one length repeats along the axis without end.
func (a Axis) IsRegular() bool { return a.step > 0 }

// Chunks returns the number of chunks, which are the cells that overlap the array.
func (a Axis) Chunks() int64 { return a.chunks }

// Cells returns the number of cells. If lengths are listed these are all declared cells,
// including those beyond the extent. Otherwise Cells equals Chunks.
func (a Axis) Cells() int64 {
	if a.edges != nil {
		// A list may declare cells beyond the extent, for later growth.
		return a.edges.cells
	}
	return a.chunks
}

// Covered returns the number of elements that the cells cover, at least the extent. For a
// regular axis it is the extent, because its cells have no end.
func (a Axis) Covered() int64 {
	if a.edges != nil {
		return a.edges.sum
	}
	return a.extent
}

// Locate returns the chunk that holds element i and the position of i within it. It
// returns false if i lies outside the array.
func (a Axis) Locate(i int64) (chunk, within int64, ok bool) {
	if i < 0 || i >= a.extent {
		return 0, 0, false
	}
	if a.edges == nil {
		chunk = quotient(i, a.step)
		return chunk, i - chunk*a.step, true
	}
	chunk, start := a.edges.find(i)
	return chunk, i - start, true
}

// Cell returns cell k. It returns false if there is no such cell. Only an axis with
// listed edges has cells beyond its extent.
func (a Axis) Cell(k int64) (Cell, bool) {
	if k < 0 || k >= a.Cells() {
		return Cell{}, false
	}
	c := Cell{Index: k, Start: k * a.step, Edge: a.step}
	if a.edges != nil {
		c.Start, c.Edge = a.edges.at(k)
	}
	c.Encoded = c.Edge
	// A cell beyond the extent has no elements of the array.
	c.Logical = max(0, min(c.Edge, a.extent-c.Start))
	if a.stored != nil {
		c.Encoded = a.stored.encoded(c)
	}
	return c, true
}

// Edges yields the declared lengths as runs of equal lengths. A regular axis yields one
// run for all its chunks. An axis of inner chunks may have too many runs to iterate over;
// see [Axis.NumRuns].
func (a Axis) Edges() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		if a.edges == nil {
			if a.chunks > 0 {
				yield(Run{a.step, a.chunks})
			}
			return
		}
		// walk merges equal neighbours, so callers see runs that are as long as possible.
		w := walk{stretches: a.edges.stretches}
		for r, ok := w.next(); ok && yield(r); r, ok = w.next() {
		}
	}
}

// Sizes returns the logical lengths of the chunks as runs of equal lengths. These are the
// edges clipped at the extent. Sizes returns nil for an axis of inner chunks with more
// than 2^22 runs ([Axis.NumRuns]), which is too long to list.
func (a Axis) Sizes() []Run {
	if a.listable() != nil {
		return nil
	}
	var sizes []Run
	if n := a.NumRuns(); n <= math.MaxInt32 {
		sizes = make([]Run, 0, n+1) // to grow it would take several times as much
	}
	return slices.AppendSeq(sizes, a.Logical())
}

// Logical yields the runs that [Axis.Sizes] returns, without memory for all of them. It
// yields nothing if there are too many to list.
func (a Axis) Logical() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		if a.listable() != nil {
			return
		}
		left := a.extent
		var last Run // yielded late: a chunk that the extent clips may have the same length
		for r := range a.Edges() {
			whole := min(r.Count, left/r.Length)
			left -= whole * r.Length
			if whole > 0 {
				if last.Count > 0 && !yield(last) {
					return
				}
				last = Run{r.Length, whole}
			}
			if whole < r.Count {
				break // the extent ends within this run
			}
		}
		switch {
		// The extent ends at a boundary, so no chunk is clipped.
		case left == 0:
		case left == last.Length:
			last.Count++
		case last.Count > 0 && !yield(last):
			return
		default:
			last = Run{left, 1}
		}
		if last.Count > 0 {
			yield(last)
		}
	}
}

// Longest returns the largest encoded length of the cells in the interval, in elements.
// It returns 0 if there is no such cell.
func (a Axis) Longest(cells Interval) int64 {
	cells = cells.Intersect(Interval{0, a.Cells()})
	if a.stored != nil && cells.Len() > 0 {
		return a.stored.longest(a.step, a.extent, cells)
	}
	return a.longestEdge(cells)
}

// longestEdge returns the largest edge of the cells in the interval, or 0 if there is no
// such cell.
func (a Axis) longestEdge(cells Interval) int64 {
	// The result is 0 without cells, and the step otherwise.
	if cells.Len() == 0 || a.edges == nil {
		return a.step * min(1, cells.Len())
	}
	return a.edges.longest(cells)
}

// touched returns the chunks that overlap the elements in the interval.
func (a Axis) touched(in Interval) (Interval, error) {
	if in.Start < 0 || in.Stop > a.extent || in.Start > in.Stop {
		return Interval{}, fmt.Errorf("%w: elements %d to %d of an axis with extent %d", ErrOutOfRange, in.Start, in.Stop, a.extent)
	}
	if in.Start == in.Stop {
		return Interval{}, nil
	}
	first, _, _ := a.Locate(in.Start)
	last, _, _ := a.Locate(in.Stop - 1)
	return Interval{first, last + 1}, nil
}

// NumRuns returns an upper bound for the number of runs that [Axis.Edges] and
// [Axis.Encoded] yield; [Axis.Sizes] may return one more. For most axes it is about the
// number of runs that were once in memory. An axis of inner chunks ([Grid.Divided]) may
// have any number of runs, because repetitions are not expanded.
func (a Axis) NumRuns() int64 {
	n := min(1, a.chunks)
	if a.IsTrimmed() {
		// The clipped last chunk is a second run.
		n = min(2, a.chunks)
	}
	for _, e := range [...]*edges{a.edges, a.stored.list()} {
		if e != nil {
			n = max(n, e.entries())
		}
	}
	return n
}

// listable returns an error if a is an axis of inner chunks with too many runs to iterate
// over.
func (a Axis) listable() error {
	for _, e := range [...]*edges{a.edges, a.stored.list()} {
		if e != nil && e.isDivided && e.entries() > mostRuns {
			return tooManyRuns()
		}
	}
	return nil
}

// IsTrimmed reports whether the last chunk is stored only up to the extent
// ([EveryTrimmed]).
func (a Axis) IsTrimmed() bool { return a.stored == trimmed }

// IsEncoded reports whether the axis has encoded lengths besides its edges. A trimmed
// axis has none.
func (a Axis) IsEncoded() bool { return a.stored != nil && !a.stored.trimmed }

// Cell is one position of an axis's grid. All lengths are in elements.
type Cell struct {
	Index   int64 // number of the cell along the axis
	Start   int64 // first element
	Edge    int64 // distance to the start of the next cell
	Logical int64 // elements within the array: Edge clipped at the extent; 0 beyond it
	Encoded int64 // length that the stored bytes decode to
}

// IsBoundary reports whether the cell stores elements that lie outside the array.
func (c Cell) IsBoundary() bool { return c.Logical != c.Encoded }

// Run is a number of neighbouring cells of equal length.
type Run struct {
	Length int64 // elements per cell
	Count  int64 // cells
}

// appendRun appends r, or merges it with the last run if their lengths are equal.
func appendRun(runs []Run, r Run) []Run {
	if n := len(runs); n > 0 && runs[n-1].Length == r.Length {
		runs[n-1].Count += r.Count
		return runs
	}
	return append(runs, r)
}
