// SPDX-License-Identifier: Apache-2.0

package rewrite

import "varve.dev/zarr/metadata"

// imaging returns a note on a group with metadata of OME-Zarr, or "". A conversion to the
// other format keeps them, because programs add members of their own. But OME-Zarr puts
// them elsewhere: 0.4 and older, of format 2, among the attributes; 0.5, of format 3,
// below "ome".
func imaging(g *metadata.Group, to int) string {
	if to == 2 {
		if _, found, err := metadata.Attribute(g.Attributes, "ome"); err == nil && found {
			return `the metadata of OME-Zarr 0.5 stay in the attribute "ome", where readers of format 2 do not look: they expect version 0.4 among the attributes`
		}
		return ""
	}
	for _, name := range []string{"multiscales", "plate", "well", "image-label", "bioformats2raw.layout"} {
		if _, found, err := metadata.Attribute(g.Attributes, name); err == nil && found {
			return "the metadata of OME-Zarr (" + name + `) keep the form of version 0.4, where readers of format 3 do not look: they expect version 0.5 in the attribute "ome"`
		}
	}
	return ""
}
