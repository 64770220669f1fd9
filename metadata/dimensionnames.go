// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// NoDimensionNames is the result of [Array.Unnamed] for an array without any names of
// dimensions.
const NoDimensionNames = "no dimension names"

// Unnamed returns why a program that needs a name for each dimension, such as xarray,
// does not find one, or "" if it does. In format 2 the names are in the attribute
// _ARRAY_DIMENSIONS. In format 3 they are in the document, and an array without axes
// needs none.
func (a *Array) Unnamed() string {
	if a.Format() == 3 {
		if len(a.DimensionNames) == 0 && len(a.Shape) > 0 {
			return NoDimensionNames
		}
		return ""
	}
	raw, ok, err := Attribute(a.Attributes, dimensionsAttribute)
	if err != nil || !ok {
		return NoDimensionNames
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	switch {
	case err != nil || v.Kind() != strictjson.Array:
		return "attribute " + dimensionsAttribute + " is not a list of names"
	case v.Len() != len(a.Shape):
		return fmt.Sprintf("attribute %s has %s for %s", dimensionsAttribute, quantity.Of(int64(v.Len()), "name"), quantity.Of(int64(len(a.Shape)), "axis"))
	}
	return ""
}
