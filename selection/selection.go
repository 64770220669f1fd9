package selection

import (
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// ErrInvalid says that a selection does not fit the array: wrong rank, out of range, or not well formed.
// The error names the axis and its extent.
var ErrInvalid = errors.New("selection: invalid selection")

// Selection names elements of an array: [Box] or [Basic]. A nil Selection is the whole array.
type Selection interface {
	resolve(shape []int64) ([]axis, error)
}

// axis is what is selected along one axis: count elements from start on, step apart.
type axis struct {
	start, step, count int64
	drop               bool // a single index, whose axis is not in the result
}

// Box selects a half-open region: for every axis the first element, and the one behind the last, as in
// Box{{0, 168}, {0, 721}}. Both have to lie within the array.
type Box [][2]int64

// Region returns the box that selects a region of the array.
func Region(r grid.Box) Box {
	b := make(Box, len(r))
	for i, in := range r {
		b[i] = [2]int64{in.Start, in.Stop}
	}
	return b
}

func (b Box) resolve(shape []int64) ([]axis, error) {
	if len(b) != len(shape) {
		return nil, rankError(len(b), len(shape))
	}
	axes := make([]axis, len(b))
	for i, in := range b {
		start, stop := in[0], in[1]
		if start < 0 || stop < start || stop > shape[i] {
			return nil, rangeError(i, shape[i], fmt.Sprintf("elements %d to %d", start, stop))
		}
		axes[i] = axis{start: start, step: 1, count: stop - start}
	}
	return axes, nil
}

// Resolved is a selection bound to the shape of an array.
type Resolved struct {
	axes  []axis
	count int64
}

// Resolve binds sel to an array of the given shape. Errors wrap [ErrInvalid].
func Resolve(sel Selection, shape []int64) (*Resolved, error) {
	if sel == nil {
		sel = Region(grid.BoxOf(shape))
	}
	axes, err := sel.resolve(shape)
	if err != nil {
		return nil, err
	}
	r := &Resolved{axes: axes}
	n, ok := checked.Product(r.full()...)
	if !ok {
		return nil, fmt.Errorf("%w: more than 2^63 elements", ErrInvalid)
	}
	r.count = n
	return r, nil
}

// OfPart returns the selection of a part of something that has at least as many elements.
func OfPart(p grid.Part) *Resolved {
	r := &Resolved{axes: make([]axis, len(p.Count)), count: p.Len()}
	for i := range r.axes {
		r.axes[i] = axis{start: p.Start[i], step: p.Step[i], count: p.Count[i]}
	}
	return r
}

// Len returns the number of selected elements.
func (r *Resolved) Len() int64 { return r.count }

// Shape returns the shape of the selected block, without the axes of which a single index was taken.
func (r *Resolved) Shape() []int64 {
	shape := make([]int64, 0, len(r.axes))
	for _, a := range r.axes {
		if !a.drop {
			shape = append(shape, a.count)
		}
	}
	return shape
}

// FullShape returns the shape of the selected block with one entry for every axis of the array.
func (r *Resolved) FullShape() []int64 { return r.full() }

func (r *Resolved) full() []int64 {
	shape := make([]int64, len(r.axes))
	for i, a := range r.axes {
		shape[i] = a.count
	}
	return shape
}

func rankError(got, want int) error {
	return fmt.Errorf("%w: %d axes selected, the array has %d", ErrInvalid, got, want)
}

func rangeError(i int, extent int64, what string) error {
	return &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: %s of an axis with extent %d", ErrInvalid, what, extent)}
}
