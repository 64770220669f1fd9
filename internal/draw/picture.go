// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/grid"
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
	// The outline of the array wins over the lines between cells.
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
	// The mark stands in the middle of the block, or before it if the size is even.
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
		return p.text.crossMark
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

// band is the space between two lines of a drawing: a column or row of one or more cells,
// or a part of a cell that the extent cuts. Sizes are in characters, without the lines.
type band struct {
	label  string
	size   int
	cells  grid.Interval
	inside bool // within the extent
	joined bool // part of the same cell as the band before

	elements  int64 // elements that it shows; 0 if it stands for several cells
	stretched bool  // larger than to scale
}

var (
	// columnScales are tried from wide to narrow until a drawing fits.
	columnScales = []scale{{7, 15}, {5, 10}, {3, 6}, {2, 6}, {1, 3}}
	rowScale     = scale{1, 6}
)

// sizer returns a function from the length of a cell to its size, which is true to scale
// but at least one character.
func (s scale) sizer(list []span) func(edge int64) int {
	all := stretch{}.withSpans(list)
	unit := 0.0
	if all.longest > 0 {
		unit = min(float64(s.low)/float64(all.shortest), float64(s.high)/float64(all.longest))
	}
	return func(edge int64) int { return max(1, int(math.Round(unit*float64(edge)))) }
}

// bands lays out the cells of an axis. Columns are at least as wide as their labels.
func (t *text) bands(list []span, s scale, columns bool) []band {
	size := s.sizer(list)
	var bands []band
	add := func(b band) {
		if columns {
			b.size = max(b.size, utf8.RuneCountInString(b.label))
		}
		bands = append(bands, b)
	}
	for _, p := range list {
		// All cells of the span are alike: one band shows them.
		if p.inside == 0 || p.inside == p.edge || p.leftOut() {
			b := band{label: t.label(p), size: size(p.edge), cells: p.cells, inside: p.inside > 0}
			if p.cells.Len() == 1 {
				b.elements = p.edge
			}
			add(b)
			continue
		}
		// The extent cuts this cell: its parts are two bands.
		add(band{label: number(p.inside), size: size(p.inside), cells: p.cells, inside: true, elements: p.inside})
		beyond := p.edge - p.inside
		add(band{label: "(" + number(beyond) + ")", size: size(beyond), cells: p.cells, joined: true, elements: beyond})
	}
	compare(bands)
	return bands
}

// compare marks the bands that are larger than to scale, by more than rounding explains.
func compare(bands []band) {
	// unit is the smallest scale of any band, in characters per element. The size of a
	// band is rounded by up to half a character.
	unit := math.MaxFloat64
	for _, b := range bands {
		if b.elements > 0 {
			unit = min(unit, (float64(b.size)+.5)/float64(b.elements))
		}
	}
	for i, b := range bands {
		bands[i].stretched = b.elements > 0 && float64(b.size) > unit*float64(b.elements)+.5
	}
}

// label returns the length and the number of the cells of a span. It is in parentheses if
// the cells lie beyond the extent.
func (t *text) label(p span) string {
	s := number(p.edge)
	switch n := p.cells.Len(); {
	case p.leftOut():
		s = number(n) + " more"
	case n > 1:
		s += " " + t.times + number(n)
	}
	if p.inside == 0 {
		return "(" + s + ")"
	}
	return s
}

// fitting lays out the cells of an axis within the given number of characters, including
// lines. It draws every cell if they are few, otherwise runs, and leaves some out if it
// must. It returns false if not even that fits.
func (t *text) fitting(a grid.Axis, width int) ([]band, bool) {
	for _, list := range layouts(a, 24, 20) {
		for _, s := range columnScales {
			if b := t.bands(list, s, true); total(b)+1 <= width {
				return b, true
			}
		}
	}
	return nil, false
}

// layouts returns ways to draw the cells of an axis, the most detailed first: up to few
// cells one by one, then ever fewer runs.
func layouts(a grid.Axis, few int64, runs int) [][]span {
	var all [][]span
	if list, ok := single(a, few); ok {
		all = append(all, list)
	}
	// Fewer runs each time, until the drawing fits.
	for most := runs; most > 0; most-- {
		all = append(all, spans(a, a.Cells(), most))
	}
	return all
}

// stacked lays out the cells of an axis as rows.
func (t *text) stacked(a grid.Axis) []band {
	list, ok := single(a, 8)
	if !ok {
		list = spans(a, a.Cells(), 7)
	}
	return t.bands(list, rowScale, false)
}

// total returns the number of characters that bands take, each with the line before it.
func total(bands []band) int {
	n := 0
	for _, b := range bands {
		n += b.size + 1
	}
	return n
}

// hasStretched reports whether a band is larger than to scale.
func hasStretched(bands []band) bool {
	return slices.ContainsFunc(bands, func(b band) bool { return b.stretched })
}

// insideOf returns the number of bands within the extent, which come first.
func insideOf(bands []band) int {
	if n := slices.IndexFunc(bands, func(b band) bool { return !b.inside }); n >= 0 {
		return n
	}
	return len(bands)
}

// labelWidth returns the number of characters of the longest label.
func labelWidth(bands []band) int {
	n := 0
	for _, b := range bands {
		n = max(n, utf8.RuneCountInString(b.label))
	}
	return n
}

// stretch is the range of the lengths of cells, in elements.
type stretch struct{ shortest, longest int64 }

// withSpans returns the range extended by the lengths of a list.
func (s stretch) withSpans(list []span) stretch {
	for _, p := range list {
		if p.leftOut() {
			continue
		}
		if s.shortest == 0 || p.edge < s.shortest {
			s.shortest = p.edge
		}
		s.longest = max(s.longest, p.edge)
	}
	return s
}

// pixels returns the size of some elements at a scale. The longest cell gets the high end
// of the scale, or less if the shortest one is still large enough.
func (s stretch) pixels(c scale, elements int64) int {
	unit := min(float64(c.low)/float64(s.shortest), float64(c.high)/float64(s.longest))
	return max(thinnest, int(math.Round(unit*float64(elements))))
}
