// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"varve.dev/zarr/grid"
)

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

// assembled puts plates side by side with their cells at the same height, and their
// legends, too.
func assembled(title string, plates []*plate) []byte {
	top, cells := 0, 0
	// The largest margin decides, so that the cells of all plates start at one height.
	for _, p := range plates {
		top, cells = max(top, p.top()), max(cells, p.bodyHeight())
	}
	// Draw the body first: the head of the document needs its size.
	var body ink
	x, height := border, 0
	for i, p := range plates {
		if i > 0 {
			x += panelGap
		}
		height = max(height, border+top+cells+p.below())
		p.draw(&body, x, border+top, cells)
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

// draw writes the plate. The cells begin at height y, and the legend the given number of
// pixels below that.
func (p *plate) draw(k *ink, x, y, cells int) {
	if p.title != "" {
		k.text(x, y-p.top()+14, ` font-size="13" font-weight="bold"`, p.title)
	}
	foot := y + 4 + cells
	if !p.isEmpty() {
		p.drawScales(k, x, y)
		// On half pixels, lines of one pixel are sharp.
		fmt.Fprintf(k, `<g transform="translate(%d.5 %d.5)">`+"\n", x+p.left(), y)
		p.drawCells(k)
		k.WriteString("</g>\n")
	}
	for _, line := range p.legendLines() {
		foot += lineHeight
		at := x
		for _, s := range line {
			s.draw(k, at, foot)
			at += s.width()
		}
	}
	for _, line := range p.captionLines() {
		foot += lineHeight
		k.text(x, foot-2, "", line)
	}
}

// drawScales writes names and lengths beside the cells.
func (p *plate) drawScales(k *ink, x, y int) {
	left := x + p.left()
	if p.column >= 0 {
		top := lineHeight - 4
		if p.title != "" {
			top += lineHeight + 6
		}
		k.text(left, y-p.top()+top, "", p.heading(p.column))
	}
	for _, l := range p.columns.labels {
		k.text(left+l.at+l.size/2, y-6, ` text-anchor="middle"`, l.text)
		k.name(left+l.at+l.size/2, y-6-lineHeight, "middle", l.name)
	}
	if p.row >= 0 {
		k.text(0, 0, fmt.Sprintf(` transform="translate(%d %d) rotate(90)"`, x+4, y), p.heading(p.row))
	}
	for _, l := range p.rows.labels {
		k.text(left-8, y+l.at+l.size/2+4, ` text-anchor="end"`, l.text)
		k.name(left-16-p.rows.labelWidth(), y+l.at+l.size/2+4, "end", l.name)
	}
}

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

// Colours with enough contrast to both white and black.
const (
	inkColour    = "#767676"
	storedColour = "#3f87c5"
	markColour   = "#c2571a"
)

const (
	lineHeight = 18 // pixels
	swatch     = 14 // pixels of a sample in the legend
)

// ink is an SVG document that is being written.
type ink struct{ strings.Builder }

// begin writes the start of the document, up to the pictures.
func (k *ink) begin(width, height int, title, description string) {
	fmt.Fprintf(k, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="12" fill="%s">`+"\n", width, height, width, height, inkColour)
	fmt.Fprintf(k, "<title>%s</title>\n<desc>%s</desc>\n", escaped(title), escaped(description))
	fmt.Fprintf(k, `<defs>
<pattern id="varve-beyond" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M-1 1l2 -2M0 6l6 -6M5 7l2 -2" stroke="%s" stroke-width=".7"/></pattern>
<pattern id="varve-unknown" width="6" height="6" patternUnits="userSpaceOnUse"><circle cx="3" cy="3" r=".9"/></pattern>
</defs>
`, inkColour)
}

// text writes a line of text with the given baseline. The attributes are not escaped.
func (k *ink) text(x, y int, attributes, s string) {
	fmt.Fprintf(k, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, attributes, escaped(s))
}

// name writes the name of elements if there is one.
func (k *ink) name(x, y int, anchor, s string) {
	if s != "" {
		k.text(x, y, ` text-anchor="`+anchor+`" font-weight="bold"`, s)
	}
}

// zigzag returns a path of the given length beside cells, downwards or across.
func zigzag(x, y, length int, down bool) string {
	var b strings.Builder
	// Steps are about 6 pixels long, but there are at least two.
	for n, step := 0, max(2, length/max(2, length/6)); n <= length; n += step {
		across, along, op := 3*(n/step%2)-1, n, "L"
		if n == 0 {
			op = "M"
		}
		if !down {
			across, along = along, across
		}
		fmt.Fprintf(&b, "%s%d %d", op, x+across, y+along)
	}
	return b.String()
}

// rect writes a rectangle with the given attributes.
func (k *ink) rect(x, y, width, height int, fill string) {
	fmt.Fprintf(k, `<rect x="%d" y="%d" width="%d" height="%d" %s/>`+"\n", x, y, width, height, fill)
}

// path writes lines if there are any.
func (k *ink) path(d, attributes string) {
	if d != "" {
		fmt.Fprintf(k, `<path d="%s" fill="none" stroke="%s"%s/>`+"\n", d, inkColour, attributes)
	}
}

// fills maps what is stored of a block to the attributes of its fill.
var fills = map[presence]string{
	someStored:  `fill="` + storedColour + `" fill-opacity=".18"`,
	allStored:   `fill="` + storedColour + `" fill-opacity=".5"`,
	notLookedUp: `fill="url(#varve-unknown)"`,
}

const beyondFill = `fill="url(#varve-beyond)"`

// escaped returns s as XML text. Characters that XML does not allow are replaced.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // writing to a buffer cannot fail
	return b.String()
}

// textWidth returns the estimated width of a line in pixels. A letter is 0.6 of the font
// size wide, an East Asian one twice that.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x1100 && (r < 0x2000 || r >= 0x2e80) {
			n++
		}
	}
	// The font size is 12, so a letter takes about 7.25 pixels. Round up.
	return (n*29 + 3) / 4
}
