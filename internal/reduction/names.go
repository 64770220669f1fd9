// SPDX-License-Identifier: Apache-2.0

package reduction

import (
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// AreNames reports whether the elements of an array are names, such as classes, of which
// a mean would be the name of something else: booleans, elements with the attribute
// flag_values or flag_masks of CF, and those of label images of OME-Zarr. above are the
// attributes of the group that holds the array.
func AreNames(t dtype.Type, attributes, above []byte) bool {
	return t.Kind() == dtype.KindBool || hasAny(attributes, "flag_values", "flag_masks") || isLabels(above)
}

// isLabels reports whether the attributes of a group are those of a label image of
// OME-Zarr: of 0.5, below "ome", or of 0.4.
func isLabels(attributes []byte) bool {
	ome, _, _ := metadata.Attribute(attributes, "ome")
	return hasAny(attributes, "image-label") || hasAny(ome, "image-label")
}

// hasAny reports whether attributes have one of the members.
func hasAny(attributes []byte, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, found, err := metadata.Attribute(attributes, name)
		return found && err == nil
	})
}
