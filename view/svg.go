package view

import (
	"strings"

	"varve.dev/zarr/grid"
)

// SVGOptions says how a grid is drawn as a picture. The zero value draws two axes and no shades.
type SVGOptions struct {
	// Title is the heading. Without one there is none, and the accessible title says the shape.
	Title string
	// Caption stands below the picture, in lines.
	Caption string
	// Axes are the axes that are drawn, as those of [GridOptions].
	Axes []int
	// Names are the names of the axes; nil or "" for those that have none.
	Names []string
	// Stored returns how many of the chunks in a box of chunk indices are stored, as that of [GridOptions] does.
	Stored func(chunks grid.Box) int64
	// Labels returns the name of some elements along an axis, as that of a month, "" where they have
	// none. It stands beside the length of a chunk, or of several that are drawn as one. Nil names nothing.
	Labels func(axis int, elements grid.Interval) string
	// Marks are pointed out.
	Marks []Mark
	// Inner are the inner chunks where chunks are shards ([grid.Grid.Divided]), nil where they are none. Fine lines show how a shard is
	// cut, along axes where they are not too close to each other.
	Inner *grid.Grid
}

// Mark points out chunks of a picture.
type Mark struct {
	// Chunks is a box of chunk indices, one interval an axis. What is not in the grid is left out.
	Chunks grid.Box
	// Label stands in the middle of them, or behind them where they are filled.
	Label string
	// Fill colours the chunks. Otherwise they are outlined, so that one sees what is stored.
	Fill bool
	// Meaning stands in the legend; "" for no entry.
	Meaning string
}

// namesOf returns what names the elements of an axis, nil where nothing does.
func (o *SVGOptions) namesOf(axis int) func(grid.Interval) string {
	if o.Labels == nil {
		return nil
	}
	return func(elements grid.Interval) string { return o.Labels(axis, elements) }
}

// Panel is one of several pictures that stand side by side.
type Panel struct {
	Grid    *grid.Grid
	Options *SVGOptions // nil for the zero value
}

// SVG returns the picture of a chunk grid as a document of SVG 1.1. It needs no script, style sheet or font from elsewhere, its
// colours can be read on light and on dark ground, and it has a title and a description for those who do not see it.
//
// Cells are true to scale along each axis. One that is too small for its label is drawn larger, with a zigzag beside it
// and a line in the legend. Along an axis of many cells a run of equal ones is drawn as its first and last, and what does
// not fit is left out and counted. What the edges reach beyond the array is hatched. A nil opt is the zero value.
//
// The effort depends on what is drawn and not on the number of chunks. Equal grids and options give equal bytes.
func SVG(g *grid.Grid, opt *SVGOptions) []byte {
	title := "Chunk grid of " + shapeText(g)
	if opt != nil && opt.Title != "" {
		title = opt.Title
	}
	return SVGRow(title, Panel{g, opt})
}

// SVGRow returns one picture, as [SVG] does, of several grids side by side on a common scale. The title is for those who do not see
// it; what everybody sees are the titles of the panels.
func SVGRow(title string, panels ...Panel) []byte {
	plates := make([]*plate, len(panels))
	for i, p := range panels {
		plates[i] = newPlate(p.Grid, p.Options)
	}
	scaled(plates, func(p *plate) *ruler { return &p.columns })
	scaled(plates, func(p *plate) *ruler { return &p.rows })
	return assembled(title, plates)
}

// shapeText returns the shape of an array as people read it: 60 × 100 elements.
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

// assembled puts plates side by side, their pictures at one height.
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

// description says in words what the plates show.
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
