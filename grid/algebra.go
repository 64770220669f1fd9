// SPDX-License-Identifier: Apache-2.0

package grid

import "fmt"

// recut returns a grid with the given axes. It keeps the name of g unless an axis lists
// its edges, which only a rectilinear grid can do.
func (g *Grid) recut(axes []Axis) (*Grid, error) {
	h, err := ofAxes(g.name, axes)
	// A list of edges has no form in the metadata of a regular or bounded grid.
	if err == nil && !h.regular {
		h.name = RectilinearName
	}
	return h, err
}

// onOne returns g with one axis replaced by change(axis). Errors name the axis.
func (g *Grid) onOne(axis int, change func(Axis) (Axis, error)) (*Grid, error) {
	if err := g.has(axis); err != nil {
		return nil, err
	}
	// Grids are immutable and may share axes.
	axes := append([]Axis(nil), g.axes...)
	var err error
	if axes[axis], err = change(axes[axis]); err != nil {
		return nil, onAxis(axis, err)
	}
	return g.recut(axes)
}

// has returns an error that wraps [ErrOutOfRange] if the grid has no such axis.
func (g *Grid) has(axis int) error {
	if axis < 0 || axis >= len(g.axes) {
		return fmt.Errorf("%w: axis %d of a grid with %d axes", ErrOutOfRange, axis, len(g.axes))
	}
	return nil
}
