// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"strings"

	"varve.dev/zarr/grid"
)

// drawCells draws the cells of a plate. The origin is their corner.
func (p *plate) drawCells(k *ink) {
	// Areas come first, so that lines are drawn over them.
	p.drawShades(k)
	p.drawFills(k, false)
	p.drawBeyond(k)
	p.drawInner(k)
	var l lines
	l.between(&p.columns, &p.rows, false)
	l.between(&p.rows, &p.columns, true)
	k.path(l.light.String(), "")
	k.path(l.dashed.String(), ` stroke-dasharray="3 3"`)
	k.path(l.dots.String(), ` stroke-width="3" stroke-linecap="round"`)
	p.drawOutline(k)
	p.drawFills(k, true)
	p.drawStretched(k)
	for _, m := range p.marks {
		p.drawMark(k, m)
	}
}

// drawShades fills the blocks whose presence is known. It merges equal neighbours in a
// row.
func (p *plate) drawShades(k *ink) {
	for j, line := range p.shades {
		row := p.rows.strips[j]
		for from := 0; from < len(line); {
			to := from
			for to < len(line) && line[to] == line[from] {
				to++
			}
			first, last := p.columns.strips[from], p.columns.strips[to-1]
			if fill, ok := fills[line[from]]; ok {
				k.rect(first.at, row.at, last.at+last.size-first.at, row.size, fill)
			}
			from = to
		}
	}
}

// drawBeyond hatches the area beyond the array, on the right and below.
func (p *plate) drawBeyond(k *ink) {
	r, c := &p.rows, &p.columns
	if c.inside < c.length && r.inside > 0 {
		k.rect(c.inside, 0, c.length-c.inside, r.inside, beyondFill)
	}
	if r.inside < r.length {
		k.rect(0, r.inside, c.length, r.length-r.inside, beyondFill)
	}
}

// drawOutline draws the heavy line around the array. It is dotted at gaps.
func (p *plate) drawOutline(k *ink) {
	var solid, dotted strings.Builder
	sides := func(r, other *ruler, across bool) {
		for from, to := 0, 0; from < len(r.strips) && r.strips[from].inside; from = to {
			first, end := r.strips[from], 0
			// Neighbouring strips of one kind share a line.
			for to = from; to < len(r.strips) && r.strips[to].inside && r.strips[to].gap == first.gap; to++ {
				end = r.strips[to].at + r.strips[to].size
			}
			b := &solid
			if first.gap {
				b = &dotted
			}
			segment(b, 0, first.at, end, across)
			segment(b, other.inside, first.at, end, across)
		}
	}
	sides(&p.columns, &p.rows, true)
	sides(&p.rows, &p.columns, false)
	k.path(solid.String(), ` stroke-width="2.5" stroke-linecap="square"`)
	k.path(dotted.String(), ` stroke-width="2.5" stroke-dasharray="2 4"`)
}

// place returns the position and size of marked chunks, or of the blocks that contain
// them. It returns false if there are none.
func (p *plate) markArea(m Mark) (x, y, width, height int, ok bool) {
	if !p.holds(m.Chunks) {
		return 0, 0, 0, 0, false
	}
	x, width = p.columns.stripsOf(m.Chunks, p.column)
	y, height = p.rows.stripsOf(m.Chunks, p.row)
	return x, y, width, height, width > 0 && height > 0
}

// drawFills colours marked chunks. Thin ones are drawn in a second pass, above the lines
// between chunks, which would hide them.
func (p *plate) drawFills(k *ink, thin bool) {
	for _, m := range p.marks {
		if x, y, width, height, ok := p.markArea(m); ok && m.Fill && (min(width, height) < 2*thinnest) == thin {
			k.rect(x, y, width, height, m.fill())
		}
	}
}

// drawMark outlines marked chunks that are not filled, and writes their label.
func (p *plate) drawMark(k *ink, m Mark) {
	x, y, width, height, ok := p.markArea(m)
	if !ok {
		return
	}
	if !m.Fill {
		k.rect(x, y, width, height, m.fill())
	}
	text := clip(m.Label, longText, p.more)
	// A label on filled chunks would be unreadable, so it stands beside the picture.
	switch {
	case text == "":
	case m.Fill:
		k.text(p.columns.length+8, y+height/2+4, ` font-weight="bold" fill="`+markColour+`"`, text)
	default:
		p.drawFlag(k, x+width/2, y+height/2, text)
	}
}

