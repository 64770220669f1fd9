// SPDX-License-Identifier: Apache-2.0

package grid

// Grown returns the grid of an array of another shape. An axis that grows is cut by its
// policy ([Axis.Grown]); an axis that shrinks keeps its edges. Without a policy all axes
// use [AppendOne]. A single policy applies to every axis that grows; otherwise there must
// be one policy per axis.
//
// A single policy skips regular axes, which follow the extent, as long as an axis with
// listed edges grows as well. If only regular axes grow and the policy does not suit
// them, the error wraps [ErrInvalid]. Other errors are those of [Axis.Grown]. All name
// the axis.
func (g *Grid) Grown(shape []int64, growth ...Growth) (*Grid, error) {
	if len(shape) != len(g.axes) {
		return nil, invalid("the new shape has %d axes, the array has %d", len(shape), len(g.axes))
	}
	if n := len(growth); n > 1 && n != len(g.axes) {
		return nil, invalid("%d growth policies for %d axes: give none, one, or one per axis", n, len(g.axes))
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

// grownAxis returns axis i with another extent.
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

// policy returns the policy for axis i. A single policy skips a regular axis if it
// applies to an axis with listed edges.
func (g *Grid) policy(i int, shape []int64, growth []Growth) Growth {
	switch {
	case len(growth) == 0:
		return AppendOne()
	case len(growth) == len(g.axes) && len(growth) > 1:
		return growth[i]
	}
	for k, a := range g.axes {
		// AppendOne leaves a regular axis regular.
		if g.axes[i].IsRegular() && !a.IsRegular() && shape[k] > a.extent {
			return AppendOne()
		}
	}
	return growth[0]
}
