// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
)

// Concat returns the axis that joins a and the others end to end. The extents add up, and
// every chunk stays a chunk. Cells beyond the extent are kept only for the last axis. An
// axis without elements contributes nothing, except that a last one keeps its listed
// edges. Regular axes with the same step stay regular if all but the last end with a full
// chunk. Otherwise the result lists its edges.
//
// The padded last chunk of one axis may come to lie in the middle of the result. The
// result then has encoded lengths besides its edges ([Cut.EncodedAs]).
//
// Concat returns an error that wraps [ErrOverflow] if extents or edges sum to more than
// an int64 holds, and [ErrUnsupported] if an axis has too many runs to list.
func (a Axis) Concat(others ...Axis) (Axis, error) {
	all := append([]Axis{a}, others...)
	var parts []Axis
	for i, p := range all {
		// A last axis without elements may still declare cells for later growth.
		if p.extent > 0 || i == len(all)-1 && !p.IsRegular() {
			parts = append(parts, p)
		}
	}
	switch len(parts) {
	case 0:
		return all[len(all)-1], nil
	case 1:
		return parts[0], nil
	}
	return join(parts)
}

// join is Concat for two or more axes, of which only the last may be empty.
func join(parts []Axis) (Axis, error) {
	last := parts[len(parts)-1]
	extent, regular := int64(0), last.IsRegular()
	for i, p := range parts {
		if err := p.listable(); err != nil {
			return Axis{}, err
		}
		// A part that ends within a chunk moves the boundaries of those after it off the
		// multiples of the step.
		regular = regular && p.step == last.step && p.stored == last.stored && (i == len(parts)-1 || p.extent%p.step == 0)
		var ok bool
		if extent, ok = checked.Add(extent, p.extent); !ok {
			return Axis{}, fmt.Errorf("%w: the sum of the extents", ErrOverflow)
		}
	}
	if regular {
		last.extent, last.chunks = extent, checked.CeilDiv(extent, last.step)
		return last, nil
	}
	// A partial chunk within the result is clipped, but still decodes to its old shape.
	var edges, encoded []Run
	for _, p := range parts[:len(parts)-1] {
		edges = appendFirst(edges, slices.Values(p.Sizes()), p.chunks)
		encoded = appendFirst(encoded, p.Encoded(), p.chunks)
	}
	// A trimmed last chunk has an edge that ends at the extent, like its stored form.
	if last.IsTrimmed() {
		edges = appendFirst(edges, slices.Values(last.Sizes()), last.chunks)
	} else {
		edges = appendFirst(edges, last.Edges(), last.Cells())
	}
	encoded = appendFirst(encoded, last.Encoded(), last.Cells())
	cut := Runs(edges...)
	if !slices.Equal(edges, encoded) {
		cut = cut.EncodedAs(Runs(encoded...))
	}
	return NewAxis(extent, cut)
}

// appendFirst appends the first n lengths of list to runs.
func appendFirst(runs []Run, list iter.Seq[Run], n int64) []Run {
	for r := range list {
		r.Count = min(r.Count, n)
		if n -= r.Count; r.Count > 0 {
			runs = appendRun(runs, r)
		}
		if n == 0 {
			break
		}
	}
	return runs
}

// Concat returns the grid of arrays that are joined end to end along one axis, as by
// [Axis.Concat]. It returns an error that wraps [ErrInvalid] if the other axes differ in
// extent or edges, and [ErrOutOfRange] if the grid has no such axis.
func (g *Grid) Concat(axis int, others ...*Grid) (*Grid, error) {
	if err := g.checkAxis(axis); err != nil {
		return nil, err
	}
	parts := make([]Axis, len(others))
	for n, o := range others {
		if len(o.axes) != len(g.axes) {
			return nil, invalid("part %d has %s, part 0 has %d", n+1, quantity.Count(len(o.axes), "axes"), len(g.axes))
		}
		for i := range g.axes {
			if i != axis && !g.axes[i].Equal(o.axes[i]) {
				return nil, onAxis(i, invalid("part %d has another extent or is cut otherwise than part 0", n+1))
			}
		}
		parts[n] = o.axes[axis]
	}
	return g.changeAxis(axis, func(a Axis) (Axis, error) { return a.Concat(parts...) })
}

