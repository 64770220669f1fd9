// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/selection"
)

// Elements is an [*Array], or a [*View] of one: what selections are read from and written
// to.
type Elements interface {
	// Type returns the data type of the elements.
	Type() dtype.Type
	// Shape returns the length of every axis in elements.
	Shape() []int64
	// DimensionNames returns the name of every axis, "" for an axis without one. It is
	// nil if there are no names.
	DimensionNames() []string
	// of returns the selection of the array that sel means.
	of(sel selection.Selection) (target, error)
}

func (a *Array) of(sel selection.Selection) (target, error) {
	return a.target(sel), nil
}

// View is a selection of an array that can be used like an array: read, written, and
// selected from. Making a view reads nothing. A view of a view is a view of the array.
//
// A view selects the elements that the array had when the view was made. It does not
// follow when the array grows. If the array shrinks and loses some of the elements,
// errors of calls on the view wrap [ErrInvalidArgument]. If other elements are dropped or
// inserted, they wrap [ErrConflict]: make the view again.
type View struct {
	array     *Array
	sel       *selection.Resolved
	typ       dtype.Type
	numbering *snapshot.Numbering // of the elements that sel selects
}

// View returns a view of the selected elements. Its axes are those of the selected block.
func (a *Array) View(sel selection.Selection) (*View, error) {
	v, err := a.target(sel).view()
	return v, a.fail("view", err)
}

func (t target) view() (*View, error) {
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return nil, err
	}
	return &View{t.Array, r.Resolved, r.Type, t.at.Numbering}, nil
}

// View returns a selection of the view.
func (v *View) View(sel selection.Selection) (*View, error) {
	t, err := v.of(sel)
	if err != nil {
		return nil, v.array.fail("view", err)
	}
	part, err := t.view()
	return part, v.array.fail("view", err)
}

// Transpose returns the view with its axes in another order: axis i of the result is axis
// axes[i] of v. Without arguments the order is reversed.
func (v *View) Transpose(axes ...int) (*View, error) {
	r, err := v.sel.Transpose(axes...)
	if err != nil {
		return nil, v.array.fail("view", err)
	}
	return &View{v.array, r, v.typ, v.numbering}, nil
}

// Array returns the array that the view selects from.
func (v *View) Array() *Array { return v.array }

// Selection returns the elements of the view as a selection of the array.
func (v *View) Selection() *selection.Resolved { return v.sel }

// Type returns the data type of the elements.
func (v *View) Type() dtype.Type { return v.typ }

// Shape returns the length of every axis in elements.
func (v *View) Shape() []int64 { return v.sel.Shape() }

// Rank returns the number of axes.
func (v *View) Rank() int { return len(v.sel.Shape()) }

// DimensionNames returns the name of every axis, "" for an axis without one. It is nil if
// no axis of the array has a name, and for a view of points or a mask, whose axes are not
// axes of the array.
func (v *View) DimensionNames() []string {
	given, axes := v.array.DimensionNames(), v.sel.Axes()
	// Resolved.Axes returns nil for points and masks.
	if given == nil || axes == nil {
		return nil
	}
	names := make([]string, len(axes))
	for i, axis := range axes {
		names[i] = given[axis]
	}
	return slices.Clip(names)
}

func (v *View) of(sel selection.Selection) (target, error) {
	t := v.array.target(v.sel)
	if t.at.Numbering != v.numbering {
		return t, errMoved
	}
	if sel == nil {
		return t, nil
	}
	r, err := v.sel.Select(sel, v.DimensionNames())
	t.sel = r
	return t, err
}
