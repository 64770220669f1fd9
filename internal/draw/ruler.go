// SPDX-License-Identifier: Apache-2.0

package draw

import "varve.dev/zarr/grid"

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
			if r.layOut(stretch{}.with(list)); r.length <= kind.most {
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
