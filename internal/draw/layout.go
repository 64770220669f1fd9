// SPDX-License-Identifier: Apache-2.0

package draw

import "strings"

func (p *plate) width() int {
	n := p.left() + p.columns.length + p.right()
	// The title has a larger font, so pad it with spaces.
	for _, line := range append([]string{p.title + strings.Repeat(" ", len(p.title)/8)}, p.captionLines()...) {
		n = max(n, textWidth(line))
	}
	if p.column >= 0 {
		n = max(n, p.left()+textWidth(p.heading(p.column)))
	}
	for _, line := range p.legendLines() {
		w := 0
		for _, s := range line {
			w += s.width()
		}
		n = max(n, w)
	}
	return n
}

// below returns the number of pixels from the lower edge of the cells to the end.
func (p *plate) below() int {
	return 4 + (len(p.captionLines())+len(p.legendLines()))*lineHeight
}

// top returns the number of pixels above the cells.
func (p *plate) top() int {
	n := 2
	if p.title != "" {
		n += lineHeight + 6
	}
	if p.column >= 0 && !p.isEmpty() {
		n += 2 * lineHeight
		if p.columns.nameWidth() > 0 {
			n += lineHeight
		}
	}
	return n
}

// bodyHeight returns the height of the cells in pixels, or of the name of the rows if
// that is longer.
func (p *plate) bodyHeight() int {
	if p.isEmpty() {
		return 0
	}
	if p.row < 0 {
		return p.rows.length
	}
	return max(p.rows.length, textWidth(p.heading(p.row)))
}
