// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"math"
	"slices"
	"unicode/utf8"

	"varve.dev/zarr/grid"
)

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
	all := stretch{}.with(list)
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

// anyStretched reports whether a band is larger than to scale.
func anyStretched(bands []band) bool {
	return slices.ContainsFunc(bands, func(b band) bool { return b.stretched })
}

// insideOf returns the number of bands within the extent, which come first.
func insideOf(bands []band) int {
	n := 0
	for n < len(bands) && bands[n].inside {
		n++
	}
	return n
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

// with returns the range extended by the lengths of a list.
func (s stretch) with(list []span) stretch {
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
