// SPDX-License-Identifier: Apache-2.0

package grid

// Repeated is a stretch of a list as tests see it: the cells of a table and its
// repetitions.
type Repeated struct{ Cells, Repeats int64 }

// Stretches returns the stretches in which the edges of an axis are stored.
func (a Axis) Stretches() []Repeated {
	var stretches []Repeated
	for _, p := range a.edges.stretches {
		stretches = append(stretches, Repeated{p.cells, p.repeats})
	}
	return stretches
}

// OfAxis returns a rectilinear grid with one axis.
func OfAxis(a Axis) *Grid {
	g, _ := ofAxes("rectilinear", []Axis{a})
	return g
}

// The methods below give tests the changes of one axis. Programs change grids.

func (a Axis) Divided(inner Cut) (Axis, error)     { return a.divided(inner) }
func (a Axis) Extended(more ...Run) (Axis, error)  { return a.extended(more...) }
func (a Axis) Merged(cells Interval) (Axis, error) { return a.merged(cells) }
func (a Axis) Resized(extent int64) (Axis, error)  { return a.resized(extent) }
func (a Axis) Restrict(in Interval) (Axis, error)  { return a.restrict(in) }
func (a Axis) Refine(b Axis) (Axis, error)         { return a.refine(b) }

func (g *Grid) MergedUpTo(axis int, longest int64) (*Grid, error) {
	return g.changeAxis(axis, func(a Axis) (Axis, error) { return a.MergedUpTo(longest) })
}

func (p Proposal) NumChunks() (int64, bool) { return p.numChunks() }
func (p Proposal) NumShards() (int64, bool) { return p.numShards() }
