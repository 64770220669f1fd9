package grid

import (
	"fmt"
	"slices"
)

// Refine returns the axis whose cells end wherever those of a or b do, within the extent that both share. It is a or b itself
// where that has all boundaries of the other; else it is a list that ends at the extent. Different extents wrap
// [ErrInvalid]; boundaries that make too many runs to list wrap [ErrUnsupported].
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

// Refine returns the grid each axis of which is refined by that of o ([Axis.Refine]). Every chunk of it lies in one chunk of g
// and in one of o, so that it is a plan to copy from one to the other. Grids of different shapes wrap [ErrInvalid].
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

// cursor is a place in a list of runs.
type cursor struct {
	runs []Run // what follows; the first counts the cell that the place lies in
	left int64 // elements to the end of that cell
}

func newCursor(runs []Run) *cursor {
	c := &cursor{runs: slices.Clone(runs)}
	if len(runs) > 0 {
		c.left = runs[0].Length
	}
	return c
}

// atStart reports whether the place is where a cell starts.
func (c *cursor) atStart() bool { return c.left == c.runs[0].Length }

// advance moves on by n elements, which do not lead beyond the run.
func (c *cursor) advance(n int64) {
	if n < c.left {
		c.left -= n
		return
	}
	r := &c.runs[0]
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

// union returns the runs between all boundaries of two lists with one sum.
func union(a, b []Run) ([]Run, error) {
	var both []Run
	p, q := newCursor(a), newCursor(b)
	most := mostRuns + len(a) + len(b) // lists of single cells never make more than they have
	for steps := 0; len(p.runs) > 0; steps++ {
		if steps == most {
			return nil, fmt.Errorf("%w: the boundaries of both axes make more than %d runs", ErrUnsupported, most)
		}
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

// common returns as many equal cells as p and q can be seen to make together, where the cells of p are not longer:
// cells of p that fill cells of q, cells of p within one of q, or cells of one length that lie half a cell apart.
func common(p, q *cursor) Run {
	if !p.atStart() {
		return Run{}
	}
	a, b := p.runs[0], q.runs[0]
	if q.atStart() && b.Length%a.Length == 0 {
		n := b.Length / a.Length
		if k := min(b.Count, a.Count/n); k > 0 {
			return Run{a.Length, k * n}
		}
	}
	if a.Length == b.Length && q.left == a.Length-q.left {
		if k := min(a.Count, b.Count-1); k > 0 {
			return Run{q.left, 2 * k}
		}
	}
	return Run{a.Length, min(a.Count, q.left/a.Length)}
}
