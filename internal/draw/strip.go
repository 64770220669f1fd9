// SPDX-License-Identifier: Apache-2.0

package draw

import "varve.dev/zarr/grid"

// ruler is an axis of a picture: its strips and the labels beside them. Positions and
// sizes are in pixels.
type ruler struct {
	kind   *rulerKind
	axis   grid.Axis
	name   func(elements grid.Interval) string // nil if elements have no names
	list   []span
	level  int // index into the scales of its kind
	strips []strip
	labels []label
	length int // of all strips
	inside int // of those within the extent
}

// strip is the space between two lines of a picture: a cell, a part of a cell that the
// extent cuts, or many cells that are left out.
type strip struct {
	cells  grid.Interval
	at     int
	size   int
	inside bool // within the extent
	joined bool // part of the same cell as the strip before
	gap    bool // stands for many cells

	elements  int64 // elements that it shows; 0 for a gap
	stretched bool  // larger than to scale
}

type label struct {
	text     string
	name     string // name of the elements, or ""
	at, size int
	strips   grid.Interval // strips that it belongs to
}

// rulerKind has the parameters in which columns and rows differ.
type rulerKind struct {
	// Bounds for the sizes of cells in pixels, from large to small. The first one is for
	// axes whose elements have names.
	scales []scale
	most   int   // pixels that cells may take in all
	few    int64 // largest number of cells that are drawn one by one
	runs   int
	gap    int // smallest size of a gap in pixels
	across bool
}

// thinnest is the smallest size of a strip in pixels: two lines and a colour between
// them.
const thinnest = 4
