// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"slices"

	"varve.dev/zarr/grid"
)

// withAxis returns a grid with another axis. It is regular if it can be.
func withAxis(g *grid.Grid, along int, axis grid.Axis) (*grid.Grid, error) {
	shape, cuts, chunk := g.Shape(), make([]grid.Cut, g.Rank()), make([]int64, g.Rank())
	shape[along] = axis.Extent()
	regular := true
	for i := range cuts {
		a := g.Axis(i)
		if i == along {
			a = axis
		}
		if edge, ok := oneEdge(a); ok {
			cuts[i], chunk[i] = grid.Every(edge), edge
			continue
		}
		regular = false
		cuts[i] = cutOf(a)
	}
	if regular {
		return grid.Regular(shape, chunk)
	}
	return grid.New(shape, cuts...)
}

// cutOf returns the edges of an axis.
func cutOf(a grid.Axis) grid.Cut {
	if a.IsRegular() {
		return grid.Every(a.Step())
	}
	cut := grid.Runs(slices.Collect(a.Edges())...)
	if a.IsEncoded() {
		return cut.EncodedAs(grid.Runs(slices.Collect(a.Encoded())...))
	}
	return cut
}

// oneEdge returns the edge that all chunks of an axis have, if a regular grid with it has
// the same chunks.
func oneEdge(a grid.Axis) (edge int64, ok bool) {
	if a.IsEncoded() {
		return 0, false
	}
	if a.IsRegular() {
		return a.Step(), true
	}
	for run := range a.Edges() {
		if edge == 0 {
			edge = run.Length
		}
		if run.Length != edge {
			return 0, false
		}
	}
	return edge, edge > 0
}
