// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"slices"
)

// Refine returns the axis with the boundaries of both a and b within their common extent.
// It returns a or b itself if that one has all boundaries of the other. Otherwise the
// result is a list that ends at the extent. Refine returns an error that wraps
// [ErrInvalid] if the extents differ, and [ErrUnsupported] if the result has too many
// runs to list.
func (a Axis) Refine(b Axis) (Axis, error) {
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

// Refine returns the grid that refines each axis of g by that of o ([Axis.Refine]). Each
// of its chunks lies in one chunk of g and in one of o, so it is a plan for copying from
// one to the other. Refine returns an error that wraps [ErrInvalid] if the shapes differ.
func (g *Grid) Refine(o *Grid) (*Grid, error) {
	if len(o.axes) != len(g.axes) {
		return nil, invalid("a grid of %d axes is not refined by one of %d", len(g.axes), len(o.axes))
	}
	axes := make([]Axis, len(g.axes))
	for i, a := range g.axes {
		var err error
		if axes[i], err = a.Refine(o.axes[i]); err != nil {
			return nil, onAxis(i, err)
		}
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
			return nil, fmt.Errorf("%w: the boundaries of both axes make more than %d runs", ErrUnsupported, most)
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
