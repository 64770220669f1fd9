// SPDX-License-Identifier: Apache-2.0

package attributes

import (
	"fmt"
	"slices"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// NoNames is the result of [Unnamed] for an array without any names of dimensions.
const NoNames = "no dimension names"

// ofDimensions is the attribute in which xarray stores the names of dimensions (xarray,
// "Zarr encoding specification").
const ofDimensions = "_ARRAY_DIMENSIONS"

// Unnamed returns why a program that needs a name for each dimension, such as xarray,
// does not find one, or "" if it does. In format 2 the names are in the attribute
// _ARRAY_DIMENSIONS. In format 3 they are in the document, and an array without axes
// needs none.
func Unnamed(a *metadata.Array) string {
	if a.Format() == 3 {
		if len(a.DimensionNames) == 0 && len(a.Shape) > 0 {
			return NoNames
		}
		return ""
	}
	raw, ok, err := metadata.Attribute(a.Attributes, ofDimensions)
	if err != nil || !ok {
		return NoNames
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	switch {
	case err != nil || v.Kind() != strictjson.Array:
		return "attribute " + ofDimensions + " is not a list of names"
	case v.Len() != len(a.Shape):
		return fmt.Sprintf("attribute %s has %s for %s", ofDimensions, quantity.Of(int64(v.Len()), "name"), quantity.Of(int64(len(a.Shape)), "axis"))
	}
	return ""
}

// MasksFill reports whether xarray masks the fill value of an array as missing: in format
// 2, unless it is null, where it opens the array, which takes names of dimensions.
func MasksFill(a *metadata.Array) bool {
	if a.Format() != 2 || a.HasNullFill() {
		return false
	}
	// Older arrays of NCZarr have their names in a member of the document.
	return Unnamed(a) == "" || slices.Contains(a.UnknownMembers(), "_NCZARR_ARRAY")
}
