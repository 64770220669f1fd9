// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"strings"

	"varve.dev/zarr/grid"
)

// longText is the largest number of characters in a line of a picture.
const longText = 100

// plate is the picture of one grid, with its title above and its legend and caption
// below.
type plate struct {
	*drawing
	title         string
	caption       string
	marks         []Mark
	inner         *grid.Grid // inner chunks of shards, or nil
	rows, columns ruler
	shades        [][]presence // of the blocks within the extent
}

func newPlate(g *grid.Grid, opt *SVGOptions) *plate {
	if opt == nil {
		opt = new(SVGOptions)
	}
	d := newDrawing(g, &GridOptions{Axes: opt.Axes, Names: opt.Names, Stored: opt.Stored})
	p := &plate{drawing: d, title: clip(opt.Title, longText, d.more), marks: opt.Marks, inner: opt.Inner}
	p.rows, p.columns = singleRuler(44), singleRuler(64)
	if d.row >= 0 {
		p.rows = newRuler(&rowKind, g.Axis(d.row), opt.namesOf(d.row))
	}
	if d.column >= 0 {
		p.columns = newRuler(&columnKind, g.Axis(d.column), opt.namesOf(d.column))
	}
	p.caption = opt.Caption
	p.look()
	return p
}

// captionLines returns the text below the legend, in lines about as wide as the cells.
// They depend on the scale, which panels side by side have in common.
func (p *plate) captionLines() []string {
	all := p.remarks()
	if text := p.undrawn(); text != "" {
		all = append(all, text)
	}
	if p.caption != "" {
		all = append(all, strings.Split(p.caption, "\n")...)
	}
	var lines []string
	for _, line := range all {
		lines = append(lines, p.wrapped(line)...)
	}
	return lines
}

// wrapped breaks a line between words where it is wider than the cells. It clips a word
// that is very long.
func (p *plate) wrapped(line string) []string {
	words := strings.Split(line, " ")
	lines := []string{clip(words[0], longText, p.more)}
	for _, word := range words[1:] {
		word = clip(word, longText, p.more)
		last := &lines[len(lines)-1]
		if textWidth(*last)+textWidth(" "+word) > p.room() {
			lines = append(lines, word)
			continue
		}
		*last += " " + word
	}
	return lines
}

// room returns the number of pixels that the lines of the legend and of the caption may
// take.
func (p *plate) room() int { return max(300, p.left()+p.columns.length) }

// remarks describes what the cells do not show.
func (p *plate) remarks() []string {
	var lines []string
	for i, line := range p.axisLines() {
		// Axes that are drawn show their lengths beside the cells.
		if p.isEmpty() || p.grid.Rank() == 0 || i != p.row && i != p.column {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	if p.isEmpty() {
		lines = append(lines, "no chunks")
	}
	return lines
}

// isEmpty reports whether there is no cell to draw.
func (p *plate) isEmpty() bool { return len(p.rows.strips) == 0 || len(p.columns.strips) == 0 }

// look finds out what is stored, once for every block within the extent.
func (p *plate) look() {
	if p.stored == nil {
		return
	}
	for _, row := range p.rows.strips {
		// Strips beyond the extent come last and have no chunks.
		if !row.inside {
			break
		}
		var line []presence
		for _, column := range p.columns.strips {
			if column.inside {
				line = append(line, p.presence(row.cells, column.cells))
			}
		}
		p.shades = append(p.shades, line)
	}
}

// left returns the number of pixels to the left of the cells.
func (p *plate) left() int {
	n := 2
	if p.row >= 0 {
		n += lineHeight
	}
	for _, w := range []int{p.rows.labelWidth(), p.rows.nameWidth()} {
		if w > 0 {
			n += w + 8
		}
	}
	if p.column >= 0 {
		n = max(n, p.columns.lead())
	}
	return n
}

// right returns the number of pixels to the right of the cells, which the labels of marks
// need.
func (p *plate) right() int {
	n := 2
	if p.column >= 0 {
		n = max(n, p.columns.excess())
	}
	// Labels of filled marks stand to the right of the cells.
	for _, m := range p.marks {
		if m.Fill && m.Label != "" {
			n = max(n, 10+textWidth(clip(m.Label, longText, p.more)))
		}
	}
	return n
}

// heading returns the text beside an axis: its name, the direction of its indices, and
// its extent.
func (p *plate) heading(axis int) string {
	return p.names[axis] + " → " + number(p.grid.Axis(axis).Extent())
}

// scaled gives the plates a common scale along one ruler.
func scaled(plates []*plate, of func(*plate) *ruler) {
	var s stretch
	level := 0
	for _, p := range plates {
		s = s.withSpans(of(p).list)
		// The plate with the least room decides.
		level = max(level, of(p).level)
	}
	for _, p := range plates {
		if r := of(p); len(r.list) > 0 {
			r.level = level
			r.layOut(s)
		}
	}
}

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
	// Without a row axis there is no name beside the cells.
	if p.row < 0 {
		return p.rows.length
	}
	return max(p.rows.length, textWidth(p.heading(p.row)))
}

// sample is an entry of the legend: a fill, or a mark beside the cells.
type sample struct {
	fill, text string
	lined      bool // the fill has its own outline
	zigzag     bool
}

func (s sample) width() int { return swatch + 6 + textWidth(s.text) + 16 }

// draw writes a sample with its text. foot is the lower end of the line.
func (s sample) draw(k *ink, x, foot int) {
	if s.zigzag {
		k.path(zigzag(x+swatch/2, foot-12, 12, true), ` stroke-width="1.5"`)
	} else {
		line := ` stroke="` + inkColour + `" stroke-width=".5"`
		if s.lined {
			line = ""
		}
		k.rect(x, foot-10, swatch, 10, s.fill+line)
	}
	k.text(x+swatch+6, foot-1, "", s.text)
}

// legend explains the fills that occur in the picture.
func (p *plate) legend() []sample {
	seen := map[presence]bool{}
	for _, line := range p.shades {
		for _, s := range line {
			seen[s] = true
		}
	}
	var list []sample
	add := func(shown bool, fill, text string) {
		if shown {
			list = append(list, sample{fill: fill, text: text})
		}
	}
	add(p.stored != nil, fills[allStored], "stored")
	add(seen[someStored], fills[someStored], "some stored")
	add(p.stored != nil && seen[noneStored], `fill="none"`, "not stored: fill value")
	add(seen[notLookedUp], fills[notLookedUp], "not looked up")
	add(p.rows.inside < p.rows.length || p.columns.inside < p.columns.length, beyondFill, "beyond the array")
	list = append(list, p.meanings()...)
	if p.rows.hasStretched() || p.columns.hasStretched() {
		list = append(list, sample{text: "larger than to scale", zigzag: true})
	}
	return list
}

// meanings explains the marks, each meaning once.
func (p *plate) meanings() []sample {
	var list []sample
	seen := map[string]bool{"": true}
	for _, m := range p.marks {
		if text := clip(m.Meaning, longText, p.more); !seen[text] && p.holds(m.Chunks) {
			list = append(list, sample{fill: m.fill(), text: text, lined: !m.Fill})
			seen[text] = true
		}
	}
	return list
}

// legendLines breaks the legend into lines about as wide as the cells.
func (p *plate) legendLines() [][]sample {
	room := p.room()
	var lines [][]sample
	// The first sample begins a line.
	used := room + 1
	for _, s := range p.legend() {
		if used+s.width() > room {
			lines, used = append(lines, nil), 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], s)
		used += s.width()
	}
	return lines
}
