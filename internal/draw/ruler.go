// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"math"
	"slices"

	"varve.dev/zarr/grid"
)

// ruler is an axis of a picture: its strips and the labels beside them. Positions and
// sizes are in pixels.
type ruler struct {
	kind   *rulerKind
	axis   grid.Axis
	name   func(elements grid.Interval) string // nil if elements have no names
	list   []span
	level  int // index into the scales of its kind
	strips []strip
	labels []label
	length int // of all strips
	inside int // of those within the extent
}

// strip is the space between two lines of a picture: a cell, a part of a cell that the
// extent cuts, or many cells that are left out.
type strip struct {
	cells  grid.Interval
	at     int
	size   int
	inside bool // within the extent
	joined bool // part of the same cell as the strip before
	gap    bool // stands for many cells

	elements  int64 // elements that it shows; 0 for a gap
	stretched bool  // larger than to scale
}

type label struct {
	text     string
	name     string // name of the elements, or ""
	at, size int
	strips   grid.Interval // strips that it belongs to
}

// rulerKind has the parameters in which columns and rows differ.
type rulerKind struct {
	// Bounds for the sizes of cells in pixels, from large to small. The first one is for
	// axes whose elements have names.
	scales []scale
	most   int   // pixels that cells may take in all
	few    int64 // largest number of cells that are drawn one by one
	runs   int
	gap    int // smallest size of a gap in pixels
	across bool
}

// thinnest is the smallest size of a strip in pixels: two lines and a colour between
// them.
const thinnest = 4

var (
	columnKind = rulerKind{scales: []scale{{140, 300}, {64, 150}, {44, 100}, {30, 70}, {20, 44}}, most: 660, few: 24, runs: 16, gap: 40, across: true}
	rowKind    = rulerKind{scales: []scale{{36, 110}, {36, 110}, {28, 80}, {22, 56}, {18, 36}}, most: 440, few: 16, runs: 10, gap: 26}
)

// newRuler lays out the cells of an axis in as much detail as fits.
func newRuler(kind *rulerKind, a grid.Axis, name func(elements grid.Interval) string) ruler {
	// The first scale is reserved for axes whose elements have names.
	r, from := ruler{kind: kind, axis: a}, 1
	if c, ok := a.Cell(0); ok && name != nil && c.Logical > 0 && name(grid.Interval{Stop: c.Logical}) != "" {
		r.name, from = name, 0
	}
	for _, list := range layouts(a, kind.few, kind.runs) {
		r.list = list
		// Draw smaller before leaving out details.
		for r.level = from; r.level < len(kind.scales); r.level++ {
			if r.layOut(stretch{}.withSpans(list)); r.length <= kind.most {
				return r
			}
		}
	}
	r.level = len(kind.scales) - 1
	return r
}

// singleRuler returns the ruler for an axis that the array does not have.
func singleRuler(size int) ruler {
	s := strip{cells: grid.Interval{Stop: 1}, size: size, inside: true}
	return ruler{strips: []strip{s}, length: size, inside: size}
}

// layOut makes the strips and labels of the list.
func (r *ruler) layOut(s stretch) {
	r.strips, r.labels, r.length, r.inside = nil, nil, 0, 0
	for _, p := range r.list {
		switch n := p.cells.Len(); {
		case p.leftOut():
			text := unicodeText.label(p)
			r.add(p, p.cells, r.kind.gap, text)
		case p.inside > 0 && p.inside < p.edge:
			r.addCut(p, s)
		// A gap would take as much room as three cells.
		case n <= 3:
			r.addEach(p, s.pixels(r.kind.scales[r.level], p.edge))
		default:
			r.addRun(p, s.pixels(r.kind.scales[r.level], p.edge))
		}
	}
	r.makeRoom()
	r.compare()
	r.dropNames()
}

// add appends a strip for some of the cells of a span. It has a label unless text is
// empty.
func (r *ruler) add(p span, cells grid.Interval, size int, text string) {
	s := strip{cells: cells, size: size, inside: p.inside > 0, gap: cells.Len() > 1, elements: p.edge}
	if s.inside && p.inside < p.edge {
		s.elements = p.inside
	}
	if s.gap {
		s.elements = 0
	}
	r.strips = append(r.strips, s)
	if text != "" {
		r.write(text, s.inside, cells, 1)
	}
}

// addCut appends the cell that the extent cuts, as a part within the extent and one
// beyond.
func (r *ruler) addCut(p span, s stretch) {
	c, rest := r.kind.scales[r.level], p
	rest.edge, rest.inside = p.edge-p.inside, 0
	r.add(p, p.cells, s.pixels(c, p.inside), number(p.inside))
	r.add(rest, p.cells, s.pixels(c, rest.edge), "("+number(rest.edge)+")")
	r.strips[len(r.strips)-1].joined = true
}

// addEach appends each cell of a short run.
func (r *ruler) addEach(p span, size int) {
	one := p
	for k := p.cells.Start; k < p.cells.Stop; k++ {
		one.cells = grid.Interval{Start: k, Stop: k + 1}
		r.add(p, one.cells, size, unicodeText.label(one))
	}
}

