// SPDX-License-Identifier: Apache-2.0

package draw

import "varve.dev/zarr/grid"

// SVGOptions are options for [SVG]. The zero value draws two axes without shades.
type SVGOptions struct {
	// Title is the heading. If it is empty, there is no heading, and the accessible title
	// is the shape.
	Title string
	// Caption is the text below the picture. It may have several lines. Those that are
	// wider than the picture are broken between words.
	Caption string
	// Axes are the axes to draw, as in [GridOptions].
	Axes []int
	// Names are the names of the axes, as in [GridOptions].
	Names []string
	// Stored returns how many chunks of a box are stored, as in [GridOptions].
	Stored func(chunks grid.Box) int64
	// Labels returns the name of some elements along an axis, such as that of a month, or
	// "" if they have none. It appears beside the length of a chunk, or of several chunks
	// that are drawn as one. Nil means that no elements have names.
	Labels func(axis int, elements grid.Interval) string
	// Marks are chunks to point out.
	Marks []Mark
	// Inner is the grid of inner chunks if chunks are shards ([grid.Grid.Divided]),
	// otherwise nil. Fine lines show the inner chunks within a shard. If they would be
	// too close together, a line below the picture says so.
	Inner *grid.Grid
}

// Mark points out chunks in a picture.
type Mark struct {
	// Chunks is a box of chunk indices with one interval per axis. Chunks outside the
	// grid are ignored.
	Chunks grid.Box
	// Label is written in the middle of the chunks, or beside the picture if they are
	// filled.
	Label string
	// Fill colours the chunks. Otherwise they are outlined, so that what is stored
	// remains visible.
	Fill bool
	// Meaning is the text in the legend, "" for no entry.
	Meaning string
}

// Panel is one of several pictures side by side.
type Panel struct {
	Grid    *grid.Grid
	Options *SVGOptions // nil stands for the zero value
}

// namesOf returns the function that names the elements of an axis, or nil.
func (o *SVGOptions) namesOf(axis int) func(grid.Interval) string {
	if o.Labels == nil {
		return nil
	}
	return func(elements grid.Interval) string { return o.Labels(axis, elements) }
}
