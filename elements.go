package zarr

import (
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// Elements is what selections are read from and written to: an [*Array], or a [*View] of
// one.
type Elements interface {
	// Type returns the data type of the elements.
	Type() dtype.Type
	// Shape returns the length of every axis in elements.
	Shape() []int64
	// DimensionNames returns the name of every axis, "" for an axis without one, and nil
	// where none has one.
	DimensionNames() []string
	// of returns the array, and what a selection of the elements selects of it.
	of(sel selection.Selection) (*Array, selection.Selection, error)
}

func (a *Array) of(sel selection.Selection) (*Array, selection.Selection, error) { return a, sel, nil }
