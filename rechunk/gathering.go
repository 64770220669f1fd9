// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
)

// mostBlocks bounds the small blocks that are staged together: a crash loses what has no
// record yet. enoughTasks remain to show progress, and for processes that share them.
const (
	mostBlocks  = 4096
	enoughTasks = 64
)

// gathered returns a plan of one stage with small blocks merged, as far as they fit into
// the memory of a task. Every task costs a record that is synced. Other plans stay: their
// blocks are the objects of the scratch.
func (w *work) gathered(plan *blocks.Plan) (*blocks.Plan, error) {
	if len(plan.Stages) > 1 {
		return plan, nil
	}
	g := plan.Stages[0].Blocks
	lengths, cuts := make([]int64, g.Rank()), make([]grid.Cut, g.Rank())
	longest := func(a grid.Axis) int64 { return max(1, a.Longest(grid.Interval{Stop: a.Chunks()})) }
	for i := range lengths {
		lengths[i], cuts[i] = longest(g.Axis(i)), cutOf(g.Axis(i))
	}
	all, ok := g.NumChunks()
	if !ok {
		return plan, nil // far more than can be stored
	}
	merged := false
	for i, left := g.Rank()-1, min(mostBlocks, all/enoughTasks); i >= 0; i-- {
		a, most := g.Axis(i), w.block()/max(1, int64(w.Target.Engine.Size))
		for k, n := range lengths {
			if k != i {
				most /= n
			}
		}
		most = min(most, product(left, lengths[i]))
		if most < 2*lengths[i] || a.Chunks() < 2 {
			continue
		}
		to, err := a.MergedUpTo(most)
		if err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		cuts[i], merged = cutOf(to), true
		left = max(1, left/max(1, longest(to)/lengths[i]))
		lengths[i] = longest(to)
	}
	if !merged {
		return plan, nil
	}
	g, err := grid.New(g.Shape(), cuts...)
	if err != nil {
		return nil, err
	}
	one := *plan
	one.Stages = []blocks.Stage{plan.Stages[0]}
	one.Stages[0].Blocks = g
	return &one, nil
}
