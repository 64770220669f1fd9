// SPDX-License-Identifier: Apache-2.0

package grid

import "slices"

// Restrict returns the axis of the elements in the interval, with cells clipped to it. A
// regular axis stays regular if the interval is empty or starts at a boundary. Otherwise
// the result lists its edges. For an empty interval the list has one edge: that of the
// cell where the interval starts, or else of the last cell. Restrict returns an error
// that wraps [ErrOutOfRange] if the interval does not lie within the extent.
func (a Axis) Restrict(in Interval) (Axis, error) {
	if _, err := a.touched(in); err != nil {
		return Axis{}, err
	}
	if a.IsRegular() && (in.Len() == 0 || in.Start%a.step == 0) {
		return NewAxis(in.Len(), Every(a.step))
	}
	if a.Cells() == 0 {
		return a, nil
	}
	if in.Len() == 0 {
		// An axis needs an edge even if it has no elements.
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
	// Drop the cells after the interval and clip the last one.
	return b.trimmed(true)
}

// Restrict returns the grid of the region as an array of its own, with each axis as by
// [Axis.Restrict]. It returns an error that wraps [ErrOutOfRange] if the region does not
// lie within the array.
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