// fill returns the SVG attributes for marked chunks.
func (m Mark) fill() string {
	if m.Fill {
		return `fill="` + markColour + `"`
	}
	return `fill="` + markColour + `" fill-opacity=".12" stroke="` + markColour + `" stroke-width="2.5"`
}

// drawStretched draws a zigzag beside strips that are larger than to scale.
func (p *plate) drawStretched(k *ink) {
	var b strings.Builder
	for _, s := range p.rows.strips {
		if s.stretched {
			b.WriteString(zigzag(-5, s.at, s.size, true))
		}
	}
	for _, s := range p.columns.strips {
		if s.stretched {
			b.WriteString(zigzag(s.at, -4, s.size, false))
		}
	}
	k.path(b.String(), ` stroke-width="1.5"`)
}

// drawFlag writes a label on a background of its own, so that it is readable on every
// fill.
func (p *plate) drawFlag(k *ink, x, y int, text string) {
	w := textWidth(text) + 8
	k.rect(x-w/2, y-7, w, 14, `rx="3" fill="`+markColour+`"`)
	k.text(x, y+4, ` text-anchor="middle" font-size="11" fill="#fff"`, text)
}

// holds reports whether the grid has any of the chunks.
func (p *plate) holds(chunks grid.Box) bool {
	if len(chunks) != p.grid.Rank() {
		return false
	}
	for i, n := range p.grid.Chunks() {
		if chunks[i].Intersect(grid.Interval{Stop: n}).Len() == 0 {
			return false
		}
	}
	return true
}

// reach returns the position and the size of the strips within the array that hold any of
// the chunks.
func (r *ruler) stripsOf(chunks grid.Box, axis int) (at, size int) {
	in := grid.Interval{Stop: 1}
	if axis >= 0 {
		in = chunks[axis]
	}
	// A strip may stand for many cells. Then its whole width is marked.
	for _, s := range r.strips {
		if !s.inside || s.cells.Intersect(in).Len() == 0 {
			continue
		}
		if size == 0 {
			at = s.at
		}
		size = s.at + s.size - at
	}
	return at, size
}

// lines collects the paths of lines between cells.
type lines struct {
	light, dashed strings.Builder
	dots          strings.Builder // for cells that are left out
}

// segment appends a line at a position of one ruler, from one position of the other ruler
// to another. The line runs from left to right if across is set, otherwise downwards.
func segment(b *strings.Builder, at, from, to int, across bool) {
	switch {
	case from >= to:
	case across:
		fmt.Fprintf(b, "M%d %dH%d", from, at, to)
	default:
		fmt.Fprintf(b, "M%d %dV%d", at, from, to)
	}
}

// between adds the lines between the strips of r, which run along other, and the dots for
// gaps.
func (l *lines) between(r, other *ruler, across bool) {
	for i, s := range r.strips {
		if i > 0 && s.inside {
			l.along(s.at, other, across)
		}
		l.beyond(s, i, r, other, across)
		if s.gap {
			l.dot(s, other, across)
		}
	}
	if r.inside < r.length { // otherwise the last line is the outline of the array
		segment(&l.dashed, r.length, 0, other.length, across)
	} else {
		segment(&l.dashed, r.length, other.inside, other.length, across)
	}
}

// along draws a line within the array, except where other has a gap.
func (l *lines) along(at int, other *ruler, across bool) {
	from := 0
	for _, o := range other.strips {
		if !o.inside {
			break
		}
		if o.gap {
			segment(&l.light, at, from, o.at, across)
			from = o.at + o.size
		}
	}
	segment(&l.light, at, from, other.inside, across)
}

