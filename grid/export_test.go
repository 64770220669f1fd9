package grid

// Repeated is a part of a list as tests see it: a table that is repeated.
type Repeated struct{ Cells, Repeats int64 }

// Parts returns in what parts the edges of an axis are kept.
func (a Axis) Parts() []Repeated {
	var parts []Repeated
	for _, p := range a.edges.parts {
		parts = append(parts, Repeated{p.cells, p.repeats})
	}
	return parts
}

// OfAxis returns a rectilinear grid of one axis.
func OfAxis(a Axis) *Grid {
	g, _ := ofAxes(RectilinearName, []Axis{a})
	return g
}
