// SPDX-License-Identifier: Apache-2.0

package draw

import (
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
	for _, p := range plates {
		top, cells = max(top, p.top()), max(cells, p.bodyHeight())
	}
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
