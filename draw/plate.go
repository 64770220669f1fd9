// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"strings"

	"varve.dev/zarr/grid"
)

// longText is the largest number of characters in a line of a picture.
const longText = 100

// plate is the picture of one grid, with its title above and its legend and caption
// below.
type plate struct {
	*drawing
	title         string
	caption       []string
	marks         []Mark
	inner         *grid.Grid // inner chunks of shards, or nil
	rows, columns ruler
	shades        [][]presence // of the blocks within the extent
}

func newPlate(g *grid.Grid, opt *SVGOptions) *plate {
	if opt == nil {
		opt = new(SVGOptions)
	}
	d := newDrawing(g, &GridOptions{Axes: opt.Axes, Names: opt.Names, Stored: opt.Stored})
	p := &plate{drawing: d, title: clip(opt.Title, longText, d.more), marks: opt.Marks, inner: opt.Inner}
	p.rows, p.columns = singleRuler(44), singleRuler(64)
	if d.row >= 0 {
		p.rows = newRuler(&rowKind, g.Axis(d.row), opt.namesOf(d.row))
	}
	if d.column >= 0 {
		p.columns = newRuler(&columnKind, g.Axis(d.column), opt.namesOf(d.column))
	}
	p.caption = p.remarks()
	if opt.Caption != "" {
		p.caption = append(p.caption, strings.Split(opt.Caption, "\n")...)
	}
	for i, line := range p.caption {
		p.caption[i] = clip(line, longText, d.more)
	}
	p.look()
	return p
}

// remarks describes what the cells do not show.
func (p *plate) remarks() []string {
	var lines []string
	for i, line := range p.axisLines() {
		// Axes that are drawn show their lengths beside the cells.
		if p.isEmpty() || p.grid.Rank() == 0 || i != p.row && i != p.column {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	if p.isEmpty() {
		lines = append(lines, "no chunks")
	}
	return lines
}

// isEmpty reports whether there is no cell to draw.
func (p *plate) isEmpty() bool { return len(p.rows.strips) == 0 || len(p.columns.strips) == 0 }

// look finds out what is stored, once for every block within the extent.
func (p *plate) look() {
	if p.stored == nil {
		return
	}
	for _, row := range p.rows.strips {
		// Strips beyond the extent come last and have no chunks.
		if !row.inside {
			break
		}
		var line []presence
		for _, column := range p.columns.strips {
			if column.inside {
				line = append(line, p.presence(row.cells, column.cells))
			}
		}
		p.shades = append(p.shades, line)
	}
}

// left returns the number of pixels to the left of the cells.
func (p *plate) left() int {
	n := 2
	if p.row >= 0 {
		n += lineHeight
	}
	for _, w := range []int{p.rows.labelWidth(), p.rows.nameWidth()} {
		if w > 0 {
			n += w + 8
		}
	}
	if p.column >= 0 {
		n = max(n, p.columns.lead())
	}
	return n
}

// right returns the number of pixels to the right of the cells, which the labels of marks
// need.
func (p *plate) right() int {
	n := 2
	if p.column >= 0 {
		n = max(n, p.columns.excess())
	}
	for _, m := range p.marks {
		if m.Fill && m.Label != "" {
			n = max(n, 10+textWidth(clip(m.Label, longText, p.more)))
		}
	}
	return n
}

// top returns the number of pixels above the cells.
func (p *plate) top() int {
	n := 2
	if p.title != "" {
		n += lineHeight + 6
	}
	if p.column >= 0 && !p.isEmpty() {
		n += 2 * lineHeight
		if p.columns.nameWidth() > 0 {
			n += lineHeight
		}
	}
	return n
}

// below returns the number of pixels from the upper edge of the cells to the end.
func (p *plate) below() int {
	n := 4 + (len(p.caption)+len(p.legendLines()))*lineHeight
	if !p.isEmpty() {
		n += p.bodyHeight()
	}
	return n
}

// bodyHeight returns the height of the cells in pixels, or of the name of the rows if
// that is longer.
func (p *plate) bodyHeight() int {
	if p.row < 0 {
		return p.rows.length
	}
	return max(p.rows.length, textWidth(p.heading(p.row)))
}

func (p *plate) width() int {
	n := p.left() + p.columns.length + p.right()
	for _, line := range append([]string{p.title + strings.Repeat(" ", len(p.title)/8)}, p.caption...) {
		n = max(n, textWidth(line))
	}
	if p.column >= 0 {
		n = max(n, p.left()+textWidth(p.heading(p.column)))
	}
	for _, line := range p.legendLines() {
		w := 0
		for _, s := range line {
			w += s.width()
		}
		n = max(n, w)
	}
	return n
}

// heading returns the text beside an axis: its name, the direction of its indices, and
// its extent.
func (p *plate) heading(axis int) string {
	return p.names[axis] + " → " + number(p.grid.Axis(axis).Extent())
}

// draw writes the plate. The cells begin at height y.
func (p *plate) draw(k *ink, x, y int) {
	if p.title != "" {
		k.text(x, y-p.top()+14, ` font-size="13" font-weight="bold"`, p.title)
	}
	foot := y + 4
	if !p.isEmpty() {
		p.drawScales(k, x, y)
		fmt.Fprintf(k, `<g transform="translate(%d.5 %d.5)">`+"\n", x+p.left(), y)
		p.drawCells(k)
		k.WriteString("</g>\n")
		foot += p.bodyHeight()
	}
	for _, line := range p.legendLines() {
		foot += lineHeight
		at := x
		for _, s := range line {
			s.draw(k, at, foot)
			at += s.width()
		}
	}
	for _, line := range p.caption {
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
