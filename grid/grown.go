package grid

// Grown returns the grid of an array of another shape, where an axis that gains elements is cut as its policy says
// ([Axis.Grown]) and one that loses elements keeps its edges. Without a policy it is [AppendOne] for all axes, with
// one it is that policy for every axis that grows, else there is one policy an axis. A single policy passes
// by regular axes, which follow the extent; where only such axes grow and it asks for something else it wraps [ErrInvalid].
// Errors are those of [Axis.Grown] and name the axis.
func (g *Grid) Grown(shape []int64, growth ...Growth) (*Grid, error) {
	if len(shape) != len(g.axes) {
		return nil, invalid("the new shape has %d axes, the array has %d", len(shape), len(g.axes))
	}
	if n := len(growth); n > 1 && n != len(g.axes) {
		return nil, invalid("%d growth policies for %d axes: give none, one, or one an axis", n, len(g.axes))
	}
	axes := make([]Axis, len(shape))
	for i, n := range shape {
		var err error
		if axes[i], err = g.grownAxis(i, n, g.policy(i, shape, growth)); err != nil {
			return nil, onAxis(i, err)
		}
	}
	return ofAxes(g.name, axes)
}

func (g *Grid) grownAxis(i int, extent int64, how Growth) (Axis, error) {
	switch a := g.axes[i]; {
	case extent < a.extent:
		return a.Shrunk(extent, KeepEdges)
	case extent > a.extent:
		return a.Grown(extent, how)
	default:
		return a, nil
	}
}

// policy returns the policy for axis i. A single one leaves a regular axis alone as long as it is of use to another axis.
func (g *Grid) policy(i int, shape []int64, growth []Growth) Growth {
	switch {
	case len(growth) == 0:
		return AppendOne()
	case len(growth) == len(g.axes) && len(growth) > 1:
		return growth[i]
	}
	for k, a := range g.axes {
		if g.axes[i].IsRegular() && !a.IsRegular() && shape[k] > a.extent {
			return AppendOne()
		}
	}
	return growth[0]
}
