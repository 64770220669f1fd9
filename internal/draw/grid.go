// SPDX-License-Identifier: Apache-2.0

// Package draw shows chunk grids to people: as a drawing for a terminal ([Grid]), as a
// picture in SVG ([SVG]), and as one line of text per axis ([Sizes]).
//
//	g, err := grid.New([]int64{60, 100}, grid.Edges(10, 20, 30), grid.Every(25))
//	fmt.Print(draw.Grid(g, nil))
//
// A drawing has heavy lines around the array and light lines between chunks. Columns are
// the cells of the last axis and rows those of the axis before it, with their lengths in
// the margins. The part of the cells that lies beyond the array is dotted.
//
// Cells are true to scale along each axis. Dashed lines mark cells that are larger,
// because they would be invisible or their length would not fit. Axes with many cells are
// drawn as runs of equal lengths and, if that is still too much, as only their first and
// last cells. A grid of 10^18 chunks is therefore drawn as fast as one of ten.
//
// A picture follows the same rules. Several grids side by side share a scale ([SVGRow]).
package draw

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/grid"
)

// GridOptions are options for [Grid]. The zero value draws two axes in 80 columns of
// Unicode characters.
type GridOptions struct {
	// Width is the largest number of characters in a line; 0 means 80. A drawing that
	// does not fit is left out.
	Width int
	// ASCII restricts the drawing to ASCII characters.
	ASCII bool
	// Axes are the two axes to draw, rows first, or the only one. Nil stands for the two
	// axes with the most chunks, in their order. Of axes with equally many chunks the
	// later ones are drawn.
	Axes []int
	// Names are the names of the axes. An axis without a name has ""; nil means that none
	// has one.
	Names []string
	// Stored returns how many of the chunks in a box of chunk indices are stored, or a
	// negative number if that would take too long to find out. It is called once for
	// every block of the drawing. If it is nil, all chunks are drawn alike.
	Stored func(chunks grid.Box) int64
}

// Grid returns a drawing of a chunk grid as lines of text that end in newlines. The first
// lines give the extent and the chunk lengths of each axis (see [Sizes]). Below them are
// the cells of two axes. An array with one axis is drawn as a row of cells, one without
// axes as a single cell. A nil opt stands for the zero value.
//
// The time depends on the size of the drawing, not on the number of chunks.
func Grid(g *grid.Grid, opt *GridOptions) string {
	d := newDrawing(g, opt)
	lines := d.axisLines()
	if p := d.picture(); p != nil {
		lines = append(append(lines, ""), p.lines()...)
		if legend := d.legend(p); legend != "" {
			lines = append(lines, "", legend)
		}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(clip(line, d.width, d.more) + "\n")
	}
	return b.String()
}

// drawing is a grid with the options of its drawing.
type drawing struct {
	*text
	grid        *grid.Grid
	width       int
	row, column int // axes; -1 if there is none
	names       []string
	stored      func(grid.Box) int64
}

func newDrawing(g *grid.Grid, opt *GridOptions) *drawing {
	if opt == nil {
		opt = new(GridOptions)
	}
	d := &drawing{text: &unicodeText, grid: g, width: opt.Width, stored: opt.Stored}
	if opt.ASCII {
		d.text = &asciiText
	}
	if d.width <= 0 {
		d.width = 80
	}
	// Axes that do not exist or repeat are ignored, so the drawing never fails.
	d.row, d.column = busiest(g)
	if axes := opt.Axes; chosen(axes, g.Rank()) {
		d.row, d.column = -1, axes[len(axes)-1]
		if len(axes) == 2 {
			d.row = axes[0]
		}
	}
	for i := range g.Rank() {
		d.names = append(d.names, d.name(i, opt.Names))
	}
	return d
}

// busiest returns the two axes with the most chunks, in their order. It returns -1 for an
// axis that the array does not have.
func busiest(g *grid.Grid) (row, column int) {
	// From the last axis on, so that of equal ones the later is chosen.
	first, second := -1, -1
	for i := g.Rank() - 1; i >= 0; i-- {
		switch n := g.Axis(i).Chunks(); {
		case first < 0 || n > g.Axis(first).Chunks():
			first, second = i, first
		case second < 0 || n > g.Axis(second).Chunks():
			second = i
		}
	}
	// With one axis there is only a row of columns.
	if g.Rank() < 2 {
		return -1, first
	}
	return min(first, second), max(first, second)
}

// chosen reports whether axes are one or two different axes of the array.
func chosen(axes []int, rank int) bool {
	for _, i := range axes {
		if i < 0 || i >= rank {
			return false
		}
	}
	return len(axes) == 1 || len(axes) == 2 && axes[0] != axes[1]
}

// name returns the name of an axis without characters that could harm a terminal.
func (d *drawing) name(i int, names []string) string {
	if i >= len(names) || names[i] == "" {
		return "axis " + strconv.Itoa(i)
	}
	name := clip(names[i], 24, d.more)
	foreign := func(r rune) bool { return !unicode.IsPrint(r) || d.text == &asciiText && r > unicode.MaxASCII }
	// Control characters in a name could take over the terminal.
	if !utf8.ValidString(name) || strings.ContainsFunc(name, foreign) {
		return clip(strconv.QuoteToASCII(name), 24, d.more)
	}
	return name
}

// axisLines returns a line for each axis with its extent and the lengths of its chunks.
func (d *drawing) axisLines() []string {
	if d.grid.Rank() == 0 {
		return []string{"no axes: one chunk of one element"}
	}
	names, extents := 0, 0
	for i, name := range d.names {
		names = max(names, utf8.RuneCountInString(name))
		extents = max(extents, len(number(d.grid.Axis(i).Extent())))
	}
	var lines []string
	for i, name := range d.names {
		lines = append(lines, fmt.Sprintf("%-*s %s %s", names, name, d.way(i), d.axisLine(d.grid.Axis(i), extents)))
	}
	return lines
}

