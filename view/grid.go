package view

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/grid"
)

// GridOptions says how a grid is drawn. The zero value draws two axes in 80 columns of Unicode characters.
type GridOptions struct {
	// Width is the most characters of a line; 0 stands for 80. Where a drawing cannot be made that narrow, it is left out.
	Width int
	// ASCII draws with ASCII characters only.
	ASCII bool
	// Axes are the two axes that are drawn, rows first, or the one that is drawn in a row. Nil stands for the two with the most
	// chunks, in their order; of axes with equally many, for the later ones.
	Axes []int
	// Names are the names of the axes; nil or "" for those that have none.
	Names []string
	// Stored returns how many of the chunks in a box of chunk indices are stored, a negative number where that would take too
	// long to find out. It is asked once for every block of the drawing. Nil draws all chunks alike.
	Stored func(chunks grid.Box) int64
}

// Grid returns the drawing of a chunk grid in lines of text, each of which ends in a newline: one line an axis with its
// extent and the lengths of its chunks (see [Sizes]), and below them the cells of two axes. An array with one axis is a row
// of cells, one without axes is a single cell. A nil opt is the zero value.
//
// The effort depends on what is drawn and not on the number of chunks.
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

// drawing is a grid with what its options mean for it.
type drawing struct {
	*text
	grid        *grid.Grid
	width       int
	row, column int // axes, -1 for none
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

// busiest returns the two axes with the most chunks, in their order; -1 stands for an axis that the array lacks.
func busiest(g *grid.Grid) (row, column int) {
	first, second := -1, -1
	for i := g.Rank() - 1; i >= 0; i-- {
		switch n := g.Axis(i).Chunks(); {
		case first < 0 || n > g.Axis(first).Chunks():
			first, second = i, first
		case second < 0 || n > g.Axis(second).Chunks():
			second = i
		}
	}
	if g.Rank() < 2 {
		return -1, first
	}
	return min(first, second), max(first, second)
}

// chosen reports whether axes are one or two different axes of an array.
func chosen(axes []int, rank int) bool {
	for _, i := range axes {
		if i < 0 || i >= rank {
			return false
		}
	}
	return len(axes) == 1 || len(axes) == 2 && axes[0] != axes[1]
}

// name returns the name of an axis, made harmless for a terminal.
func (d *drawing) name(i int, names []string) string {
	if i >= len(names) || names[i] == "" {
		return "axis " + strconv.Itoa(i)
	}
	name := clip(names[i], 24, d.more)
	foreign := func(r rune) bool { return !unicode.IsPrint(r) || d.text == &asciiText && r > unicode.MaxASCII }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, foreign) {
		return clip(strconv.QuoteToASCII(name), 24, d.more)
	}
	return name
}

// axisLines says how each axis is cut.
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
		lines = append(lines, padded(name, names)+" "+d.way(i)+" "+d.axisLine(d.grid.Axis(i), extents))
	}
	return lines
}

// way points where the indices of an axis rise in the drawing.
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
	extent := number(a.Extent())
	line := strings.Repeat(" ", width-len(extent)) + extent + " = " + d.sizes(a)
	if a.Covered() > a.Extent() {
		line += "; edges reach " + number(a.Covered())
	}
	return line
}

// picture lays out the cells; it is nil where there are none, or where they do not fit.
func (d *drawing) picture() *picture {
	p := &picture{text: d.text, shade: d.shade}
	p.rows = []band{{size: 1, cells: grid.Interval{Stop: 1}, inside: true}}
	if d.row >= 0 {
		p.rows = d.stacked(d.grid.Axis(d.row))
	}
	p.columns = []band{{size: 7, cells: grid.Interval{Stop: 1}, inside: true}}
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

// shade returns the character that fills a block: whether its chunks are stored.
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

// legend explains the characters that fill the blocks.
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
	switch {
	case anyStretched(p.columns):
		parts = append(parts, string(d.stretchedColumn)+" larger than to scale")
	case anyStretched(p.rows):
		parts = append(parts, string(d.stretchedRow)+" larger than to scale")
	}
	return strings.Join(parts, "   ")
}

// clip shortens a line to a number of characters.
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

func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}
