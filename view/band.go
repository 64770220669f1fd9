package view

import (
	"math"
	"unicode/utf8"

	"varve.dev/zarr/grid"
)

// band is what lies between two lines of a drawing: a column or a row of one or more cells, or a part of a cell that the
// extent cuts. Sizes are in characters, without the lines.
type band struct {
	label  string
	size   int
	cells  grid.Interval
	inside bool // within the extent
	joined bool // of the same cell as the band before
}

// scale maps the lengths of cells to sizes between low and high characters: proportional to the logarithm of the length.
type scale struct{ low, high int }

var (
	// columnScales are tried from wide to narrow until a drawing fits.
	columnScales = []scale{{7, 15}, {5, 10}, {3, 6}, {2, 6}, {1, 3}}
	rowScale     = scale{1, 4}
)

// sizer returns the size of a cell by its length.
func (s scale) sizer(list []span) func(edge int64) int {
	shortest, longest := int64(math.MaxInt64), int64(1)
	for _, p := range list {
		if !p.leftOut() {
			shortest, longest = min(shortest, p.edge), max(longest, p.edge)
		}
	}
	// A range of less than 16 to 1 does not take the whole scale: 30 and 31 look alike.
	whole := math.Log(max(16, float64(longest)/float64(shortest)))
	return func(edge int64) int {
		if edge <= shortest {
			return s.low
		}
		return s.low + int(math.Round(float64(s.high-s.low)*math.Log(float64(edge)/float64(shortest))/whole))
	}
}

// bands lays out the cells of an axis. Columns are made wide enough for their labels.
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
		n := size(p.edge)
		if p.inside == 0 || p.inside == p.edge || p.leftOut() {
			add(band{label: t.label(p), size: n, cells: p.cells, inside: p.inside > 0})
			continue
		}
		part := min(max(1, int(math.Round(float64(n)*float64(p.inside)/float64(p.edge)))), max(1, n-1))
		add(band{label: number(p.inside), size: part, cells: p.cells, inside: true})
		add(band{label: "(" + number(p.edge-p.inside) + ")", size: max(1, n-part), cells: p.cells, joined: true})
	}
	return bands
}

// label says how long the cells of a span are; lengths beyond the extent stand in parentheses.
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

// fitting lays out the cells of an axis within a number of characters, lines included: every cell for itself if they are
// few, else by runs, else with some left out. It is false where even that is too wide.
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

// layouts returns ways to draw the cells of an axis, the most detailed first: up to few of them each for itself, then ever fewer
// runs.
func layouts(a grid.Axis, few int64, runs int) [][]span {
	var all [][]span
	if list, ok := single(a, few); ok {
		all = append(all, list)
	}
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

// total returns the characters that bands take with the line before each of them.
func total(bands []band) int {
	n := 0
	for _, b := range bands {
		n += b.size + 1
	}
	return n
}

// insideOf returns how many of the bands, which come first, are within the extent.
func insideOf(bands []band) int {
	n := 0
	for n < len(bands) && bands[n].inside {
		n++
	}
	return n
}

// labelWidth returns the characters of the longest label.
func labelWidth(bands []band) int {
	n := 0
	for _, b := range bands {
		n = max(n, utf8.RuneCountInString(b.label))
	}
	return n
}
