// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
)

// planner holds the arguments of [New].
type planner struct {
	Options
	shape          []int64
	source, target []*line
	parts          []*line // of the units of the source: what is read of them
	size           int64   // bytes per element
	most           int64   // elements of a block
}

// newPlanner checks the arguments.
func newPlanner(source, target *grid.Grid, size, memory int64, o *Options) (*planner, error) {
	options, err := o.orDefault()
	if err != nil {
		return nil, err
	}
	shape := source.Shape()
	if !slices.Equal(shape, target.Shape()) {
		return nil, fmt.Errorf("%w: shapes %v and %v", ErrInvalid, shape, target.Shape())
	}
	if size < 1 || memory < 1 {
		return nil, fmt.Errorf("%w: elements of %d bytes and blocks of %d", ErrInvalid, size, memory)
	}
	p := &planner{Options: options, shape: shape, size: size, most: memory / size}
	if p.source, err = linesOf(source); err != nil {
		return nil, fmt.Errorf("blocks: source: %w", err)
	}
	if p.target, err = linesOf(target); err != nil {
		return nil, fmt.Errorf("blocks: target: %w", err)
	}
	if p.parts = p.source; p.Parts != nil {
		if !slices.Equal(shape, p.Parts.Shape()) {
			return nil, fmt.Errorf("%w: shapes %v and %v", ErrInvalid, shape, p.Parts.Shape())
		}
		if p.parts, err = linesOf(p.Parts); err != nil {
			return nil, fmt.Errorf("blocks: parts of the source: %w", err)
		}
	}
	return p, p.fit(memory)
}

// linesOf returns the axes of a grid.
func linesOf(g *grid.Grid) ([]*line, error) {
	lines := make([]*line, g.Rank())
	for i := range lines {
		var err error
		if lines[i], err = lineOf(g.Axis(i)); err != nil {
			return nil, fmt.Errorf("axis %d: %w", i, err)
		}
	}
	return lines, nil
}

// plan chooses between one stage and several.
func (p *planner) plan() (*Plan, error) {
	// Without elements there is nothing to choose.
	if slices.Contains(p.shape, 0) {
		return p.finished(p.measured(chain{p.target}))
	}
	one, _ := choose(p.target, p.parts, p.most, (*tally).amplification)
	best := p.measured(chain{one})
	if best.stages[0].Amplification > p.Amplification {
		best = p.cheaper(best)
	}
	return p.finished(best)
}

// holds reports whether the largest unit has at most so many elements.
func holds(units []*line, most int64) bool {
	n := count(1)
	for _, l := range units {
		n = n.times(count(l.longest))
	}
	return n.exact <= most
}

// cheaper returns a draft of several stages that costs less than one of one stage, or
// that one.
func (p *planner) cheaper(best draft) draft {
	// Read blocks have whole units.
	if p.Stages < 2 || !holds(p.source, p.most) {
		return best
	}
	read, write := ends(p.source, p.target, p.most)
	for n := 2; n <= p.Stages; n++ {
		// Rounding may exceed the budget by an element. Another number of stages fits.
		c := between(read, write, n)
		if !c.fits(p.most) {
			continue
		}
		if d := p.measured(c); d.cost < best.cost {
			best = d
		}
	}
	return best
}
