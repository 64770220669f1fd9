package grid

import "fmt"

// recut returns a grid of other axes. It keeps its name, unless one of them is a list, which only a rectilinear grid has.
func (g *Grid) recut(axes []Axis) (*Grid, error) {
	h, err := ofAxes(g.name, axes)
	if err == nil && !h.regular {
		h.name = RectilinearName
	}
	return h, err
}

// onOne returns the grid with one axis changed.
func (g *Grid) onOne(axis int, change func(Axis) (Axis, error)) (*Grid, error) {
	if err := g.has(axis); err != nil {
		return nil, err
	}
	axes := append([]Axis(nil), g.axes...)
	var err error
	if axes[axis], err = change(axes[axis]); err != nil {
		return nil, onAxis(axis, err)
	}
	return g.recut(axes)
}

func (g *Grid) has(axis int) error {
	if axis < 0 || axis >= len(g.axes) {
		return fmt.Errorf("%w: axis %d of a grid with %d axes", ErrOutOfRange, axis, len(g.axes))
	}
	return nil
}
