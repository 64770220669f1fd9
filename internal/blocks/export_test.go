// SPDX-License-Identifier: Apache-2.0

package blocks

import "varve.dev/zarr/grid"

// Staged returns a plan of the given number of stages, at least two. It returns nil if
// their blocks exceed the budget.
func Staged(source, target *grid.Grid, size, memory int64, stages int, o *Options) (*Plan, error) {
	p, err := newPlanner(source, target, size, memory, o)
	if err != nil {
		return nil, err
	}
	if !(chain{p.source}).fits(p.most) {
		return nil, nil
	}
	read, write := endBlocks(p.source, p.target, p.most)
	c := intermediate(read, write, stages)
	if !c.fits(p.most) {
		return nil, nil
	}
	return p.finish(p.measureChain(c))
}
