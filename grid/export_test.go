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
	g, _ := ofAxes(RectilinearName, []Axis{a})
	return g
}
