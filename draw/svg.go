// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"strings"

	"varve.dev/zarr/grid"
)

// SVGOptions are options for [SVG]. The zero value draws two axes without shades.
type SVGOptions struct {
	// Title is the heading. If it is empty, there is no heading, and the accessible title
	// is the shape.
	Title string
	// Caption is the text below the picture. It may have several lines.
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
	// otherwise nil. Fine lines show the inner chunks within a shard, unless they would
	// be too close together.
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

// namesOf returns the function that names the elements of an axis, or nil.
func (o *SVGOptions) namesOf(axis int) func(grid.Interval) string {
	if o.Labels == nil {
		return nil
	}
	return func(elements grid.Interval) string { return o.Labels(axis, elements) }
}

// Panel is one of several pictures side by side.
type Panel struct {
	Grid    *grid.Grid
	Options *SVGOptions // nil stands for the zero value
}

// SVG returns a picture of a chunk grid as an SVG 1.1 document. It needs no script, style
// sheet or external font. Its colours are readable on light and dark backgrounds, and it
// has a title and a description for screen readers.
//
// Cells are true to scale along each axis. A cell that is too small for its label is
// drawn larger, with a zigzag beside it and an entry in the legend. Along an axis with
// many cells only the first and the last cell of a run are drawn. Whatever does not fit
// is left out and counted. Parts of cells beyond the array are hatched. A nil opt stands
// for the zero value.
//
// The time depends on the size of the picture, not on the number of chunks. Equal grids
// and options give equal bytes.
func SVG(g *grid.Grid, opt *SVGOptions) []byte {
	title := "Chunk grid of " + shapeText(g)
	if opt != nil && opt.Title != "" {
		title = opt.Title
	}
	return SVGRow(title, Panel{g, opt})
}

// SVGRow returns one picture of several grids side by side on a common scale, drawn as by
// [SVG]. The title is for screen readers; the visible titles are those of the panels.
func SVGRow(title string, panels ...Panel) []byte {
	plates := make([]*plate, len(panels))
	for i, p := range panels {
		plates[i] = newPlate(p.Grid, p.Options)
	}
	scaled(plates, func(p *plate) *ruler { return &p.columns })
	scaled(plates, func(p *plate) *ruler { return &p.rows })
	return assembled(title, plates)
}

// shapeText returns the shape of an array as text: 60 × 100 elements.
func shapeText(g *grid.Grid) string {
	if g.Rank() == 0 {
		return "one element"
	}
	parts := make([]string, g.Rank())
	for i := range parts {
		parts[i] = number(g.Axis(i).Extent())
	}
	return strings.Join(parts, " × ") + " elements"
}

const (
	panelGap = 36 // pixels between panels
	border   = 8  // pixels around everything
)

// assembled puts plates side by side with their cells at the same height.
func assembled(title string, plates []*plate) []byte {
	top := 0
	for _, p := range plates {
		top = max(top, p.top())
	}
	var body ink
	x, height := border, 0
	for i, p := range plates {
		if i > 0 {
			x += panelGap
		}
		height = max(height, border+top+p.below())
		p.draw(&body, x, border+top)
		x += p.width()
	}
	var doc ink
	doc.begin(x+border, height+border, title, description(plates))
	doc.WriteString(body.String())
	doc.WriteString("</svg>\n")
	return []byte(doc.String())
}

// description describes in words what the plates show.
func description(plates []*plate) string {
	var parts []string
	for _, p := range plates {
		text := strings.Join(p.axisLines(), "; ")
		if len(plates) > 1 && p.title != "" {
			text = p.title + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ". ")
}
