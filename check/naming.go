// SPDX-License-Identifier: Apache-2.0

package check

import (
	"path"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
)

// naming collects, by group, which arrays name their dimensions.
type naming map[string]*neighbors

// neighbors describes the arrays directly below one group.
type neighbors struct {
	named   bool     // some array names its dimensions
	unnamed []*Array // those that do not
}

// add adds an array with its result.
func (n naming) add(a *zarr.Array, r *Array) {
	group := path.Dir(r.Path)
	if n[group] == nil {
		n[group] = new(neighbors)
	}
	switch a.Metadata().Unnamed() {
	case "":
		n[group].named = n[group].named || a.Rank() > 0
	case metadata.NoDimensionNames:
		n[group].unnamed = append(n[group].unnamed, r)
	}
}

// note adds a note to the results of arrays without dimension names if other arrays of
// their group have some. An array without any names is usual elsewhere.
func (n naming) note() {
	for _, g := range n {
		for _, r := range g.unnamed {
			if g.named {
				r.Notes = append(r.Notes, metadata.NoDimensionNames+", and other arrays of its group have some"+closed)
			}
		}
	}
}