// beyond draws the line before a strip outside the array. There is none within a cell.
func (l *lines) beyond(s strip, i int, r, other *ruler, across bool) {
	if s.joined {
		return
	}
	from := other.inside
	// Beyond the array a line has its full length. At the end of the array, the outline
	// is drawn instead.
	if !s.inside && (i == 0 || s.at > r.inside) {
		from = 0
	}
	segment(&l.dashed, s.at, from, other.length, across)
}

// dot puts three dots into every block of a gap. Where both rulers have a gap, the dots
// are diagonal and only one of the two rulers draws them.
func (l *lines) dot(s strip, other *ruler, across bool) {
	for _, o := range other.strips {
		if o.gap && across {
			continue
		}
		for n := -1; n <= 1; n++ {
			x, y := s.at+s.size/2+7*n, o.at+o.size/2
			switch {
			case across:
				x, y = y, x
			case o.gap:
				y += 7 * n
			}
			fmt.Fprintf(&l.dots, "M%d %dh0", x, y)
		}
	}
}

// within adds the lines within the strips of r, which run along other.
func (l *lines) within(r, other *ruler, shards, inner grid.Axis, across bool) {
	for _, s := range r.strips {
		places, _ := s.meetings(shards, inner)
		for _, at := range places {
			l.along(at, other, across)
		}
	}
}

// meetings returns the positions where inner chunks meet within a strip that is a shard.
// If they are too close to each other, it returns none, and fine is set.
func (s strip) meetings(shards, inner grid.Axis) (places []int, fine bool) {
	shard, ok := shards.Cell(s.cells.Start)
	if !ok || !s.inside || s.gap || shard.Logical == 0 {
		return nil, false
	}
	first, _, ok := inner.Locate(shard.Start)
	if !ok {
		return nil, false
	}
	// The first inner chunk begins at the edge of the shard, which has a line already.
	for k, before := first+1, s.at; ; k++ {
		c, ok := inner.Cell(k)
		if !ok || c.Start >= shard.Start+shard.Logical {
			return places, false
		}
		at := s.at + int(float64(s.size)*float64(c.Start-shard.Start)/float64(shard.Logical))
		// Lines that close to each other would be a grey area.
		if at < before+finest {
			return nil, true
		}
		places = append(places, at)
		before = at
	}
}

// finest is the smallest distance between fine lines in pixels.
const finest = 4

// drawInner draws the boundaries of inner chunks within shards.
func (p *plate) drawInner(k *ink) {
	if !p.hasInner() {
		return
	}
	var l lines
	if p.column >= 0 {
		l.within(&p.columns, &p.rows, p.grid.Axis(p.column), p.inner.Axis(p.column), false)
	}
	if p.row >= 0 {
		l.within(&p.rows, &p.columns, p.grid.Axis(p.row), p.inner.Axis(p.row), true)
	}
	k.path(l.light.String(), ` stroke-width=".4"`)
}

// hasInner reports whether the chunks are shards with inner chunks.
func (p *plate) hasInner() bool { return p.inner != nil && p.inner.Rank() == p.grid.Rank() }

// undrawn returns a line about inner chunks that are too small to draw, or "". Without
// it, lines along one axis alone would look as if the inner chunks were strips.
func (p *plate) undrawn() string {
	if !p.hasInner() || p.isEmpty() {
		return ""
	}
	drawn, fine := 0, 0
	count := func(r *ruler, axis int) {
		for _, s := range r.strips {
			if axis < 0 {
				return
			}
			places, tooFine := s.meetings(p.grid.Axis(axis), p.inner.Axis(axis))
			if drawn += len(places); tooFine {
				fine++
			}
		}
	}
	count(&p.rows, p.row)
	count(&p.columns, p.column)
	if fine == 0 {
		return ""
	}
	sizes := make([]string, p.inner.Rank())
	upTo := ""
	for i := range sizes {
		a := p.inner.Axis(i)
		sizes[i] = number(a.Longest(grid.Interval{Stop: a.Cells()}))
		if !a.IsRegular() {
			upTo = "up to "
		}
	}
	text := "inner chunks of " + upTo + strings.Join(sizes, " × ") + ", "
	// Lines along one axis may be drawn while those along the other are too close.
	if drawn > 0 {
		text += "in part "
	}
	return text + "too small to draw"
}