// addRun appends the first and the last cell of a long run with a gap between them.
func (r *ruler) addRun(p span, size int) {
	first := grid.Interval{Start: p.cells.Start, Stop: p.cells.Start + 1}
	last := grid.Interval{Start: p.cells.Stop - 1, Stop: p.cells.Stop}
	r.add(p, first, size, "")
	r.add(p, grid.Interval{Start: first.Stop, Stop: last.Start}, r.kind.gap, "")
	r.add(p, last, size, "")
	r.write(unicodeText.label(p), p.inside > 0, p.cells, 3)
}

// write puts a label beside the last strips, whose cells are given.
func (r *ruler) write(text string, inside bool, cells grid.Interval, strips int64) {
	stop := int64(len(r.strips))
	l := label{text: text, strips: grid.Interval{Start: stop - strips, Stop: stop}}
	if r.name != nil && inside {
		l.name = clip(r.name(r.elements(cells)), 40, unicodeText.more)
	}
	r.labels = append(r.labels, l)
}

// makeRoom enlarges strips whose labels would touch others, and arranges everything.
func (r *ruler) makeRoom() {
	// A larger strip moves all labels after it, so repeat until none touch.
	for moved := true; moved; {
		r.arrange()
		moved = false
		for i, l := range r.labels {
			if more := r.room(l) - l.size; more > 0 && (r.touch(i-1) || r.touch(i) || r.kind.across && i == 0) {
				// The middle strip of a run is its gap.
				middle := (l.strips.Start + l.strips.Stop) / 2
				r.strips[middle].size += more
				moved = true
			}
		}
	}
}

// touch reports whether a label and the next one need more room than there is.
func (r *ruler) touch(i int) bool {
	if i < 0 || i+1 >= len(r.labels) {
		return false
	}
	a, b := r.labels[i], r.labels[i+1]
	return b.at+b.size/2-a.at-a.size/2 < (r.room(a)+r.room(b))/2
}

// arrange places the strips one after another, and the labels beside them.
func (r *ruler) arrange() {
	r.length, r.inside = 0, 0
	for i := range r.strips {
		s := &r.strips[i]
		s.at = r.length
		r.length += s.size
		if s.inside {
			r.inside = r.length
		}
	}
	for i := range r.labels {
		l := &r.labels[i]
		last := r.strips[l.strips.Stop-1]
		l.at = r.strips[l.strips.Start].at
		l.size = last.at + last.size - l.at
	}
}

// lead returns the number of pixels that the first name of columns needs to the left of
// them.
func (r *ruler) lead() int {
	for _, l := range r.labels {
		if l.name != "" {
			return textWidth(l.name)/2 - l.at - l.size/2
		}
	}
	return 0
}

// excess returns the number of pixels that the last label of columns needs to the right
// of them.
func (r *ruler) excess() int {
	if len(r.labels) == 0 {
		return 0
	}
	l := r.labels[len(r.labels)-1]
	return l.at + l.size/2 + max(r.room(l), textWidth(l.name))/2 - r.length
}

// elements returns the elements of cells that lie within the array.
func (r *ruler) elements(cells grid.Interval) grid.Interval {
	first, _ := r.axis.Cell(cells.Start)
	last, _ := r.axis.Cell(cells.Stop - 1)
	return grid.Interval{Start: first.Start, Stop: last.Start + last.Logical}
}

// room returns the number of pixels that a label needs along the axis.
func (r *ruler) room(l label) int {
	if r.kind.across {
		return textWidth(l.text) + 8
	}
	return 14
}

// labelWidth returns the width of the longest label in pixels.
func (r *ruler) labelWidth() (n int) {
	for _, l := range r.labels {
		n = max(n, textWidth(l.text))
	}
	return n
}

// nameWidth returns the width of the longest name in pixels.
func (r *ruler) nameWidth() (n int) {
	for _, l := range r.labels {
		n = max(n, textWidth(l.name))
	}
	return n
}

// dropNames drops the names of columns that would touch the name before them. Strips are
// not enlarged to make room for names.
func (r *ruler) dropNames() {
	end := math.MinInt
	for i := range r.labels {
		l := &r.labels[i]
		half := (textWidth(l.name) + 8) / 2
		switch middle := l.at + l.size/2; {
		case !r.kind.across || l.name == "":
		case middle-half < end:
			l.name = ""
		default:
			end = middle + half
		}
	}
}

// compare marks the strips that are larger than to scale.
func (r *ruler) compare() {
	// unit is the smallest scale of any strip, in pixels per element.
	unit := 0.0
	for _, s := range r.strips {
		if u := (float64(s.size) + .5) / float64(max(1, s.elements)); s.elements > 0 && (unit == 0 || u < unit) {
			unit = u // sizes are rounded by up to half a pixel
		}
	}
	for i, s := range r.strips {
		r.strips[i].stretched = s.elements > 0 && float64(s.size) > unit*float64(s.elements)+2
	}
}

// isStretched reports whether some strips are larger than to scale.
func (r *ruler) hasStretched() bool {
	return slices.ContainsFunc(r.strips, func(s strip) bool { return s.stretched })
}