// way returns an arrow in the direction of ascending indices, or a space if the axis is
// not drawn.
func (d *drawing) way(axis int) string {
	switch axis {
	case d.row:
		return d.down
	case d.column:
		return d.right
	}
	return " "
}

func (d *drawing) axisLine(a grid.Axis, width int) string {
	line := fmt.Sprintf("%*s = %s", width, number(a.Extent()), d.sizes(a))
	if a.Covered() > a.Extent() {
		line += "; edges reach " + number(a.Covered())
	}
	return line
}

// picture lays out the cells. It returns nil if there are none or if they do not fit.
func (d *drawing) picture() *picture {
	p := &picture{text: d.text, shade: d.shade}
	// An array with fewer than two axes has a band of its own for each missing axis.
	p.rows = []band{{size: 1, cells: grid.Interval{Stop: 1}, inside: true}}
	if d.row >= 0 {
		p.rows = d.stacked(d.grid.Axis(d.row))
	}
	p.columns = []band{{size: 7, cells: grid.Interval{Stop: 1}, inside: true}}
	// Without a column axis there is a single column of fixed width.
	fits := p.margin()+total(p.columns)+1 <= d.width
	if d.column >= 0 {
		p.columns, fits = d.fitting(d.grid.Axis(d.column), d.width-p.margin())
	}
	if !fits || len(p.rows) == 0 || len(p.columns) == 0 {
		return nil
	}
	p.insideRows, p.insideColumns = insideOf(p.rows), insideOf(p.columns)
	return p
}

// shade returns the character that fills a block, which depends on what is stored of it.
func (d *drawing) shade(row, column band) rune {
	if !row.inside || !column.inside {
		return d.beyond
	}
	switch d.presence(row.cells, column.cells) {
	case someStored:
		return d.some
	case allStored:
		return d.text.stored
	case notLookedUp:
		return d.unknown
	}
	return d.empty
}

// legend explains the characters that fill blocks.
func (d *drawing) legend(p *picture) string {
	var parts []string
	if d.stored != nil {
		parts = append(parts, string(d.text.stored)+" stored")
	}
	if d.stored != nil && p.shows(d.some) {
		parts = append(parts, string(d.some)+" some stored")
	}
	if p.shows(d.unknown) {
		parts = append(parts, string(d.unknown)+" not looked up")
	}
	if p.insideRows < len(p.rows) || p.insideColumns < len(p.columns) {
		parts = append(parts, string(d.beyond)+" beyond the array")
	}
	// One entry is enough: both marks look alike.
	switch {
	case hasStretched(p.columns):
		parts = append(parts, string(d.stretchedColumn)+" larger than to scale")
	case hasStretched(p.rows):
		parts = append(parts, string(d.stretchedRow)+" larger than to scale")
	}
	return strings.Join(parts, "   ")
}

// clip shortens a line to the given number of characters.
func clip(s string, width int, more string) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)
	keep := width - utf8.RuneCountInString(more)
	if keep < 0 {
		return string(runes[:width])
	}
	return string(runes[:keep]) + more
}

// presence finds out how many chunks of a block are stored. The block includes all chunks
// along axes that are not drawn.
func (d *drawing) presence(rows, columns grid.Interval) presence {
	if d.stored == nil {
		return noneStored
	}
	box := grid.BoxOf(d.grid.Chunks())
	if d.row >= 0 {
		box[d.row] = rows
	}
	if d.column >= 0 {
		box[d.column] = columns
	}
	all, ok := box.Len()
	switch n := d.stored(box); {
	case n < 0:
		return notLookedUp
	case n == 0:
		return noneStored
	// If the number overflows, it cannot be compared: call it some.
	case ok && n == all:
		return allStored
	}
	return someStored
}

// text is the set of characters for a drawing.
type text struct {
	// junctions has the characters where up to four lines meet. The index has one digit
	// to the base 3 for each of the lines up, right, down and left, in that order: 0 for
	// none, 1 for a light line and 2 for a heavy one.
	junctions  []rune
	empty      rune // not stored, or unknown because Stored is nil
	some       rune // some chunks are stored
	stored     rune
	unknown    rune // chunks that were not looked up
	beyond     rune // beyond the array
	columnMark rune // several cells side by side
	rowMark    rune // several cells below each other
	crossMark  rune
	times      string

	// Lines beside cells that are larger than to scale.
	stretchedColumn, stretchedRow rune

	more  string
	down  string // direction of an axis
	right string
}

var unicodeText = text{
	junctions: []rune(" ╴╸╷┐┑╻┒┓╶─╾┌┬┭┎┰┱╺╼━┍┮┯┏┲┳" +
		"╵┘┙│┤┥╽┧┪└┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈" +
		"╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋"),
	empty: ' ', some: '░', stored: '▒', unknown: '╱', beyond: '·', columnMark: '⋯', rowMark: '⋮', crossMark: '⋱',
	stretchedColumn: '┅', stretchedRow: '┇', times: "×", more: "…", down: "↓", right: "→",
}

var asciiText = text{
	junctions: []rune(" -=|++|++--=++++++===++++++" +
		"|++|++|++++++++++++++++++++" +
		"|++|++|++++++++++++++++++++"),
	empty: ' ', some: '+', stored: '#', unknown: '?', beyond: '.', columnMark: '~', rowMark: ':', crossMark: '~',
	stretchedColumn: '*', stretchedRow: '*', times: "x", more: "...", down: "v", right: ">",
}

// presence says how many of the chunks of a block are stored.
type presence int

const (
	noneStored presence = iota // none, or unknown because Stored is nil
	someStored
	allStored
	notLookedUp
)
