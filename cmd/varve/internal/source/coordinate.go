// SPDX-License-Identifier: Apache-2.0

package source

import (
	"path"

	"varve.dev/zarr"
)

// IsCoordinate reports whether an array is the coordinate of a dimension: it has one
// axis, and its name is that of the dimension.
func IsCoordinate(a *zarr.Array) bool {
	names := a.DimensionNames()
	return a.Rank() == 1 && len(names) == 1 && names[0] != "" && names[0] == path.Base(a.Path())
}
