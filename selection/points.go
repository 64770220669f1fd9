// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/subset"
)

// Points selects elements one by one, with an array of coordinates for every axis of the
// array. The coordinates are broadcast against each other as in NumPy, and the result has
// the broadcast shape.
//
// If an element is named several times, a write stores the last of its values in C order.
type Points []Coordinates

// Coordinates is an array of indices along one axis. Negative ones count from the end.
type Coordinates struct {
	// Shape is the shape of Data. nil stands for one axis; an empty shape that is not nil
	// stands for a single value.
	Shape []int64
	Data  []int64 // in C order
}

// Coords returns coordinates with one axis.
func Coords(i ...int64) Coordinates { return Coordinates{Data: i} }

func (p Points) resolve(t *Target) (*Resolved, error) {
	if len(p) != len(t.Shape) {
		return nil, fmt.Errorf("%w: points are a list of indices for each axis, and %d were given for %s; the points (0, 10), (5, 20) and (7, 30) are [[0, 5, 7], [10, 20, 30]]",
			ErrInvalid, len(p), quantity.Count(len(t.Shape), "axes"))
	}
	along := make([]subset.Coords, len(p))
	shape, err := p.broadcast()
	if err != nil {
		return nil, err
	}
	n, ok := checked.Product(shape...)
	if !ok {
		return nil, errTooMany
	}
	for i, c := range p {
		if along[i], err = c.bind(i, t.Shape[i], shape, n); err != nil {
			return nil, err
		}
	}
	return (*Resolved)(subset.OfPoints(slices.Clone(t.Shape), shape, along, n)), nil
}

// shape returns the shape of the coordinates, which are those of the given axis.
func (c Coordinates) shape(axis int) ([]int64, error) {
	if c.Shape == nil {
		return []int64{int64(len(c.Data))}, nil
	}
	if n, ok := checked.Product(c.Shape...); !ok || n != int64(len(c.Data)) || slices.ContainsFunc(c.Shape, func(n int64) bool { return n < 0 }) {
		return nil, &grid.AxisError{Axis: axis, Err: fmt.Errorf("%w: %s in the shape %d", ErrInvalid, quantity.Count(len(c.Data), "coordinates"), c.Shape)}
	}
	return c.Shape, nil
}

// broadcast returns the shape of all coordinates broadcast against each other.
func (p Points) broadcast() ([]int64, error) {
	var shape []int64
	for i, c := range p {
		s, err := c.shape(i)
		if err != nil {
			return nil, err
		}
		// As in NumPy, shapes are aligned at their last axes and missing axes have length
		// 1.
		if more := len(s) - len(shape); more > 0 {
			shape = slices.Concat(slices.Repeat([]int64{1}, more), shape)
		}
		for k, n := range s {
			at := &shape[len(shape)-len(s)+k]
			switch {
			case *at == 1:
				*at = n
			case n != 1 && n != *at:
				return nil, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: coordinates of shape %d cannot be broadcast with those before, of shape %d", ErrInvalid, s, shape)}
			}
		}
	}
	if shape == nil {
		shape = []int64{}
	}
	return shape, nil
}

// bind checks the coordinates of axis number n and gives them the shape of the result,
// which has count elements.
func (c Coordinates) bind(n int, extent int64, shape []int64, count int64) (subset.Coords, error) {
	// Without elements no index is used, so none is checked.
	if count == 0 {
		return subset.Coords{Strides: make([]int64, len(shape))}, nil
	}
	out := subset.Coords{Data: c.Data, Strides: make([]int64, len(shape)), Least: extent}
	cloned := false
	for k, i := range c.Data {
		at, ok := inRange(i, extent)
		if !ok {
			return subset.Coords{}, rangeError(n, extent, fmt.Sprintf("coordinate %d (point %d)", i, k))
		}
		if at != i {
			// The caller's coordinates must stay as they are.
			if !cloned {
				out.Data, cloned = slices.Clone(c.Data), true
			}
			out.Data[k] = at
		}
		out.Least, out.Most = min(out.Least, at), max(out.Most, at)
	}
	s, _ := c.shape(n)
	step := int64(1)
	for k := len(s) - 1; k >= 0; k-- {
		// Axes of length 1 are broadcast: their stride stays 0.
		if s[k] > 1 {
			out.Strides[len(shape)-len(s)+k] = step
		}
		step *= s[k]
	}
	return out, nil
}

// Mask selects the elements for which an array of booleans is true. The booleans have the
// shape of the array and are in C order; they are not copied. The result has one axis.
type Mask struct {
	Shape []int64
	Data  []bool
}

func (m Mask) resolve(t *Target) (*Resolved, error) {
	if !slices.Equal(m.Shape, t.Shape) {
		return nil, fmt.Errorf("%w: a mask of shape %d, the array has %d", ErrInvalid, m.Shape, t.Shape)
	}
	n, ok := checked.Product(m.Shape...)
	if !ok || n != int64(len(m.Data)) {
		return nil, fmt.Errorf("%w: a mask of %s does not have the shape %d", ErrInvalid, quantity.Count(len(m.Data), "booleans"), m.Shape)
	}
	return (*Resolved)(subset.OfMask(m.Shape, m.Data)), nil
}
