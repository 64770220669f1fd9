// SPDX-License-Identifier: Apache-2.0

package dimensions

import (
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
)

// Length is the intended length of a dimension.
type Length struct {
	Name   string
	Length int64
}

// Missing returns the error for a dimension that no array of a group has. known are
// the names of all their dimensions.
func Missing(name string, known []string) error {
	slices.Sort(known)
	known = slices.DeleteFunc(slices.Compact(known), func(n string) bool { return n == "" })
	if _, err := strconv.Atoi(name); err == nil { // an axis is a number or a name
		return failure.NotFound("no array directly below the group has the axis %s", name)
	}
	if len(known) == 0 {
		return failure.NotFound("no array directly below the group has the dimension %q; their dimensions have no names", name)
	}
	return failure.NotFound("no array directly below the group has the dimension %q; the dimensions are %s%s", name, phrase.Shorten(strings.Join(known, ", "), 200), spelling.Meant(name, known))
}