// restrict is [Grid.Restrict] for one axis.
func (a Axis) restrict(in Interval) (Axis, error) {
	if _, err := a.touched(in); err != nil {
		return Axis{}, err
	}
	if a.IsRegular() && (in.Len() == 0 || in.Start%a.step == 0) {
		return NewAxis(in.Len(), Every(a.step))
	}
	if a.Cells() == 0 {
		return a, nil
	}
	if in.Len() == 0 {
		// An axis needs an edge even if it has no elements.
		k, _, ok := a.Locate(in.Start)
		if !ok {
			k = a.Cells() - 1
		}
		c, _ := a.Cell(k)
		return NewAxis(0, Edges(c.Edge))
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	rest, _ := tail(slices.Values(a.Sizes()), in.Start)
	b, err := NewAxis(in.Len(), Runs(rest...))
	if err != nil {
		return Axis{}, err
	}
	// Drop the cells after the interval and clip the last one.
	return b.trimmed(true)
}

// Restrict returns the grid of the region as an array of its own, with cells clipped to
// it. A regular axis stays regular if its interval is empty or starts at a boundary.
// Otherwise it lists its edges. For an empty interval the list has one edge: that of the
// cell where the interval starts, or else of the last cell. Restrict returns an error
// that wraps [ErrOutOfRange] if the region does not lie within the array.
func (g *Grid) Restrict(region Box) (*Grid, error) {
	if _, err := g.Touched(region); err != nil {
		return nil, err
	}
	axes, err := eachAxis(len(g.axes), func(i int) (Axis, error) { return g.axes[i].restrict(region[i]) })
	if err != nil {
		return nil, err
	}
	return g.recut(axes)
}

// merged is [Grid.Merged] for one axis.
func (a Axis) merged(cells Interval) (Axis, error) {
	if cells.Start < 0 || cells.Stop > a.Cells() || cells.Start > cells.Stop {
		return Axis{}, fmt.Errorf("%w: cells %d to %d of an axis with %s", ErrOutOfRange, cells.Start, cells.Stop, quantity.Count(a.Cells(), "cells"))
	}
	if cells.Len() < 2 {
		return a, nil
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	first, _ := a.Cell(cells.Start)
	last, _ := a.Cell(cells.Stop - 1)
	span, ok := checked.Add(last.Start-first.Start, last.Edge)
	if !ok {
		return Axis{}, ErrOverflow
	}
	// A run may hold cells before the interval, in it and after it.
	var runs []Run
	at := int64(0)
	for r := range a.Edges() {
		end := at + r.Count
		if before := min(r.Count, cells.Start-at); before > 0 {
			runs = appendRun(runs, Run{r.Length, before})
		}
		if at <= cells.Start && cells.Start < end {
			runs = appendRun(runs, Run{span, 1})
		}
		if after := min(r.Count, end-cells.Stop); after > 0 {
			runs = appendRun(runs, Run{r.Length, after})
		}
		at = end
	}
	return NewAxis(a.extent, Runs(runs...))
}

// MergedUpTo returns the axis with neighbouring chunks joined, from the first on, as long
// as the result has at most longest elements. It never splits a cell, so a longer chunk
// stays as it is. Cells beyond the extent stay, too. A regular axis stays regular: its
// step becomes the largest multiple that fits, but does not exceed all chunks together.
// MergedUpTo returns an error that wraps [ErrInvalid] if longest is below 1.
func (a Axis) MergedUpTo(longest int64) (Axis, error) {
	if longest < 1 {
		return Axis{}, invalid("the longest cell must have at least 1 element, got %d", longest)
	}
	if a.IsRegular() {
		// At least one chunk: a cell is never split.
		n := max(1, min(longest/a.step, a.chunks))
		return NewAxis(a.extent, Every(n*a.step))
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	m := merger{longest: longest}
	left := a.chunks
	for r := range a.Edges() {
		// Only chunks are merged. Cells beyond the extent keep their edges.
		in := min(r.Count, left)
		if in > 0 {
			m.add(Run{r.Length, in})
		}
		if left -= in; left == 0 {
			m.flush()
		}
		if r.Count > in {
			m.runs = appendRun(m.runs, Run{r.Length, r.Count - in})
		}
	}
	return NewAxis(a.extent, Runs(m.runs...))
}

// merger joins neighbouring cells up to a length.
type merger struct {
	longest int64
	runs    []Run // finished cells
	open    int64 // length of the cell that may still grow
}

// flush finishes the open cell.
func (m *merger) flush() {
	if m.open > 0 {
		m.runs = appendRun(m.runs, Run{m.open, 1})
	}
	m.open = 0
}

// add adds cells of one length. The last cell that it makes stays open.
func (m *merger) add(r Run) {
	// First fill the open cell.
	if fit := min(r.Count, (m.longest-m.open)/r.Length); fit > 0 {
		m.open += fit * r.Length
		r.Count -= fit
	}
	if r.Count == 0 {
		return
	}
	m.flush()
	// A cell that is too long by itself stays as it is.
	each := max(1, min(r.Count, m.longest/r.Length))
	// At least one cell is left over for the open one, so that it can still grow.
	if whole := (r.Count - 1) / each; whole > 0 {
		m.runs = appendRun(m.runs, Run{each * r.Length, whole})
		r.Count -= whole * each
	}
	m.open = r.Count * r.Length
}

// Merged returns the grid with the cells in an interval of one axis joined into one. If
// there are fewer than two, it returns the grid unchanged. Otherwise the axis lists its
// edges and has no encoded lengths besides them. Merged returns an error that wraps
// [ErrOutOfRange] if the axis or a cell does not exist, and [ErrOverflow] if the new cell
// ends beyond the largest int64.
func (g *Grid) Merged(axis int, cells Interval) (*Grid, error) {
	return g.changeAxis(axis, func(a Axis) (Axis, error) { return a.merged(cells) })
}

// refine is [Grid.Refine] for one axis.
func (a Axis) refine(b Axis) (Axis, error) {
	if a.extent != b.extent {
		return Axis{}, invalid("extents %d and %d: only axes of one extent have a common refinement", a.extent, b.extent)
	}
	for _, axis := range []Axis{a, b} {
		if err := axis.listable(); err != nil {
			return Axis{}, err
		}
	}
	ofA, ofB := a.Sizes(), b.Sizes()
	both, err := union(ofA, ofB)
	switch {
	case err != nil:
		return Axis{}, err
	case slices.Equal(both, ofA):
		return a, nil
	case slices.Equal(both, ofB):
		return b, nil
	}
	return NewAxis(a.extent, Runs(both...))
}

// Refine returns the grid with the boundaries of both g and o. Each of its chunks lies in
// one chunk of g and in one of o, so it is a plan for copying from one to the other. An
// axis is that of g or o if this one has all boundaries of the other. Otherwise it is a
// list that ends at the extent.
//
// Refine returns an error that wraps [ErrInvalid] if the shapes differ, and
// [ErrUnsupported] if an axis has too many runs to list.
func (g *Grid) Refine(o *Grid) (*Grid, error) {
	if len(o.axes) != len(g.axes) {
		return nil, invalid("a grid of %s is not refined by one of %d", quantity.Count(len(g.axes), "axes"), len(o.axes))
	}
	axes, err := eachAxis(len(g.axes), func(i int) (Axis, error) { return g.axes[i].refine(o.axes[i]) })
	if err != nil {
		return nil, err
	}
	return g.recut(axes)
}

// cursor is a position in a list of runs.
type cursor struct {
	runs []Run // what follows; the first run includes the cell at the position
	left int64 // elements to the end of that cell
}

func newCursor(runs []Run) *cursor {
	c := &cursor{runs: slices.Clone(runs)}
	if len(runs) > 0 {
		c.left = runs[0].Length
	}
	return c
}

// atStart reports whether the position is the start of a cell.
func (c *cursor) atStart() bool { return c.left == c.runs[0].Length }

// advance moves on by n elements, which must not lead beyond the first run.
func (c *cursor) advance(n int64) {
	if n < c.left {
		c.left -= n
		return
	}
	r := &c.runs[0]
	// Finish the current cell, then whole cells, and keep the rest of the last one.
	n -= c.left
	r.Count -= 1 + n/r.Length
	c.left = r.Length - n%r.Length
	if r.Count > 0 {
		return
	}
	if c.runs = c.runs[1:]; len(c.runs) > 0 {
		c.left = c.runs[0].Length
	}
}

// union returns the runs between all boundaries of two lists with the same sum.
func union(a, b []Run) ([]Run, error) {
	var both []Run
	p, q := newCursor(a), newCursor(b)
	// Lists of single cells have at most len(a)+len(b) boundaries. Long runs that never
	// line up may have any number.
	most := mostRuns + len(a) + len(b)
	for steps := 0; len(p.runs) > 0; steps++ {
		if steps == most {
			return nil, fmt.Errorf("%w: the boundaries of both axes make more than %s", ErrUnsupported, quantity.Count(most, "runs"))
		}
		// A run of equal cells takes one step, however many cells it has.
		r := common(p, q)
		if r.Count == 0 {
			r = common(q, p)
		}
		if r.Count == 0 {
			r = Run{min(p.left, q.left), 1}
		}
		p.advance(r.Length * r.Count)
		q.advance(r.Length * r.Count)
		both = appendRun(both, r)
	}
	return both, nil
}

// common returns a run of equal cells that p and q have in common at their position, if
// the cells of p are not longer than those of q. It recognises three cases: cells of p
// that fill whole cells of q, cells of equal length that are half a cell apart, and cells
// of p within one cell of q. It returns a run without cells if p is within a cell.
func common(p, q *cursor) Run {
	if !p.atStart() {
		return Run{}
	}
	a, b := p.runs[0], q.runs[0]
	// Cells of a fill whole cells of b, as many as both runs have.
	if q.atStart() && b.Length%a.Length == 0 {
		n := b.Length / a.Length
		if k := min(b.Count, a.Count/n); k > 0 {
			return Run{a.Length, k * n}
		}
	}
	// Each cell of a is cut in half by a boundary of b, and the other way round.
	if a.Length == b.Length && q.left == a.Length-q.left {
		if k := min(a.Count, b.Count-1); k > 0 {
			return Run{q.left, 2 * k}
		}
	}
	return Run{a.Length, min(a.Count, q.left/a.Length)}
}
