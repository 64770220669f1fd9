// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// picture is a drawing of the cells of rows and columns.
type picture struct {
	*text
	rows, columns []band
	shade         func(row, column band) rune

	insideRows, insideColumns int // number of bands within the extent
	canvas                    [][]rune
}

// Weights of lines.
const (
	noLine = iota
	lightLine
	heavyLine
)

// lines returns the drawing with its labels.
func (p *picture) lines() []string {
	p.canvas = make([][]rune, total(p.rows)+1)
	for y := range p.canvas {
		p.canvas[y] = make([]rune, total(p.columns)+1)
	}
	y := 0
	// Draw every block with the lines above and to the left of it. The last row and
	// column of the loops have lines only.
	for j := range len(p.rows) + 1 {
		x := 0
		for i := range len(p.columns) + 1 {
			p.junction(x, y, i, j)
			if i < len(p.columns) {
				p.across(x+1, y, i, j)
			}
			if j < len(p.rows) {
				p.down(x, y+1, i, j)
			}
			if i < len(p.columns) && j < len(p.rows) {
				p.block(x+1, y+1, p.rows[j], p.columns[i])
			}
			if i < len(p.columns) {
				x += p.columns[i].size + 1
			}
		}
		if j < len(p.rows) {
			y += p.rows[j].size + 1
		}
	}
	return p.labelled()
}

// vertical returns the weight of line i beside row j. It is heavy around the array, and
// there is no line within a cell that the extent cuts.
func (p *picture) vertical(i, j int) int {
	if i < 0 || j < 0 || j >= len(p.rows) {
		return noLine
	}
	return weight(p.columns, i, p.insideColumns, j < p.insideRows)
}

// horizontal returns the weight of line j above column i.
func (p *picture) horizontal(j, i int) int {
	if i < 0 || i >= len(p.columns) {
		return noLine
	}
	return weight(p.rows, j, p.insideRows, i < p.insideColumns)
}

// weight returns the weight of a line. along reports whether it runs beside a band within
// the extent.
func weight(bands []band, line, inside int, along bool) int {
	switch {
	case along && (line == 0 || line == inside):
		return heavyLine
	case line < len(bands) && bands[line].joined:
		return noLine
	}
	return lightLine
}

func (p *picture) junction(x, y, i, j int) {
	// The digits to the base 3 are the lines up, right, down and left; see
	// text.junctions.
	k := 27*p.vertical(i, j-1) + 9*p.horizontal(j, i) + 3*p.vertical(i, j) + p.horizontal(j, i-1)
	p.canvas[y][x] = p.line(k)
}

func (p *picture) across(x, y, i, j int) {
	// A horizontal line is a junction with lines to the right and to the left.
	r := p.line((9 + 1) * p.horizontal(j, i))
	// The outer lines and the end of the array are marked. Lines between cells stay
	// plain.
	if p.columns[i].stretched && (j == 0 || j == p.insideRows || j == len(p.rows)) {
		r = p.stretchedColumn
	}
	for k := range p.columns[i].size {
		p.canvas[y][x+k] = r
	}
}

func (p *picture) down(x, y, i, j int) {
	// A vertical line is a junction with lines up and down.
	r := p.line((27 + 3) * p.vertical(i, j))
	if p.rows[j].stretched && (i == 0 || i == p.insideColumns || i == len(p.columns)) {
		r = p.stretchedRow
	}
	for k := range p.rows[j].size {
		p.canvas[y+k][x] = r
	}
}

// line returns the character of a junction. Without any line the area beyond the array
// shows.
func (p *picture) line(junction int) rune {
	if junction == 0 {
		return p.beyond
	}
	return p.junctions[junction]
}

// block fills the area of one or more chunks.
func (p *picture) block(x, y int, row, column band) {
	r := p.shade(row, column)
	for k := range row.size {
		for l := range column.size {
			p.canvas[y+k][x+l] = r
		}
	}
	if mark := p.mark(row, column); mark != 0 {
		p.canvas[y+(row.size-1)/2][x+(column.size-1)/2] = mark
	}
}

// mark returns the character for a block that stands for several cells, or 0 if it is one
// cell.
func (p *picture) mark(row, column band) rune {
	tall, wide := row.cells.Len() > 1, column.cells.Len() > 1
	switch {
	case tall && wide:
		return p.text.both
	case tall:
		return p.text.rowMark
	case wide:
		return p.text.columnMark
	}
	return 0
}

// shows reports whether a character is on the canvas.
func (p *picture) shows(r rune) bool {
	return slices.ContainsFunc(p.canvas, func(line []rune) bool { return slices.Contains(line, r) })
}

// labelled returns the lines of the drawing with the labels of columns above and of rows
// before it.
func (p *picture) labelled() []string {
	margin := p.margin()
	out := make([]string, 0, len(p.canvas)+1)
	if labelWidth(p.columns) > 0 {
		var top strings.Builder
		top.WriteString(strings.Repeat(" ", margin))
		for _, c := range p.columns {
			top.WriteString(" " + centred(c.label, c.size))
		}
		out = append(out, strings.TrimRight(top.String(), " "))
	}
	labels := p.rowLabels()
	for y, line := range p.canvas {
		label := strings.Repeat(" ", max(0, margin-1-utf8.RuneCountInString(labels[y]))) + labels[y]
		if margin > 0 {
			label += " "
		}
		out = append(out, label+string(line))
	}
	return out
}

// margin returns the number of characters before the drawing.
func (p *picture) margin() int {
	if n := labelWidth(p.rows); n > 0 {
		return n + 1
	}
	return 0
}

// rowLabels returns a label for every line of the canvas.
func (p *picture) rowLabels() []string {
	labels := make([]string, len(p.canvas))
	y := 0
	for _, r := range p.rows {
		// The label stands beside the middle line of the band.
		labels[y+1+(r.size-1)/2] = r.label
		y += r.size + 1
	}
	return labels
}

func centred(s string, width int) string {
	room := max(0, width-utf8.RuneCountInString(s))
	return strings.Repeat(" ", room/2) + s + strings.Repeat(" ", room-room/2)
}
