// SPDX-License-Identifier: Apache-2.0

package draw

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
	add := func(is bool, fill, text string) {
		if is {
			list = append(list, sample{fill: fill, text: text})
		}
	}
	add(p.stored != nil, fills[allStored], "stored")
	add(seen[someStored], fills[someStored], "some stored")
	add(p.stored != nil && seen[noneStored], `fill="none"`, "not stored: fill value")
	add(seen[notLookedUp], fills[notLookedUp], "not looked up")
	add(p.rows.inside < p.rows.length || p.columns.inside < p.columns.length, beyondFill, "beyond the array")
	list = append(list, p.meanings()...)
	if p.rows.isStretched() || p.columns.isStretched() {
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
