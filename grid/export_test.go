// SPDX-License-Identifier: Apache-2.0

package grid

// Repeated is a part of a list as tests see it: the cells of a table and its repetitions.
type Repeated struct{ Cells, Repeats int64 }

// Parts returns the parts in which the edges of an axis are stored.
func (a Axis) Parts() []Repeated {
	var parts []Repeated
	for _, p := range a.edges.parts {
		parts = append(parts, Repeated{p.cells, p.repeats})
	}
	return parts
}

// OfAxis returns a rectilinear grid with one axis.
func OfAxis(a Axis) *Grid {
	g, _ := ofAxes(RectilinearName, []Axis{a})
	return g
}
