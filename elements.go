// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"varve.dev/zarr/dtype"
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
	// of returns the array, and the selection of the array that sel means.
	of(sel selection.Selection) (*Array, selection.Selection, error)
}

func (a *Array) of(sel selection.Selection) (*Array, selection.Selection, error) { return a, sel, nil }
