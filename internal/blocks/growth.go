// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"

	"varve.dev/zarr/grid"
)

// Grown returns the plan for an array that has grown since p was made for it. source and
// target are its present grids, whose cells up to the old extent are those of p; the
// other arguments are those of [New]. The stages stay, and so do all blocks but the last
// ones along an axis that has grown: scratch objects of these blocks remain valid, where
// a new plan might cut all of them in another way.
//
// Grown returns an error if the array has not grown, or the blocks no longer fit into the
// memory. Then make a new plan.
func (p *Plan) Grown(source, target *grid.Grid, size, memory int64, o *Options) (*Plan, error) {
	now, err := newPlanner(source, target, size, memory, o)
	if err != nil {
		return nil, err
	}
	old := make(chain, len(p.Stages))
	for k, s := range p.Stages {
		if old[k], err = linesOf(s.Blocks); err != nil {
			return nil, err
		}
		for i, l := range old[k] {
			if l.extent == 0 || l.extent > now.shape[i] {
				return nil, fmt.Errorf("%w: axis %d has %d elements, and had %d", ErrInvalid, i, now.shape[i], l.extent)
			}
		}
	}
	c := make(chain, len(old))
	for k := range c {
		c[k] = make([]*line, len(now.shape))
	}
	for i := range now.shape {
		c.grow(old, i, now.source[i], now.target[i])
	}
	if !c.fits(now.most) {
		return nil, fmt.Errorf("%w: grown blocks exceed %d bytes", ErrInvalid, memory)
	}
	return now.finished(now.measured(c))
}

// grow sets the blocks along one axis to those of a plan for a smaller extent, and more
// of them. As in space, the blocks of the stages between merge those of a neighbour.
func (c chain) grow(old chain, axis int, source, target *line) {
	last := len(c) - 1
	c[0][axis] = old[0][axis].grown(source)
	if last == 0 {
		c[0][axis] = old[0][axis].grown(target)
		return
	}
	c[last][axis] = old[last][axis].grown(target)
	if old[0][axis].longest < old[last][axis].longest {
		for k := 1; k < last; k++ {
			c[k][axis] = old[k][axis].grown(c[k-1][axis])
		}
		return
	}
	for k := last - 1; k > 0; k-- {
		c[k][axis] = old[k][axis].grown(c[k+1][axis])
	}
}

// grown returns the cells of the line but the last one, and after them those of units,
// joined up to the longest length of the line.
func (l *line) grown(units *line) *line {
	if l.extent == units.extent {
		return l
	}
	g := new(line)
	for i, r := range l.runs {
		if i == len(l.runs)-1 {
			r.count--
		}
		g.addBlocks(r.length, r.count)
	}
	units.merge(g.extent, units.extent, l.longest, 0, g.addBlocks)
	return g
}
