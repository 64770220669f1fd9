package grid

import "slices"

// Restrict returns the axis of the elements in the interval, whose cells are clipped to it. A regular axis stays
// regular where the interval starts at a boundary or is empty; else the result is a list. An empty interval of a list keeps one
// edge, that of the cell in which it starts, or of the last. An interval that does not lie within the extent wraps [ErrOutOfRange].
func (a Axis) Restrict(in Interval) (Axis, error) {
	if _, err := a.touched(in); err != nil {
		return Axis{}, err
	}
	if a.IsRegular() && (in.Len() == 0 || in.Start%a.step == 0) {
		return NewAxis(in.Len(), Every(a.step))
	}
	if in.Len() == 0 {
		k, _, ok := a.Locate(in.Start)
		if !ok {
			k = a.Cells() - 1
		}
		c, _ := a.Cell(k)
		return NewAxis(0, Edges(c.Edge))
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	rest, _ := tail(slices.Values(a.Sizes()), in.Start)
	b, err := NewAxis(in.Len(), Runs(rest...))
	if err != nil {
		return Axis{}, err
	}
	return b.trimmed(true)
}

// Restrict returns the grid of the region as an array of its own, each axis as [Axis.Restrict] makes it.
// A region that does not lie within the array is an error that wraps [ErrOutOfRange].
func (g *Grid) Restrict(region Box) (*Grid, error) {
	if _, err := g.Touched(region); err != nil {
		return nil, err
	}
	axes := make([]Axis, len(g.axes))
	for i, a := range g.axes {
		var err error
		if axes[i], err = a.Restrict(region[i]); err != nil {
			return nil, onAxis(i, err)
		}
	}
	return g.recut(axes)
}
