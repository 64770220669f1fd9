package view

import (
	"math"

	"varve.dev/zarr/grid"
)

// ruler is an axis of a picture: its strips from the first, and the labels beside them. Places and sizes are pixels.
type ruler struct {
	kind   *rulerKind
	list   []span
	level  int // of the scales of its kind
	strips []strip
	labels []label
	length int // of all strips
	inside int // of those within the extent
}

// strip is what lies between two lines of a picture: a cell, a part of a cell that the extent cuts, or many cells that are left out.
type strip struct {
	cells  grid.Interval
	at     int
	size   int
	inside bool // within the extent
	joined bool // of the same cell as the strip before
	gap    bool // stands for many cells
}

type label struct {
	text     string
	at, size int
}

// rulerKind has what differs between columns and rows.
type rulerKind struct {
	scales []scale // in pixels, from large to small
	most   int     // pixels that cells are to take
	few    int64   // cells that are drawn each for itself
	runs   int
	gap    int // pixels at least for cells that are left out
	across bool
}

var (
	columnKind = rulerKind{scales: []scale{{64, 150}, {44, 100}, {30, 70}, {20, 44}}, most: 660, few: 24, runs: 16, gap: 40, across: true}
	rowKind    = rulerKind{scales: []scale{{36, 110}, {28, 80}, {22, 56}, {18, 36}}, most: 420, few: 16, runs: 10, gap: 26}
)

// trueRatio is how many times the longest cell may be as long as the shortest for a picture to be true to scale.
const trueRatio = 6

// stretch is the range of the lengths of cells, in elements.
type stretch struct{ shortest, longest int64 }

// with returns the range that takes in the lengths of a list.
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

// pixels returns the size of a cell: true to scale, or where lengths differ much by their logarithms.
func (s stretch) pixels(c scale, edge int64) int {
	ratio, n := float64(s.longest)/float64(s.shortest), float64(edge)/float64(s.shortest)
	if ratio <= trueRatio {
		return int(math.Round(float64(c.low) * n))
	}
	return c.low + int(math.Round(float64(c.high-c.low)*math.Log(n)/math.Log(max(16, ratio))))
}

// newRuler lays out the cells of an axis, with as much detail as fits.
func newRuler(kind *rulerKind, a grid.Axis) ruler {
	r := ruler{kind: kind}
	for _, list := range layouts(a, kind.few, kind.runs) {
		r.list = list
		for r.level = range kind.scales {
			if r.layOut(stretch{}.with(list)); r.length <= kind.most {
				return r
			}
		}
	}
	return r
}

// singleRuler is that of an array which lacks the axis.
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
			r.add(p, p.cells, max(r.kind.gap, r.room(text)), text)
		case p.inside > 0 && p.inside < p.edge:
			r.addCut(p, s.pixels(r.kind.scales[r.level], p.edge))
		case n <= 3:
			r.addEach(p, s.pixels(r.kind.scales[r.level], p.edge))
		default:
			r.addRun(p, s.pixels(r.kind.scales[r.level], p.edge))
		}
	}
}

// room returns the pixels that a label needs along the axis.
func (r *ruler) room(text string) int {
	if r.kind.across {
		return textWidth(text) + 8
	}
	return 16
}

// add appends a strip for some of the cells of a span, with its label if it has one of its own.
func (r *ruler) add(p span, cells grid.Interval, size int, text string) {
	s := strip{cells: cells, at: r.length, size: size, inside: p.inside > 0, gap: cells.Len() > 1}
	r.strips = append(r.strips, s)
	if text != "" {
		r.labels = append(r.labels, label{text, s.at, size})
	}
	r.length += size
	if s.inside {
		r.inside = r.length
	}
}

// addCut appends the cell that the extent cuts: what is within it, and what is beyond.
func (r *ruler) addCut(p span, size int) {
	within, beyond := number(p.inside), "("+number(p.edge-p.inside)+")"
	part := int(math.Round(float64(size) * float64(p.inside) / float64(p.edge)))
	rest := p
	rest.inside = 0
	r.add(p, p.cells, max(part, r.room(within)), within)
	r.add(rest, p.cells, max(size-part, r.room(beyond)), beyond)
	r.strips[len(r.strips)-1].joined = true
}

// addEach appends each cell of a short run.
func (r *ruler) addEach(p span, size int) {
	one := p
	for k := p.cells.Start; k < p.cells.Stop; k++ {
		one.cells = grid.Interval{Start: k, Stop: k + 1}
		text := unicodeText.label(one)
		r.add(p, one.cells, max(size, r.room(text)), text)
	}
}

// addRun appends the first and the last cell of a long run, and a gap between them.
func (r *ruler) addRun(p span, size int) {
	text, at := unicodeText.label(p), r.length
	first := grid.Interval{Start: p.cells.Start, Stop: p.cells.Start + 1}
	last := grid.Interval{Start: p.cells.Stop - 1, Stop: p.cells.Stop}
	size = min(size, r.kind.scales[0].low) // the number says more than a large cell twice
	r.add(p, first, size, "")
	r.add(p, grid.Interval{Start: first.Stop, Stop: last.Start}, max(r.kind.gap, r.room(text)-2*size), "")
	r.add(p, last, size, "")
	r.labels = append(r.labels, label{text, at, r.length - at})
}

// labelWidth returns the pixels of the longest label.
func (r *ruler) labelWidth() int {
	n := 0
	for _, l := range r.labels {
		n = max(n, textWidth(l.text))
	}
	return n
}

// scaled gives one ruler of each of the plates a common scale.
func scaled(plates []*plate, of func(*plate) *ruler) {
	var s stretch
	level := 0
	for _, p := range plates {
		s = s.with(of(p).list)
		level = max(level, of(p).level)
	}
	for _, p := range plates {
		if r := of(p); len(r.list) > 0 {
			r.level = level
			r.layOut(s)
		}
	}
}
