// SPDX-License-Identifier: Apache-2.0

package draw

import (
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
func (p *plate) place(m Mark) (x, y, width, height int, ok bool) {
	if !p.holds(m.Chunks) {
		return 0, 0, 0, 0, false
	}
	x, width = p.columns.reach(m.Chunks, p.column)
	y, height = p.rows.reach(m.Chunks, p.row)
	return x, y, width, height, width > 0 && height > 0
}

// drawFills colours marked chunks. Thin ones are drawn in a second pass, above the lines
// between chunks, which would hide them.
func (p *plate) drawFills(k *ink, thin bool) {
	for _, m := range p.marks {
		if x, y, width, height, ok := p.place(m); ok && m.Fill && (min(width, height) < 2*thinnest) == thin {
			k.rect(x, y, width, height, m.fill())
		}
	}
}

// drawMark outlines marked chunks that are not filled, and writes their label.
func (p *plate) drawMark(k *ink, m Mark) {
	x, y, width, height, ok := p.place(m)
	if !ok {
		return
	}
	if !m.Fill {
		k.rect(x, y, width, height, m.fill())
	}
	text := clip(m.Label, longText, p.more)
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
func (r *ruler) reach(chunks grid.Box, axis int) (at, size int) {
	in := grid.Interval{Stop: 1}
	if axis >= 0 {
		in = chunks[axis]
	}
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
