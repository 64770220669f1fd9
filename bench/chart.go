// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// chart is a plot of curves on two logarithmic axes.
type chart struct {
	title  string
	x, y   axis
	curves []curve
}

// curve is the results of one candidate.
type curve struct {
	name  string
	marks []mark
}

// mark is a point of a curve, with the range of its runs and their spread as in
// [figures].
type mark struct{ x, y, least, most, spread float64 }

// Positions, in pixels.
const (
	width, height = 720, 400
	left, right   = 64, 578 // of the plot area
	top, bottom   = 58, 348
	inset         = 12 // from the edges of the plot area to the first and last mark
	lineGap       = 16 // between names
)

// inkColour, like all colours here, is readable on white and on black.
const inkColour = "#767676"

// pen is the style of a candidate in all charts.
type pen struct {
	colour string
	width  float64
	dash   string
	shape  string // path of its marks
}

const (
	circle   = "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"
	square   = "m-3.5 -3.5h7v7h-7z"
	triangle = "m0 -4.8l4.6 8h-9.2z"
	rhomb    = "m0 -5l5 5l-5 5l-5 -5z"
	dot      = "m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z"
)

var pens = map[string]pen{
	"varve":             {"#d9541e", 2.6, "", circle},
	"varve-16MiB":       {"#d9541e", 1.6, "6 3", circle},
	"varve-command":     {"#b7791f", 1.6, "", circle},
	"zarrs":             {"#3b82d6", 1.8, "", square},
	"tensorstore":       {"#1f9d68", 1.8, "", triangle},
	"zarr-python":       {"#a367dc", 1.6, "6 3", rhomb},
	"zarr-python-fused": {"#a367dc", 1.8, "", rhomb},
	"zarrita":           {"#c9508f", 1.8, "", square},
	"limit":             {inkColour, 1.4, "3 3", dot},
	"ideal":             {inkColour, 1.4, "3 3", dot},
}

// penOf returns the pen of a candidate, or a plain one.
func penOf(name string) pen {
	if p, ok := pens[name]; ok {
		return p
	}
	return pen{inkColour, 1.6, "", square}
}

// sheet is a chart while it is drawn.
type sheet struct {
	strings.Builder
	x, y scale
}

// svg returns the chart as a self-contained document.
func (c chart) svg() []byte {
	s := &sheet{}
	s.x, s.y = c.scales()
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`font-family="system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="12" fill="%s">`+"\n", width, height, width, height, inkColour)
	fmt.Fprintf(s, "<title>%s</title>\n<desc>%s</desc>\n", escaped(c.title), escaped(c.description()))
	s.text(left, 20, ` font-size="14" font-weight="600"`, c.title)
	s.text(left, 42, "", c.y.Title)
	s.text((left+right)/2, height-12, ` text-anchor="middle"`, c.x.Title)
	s.grid(c.x.Unit, c.y.Unit)
	for _, v := range slices.Backward(c.curves) {
		s.curve(v)
	}
	s.names(c.curves)
	s.WriteString("</svg>\n")
	return []byte(s.String())
}

// scales fit all marks and their ranges.
func (c chart) scales() (x, y scale) {
	var across, up []float64
	for _, v := range c.curves {
		for _, m := range v.marks {
			across, up = append(across, m.x), append(up, m.y, m.least, m.most)
		}
	}
	return c.x.Unit.fit(across), c.y.Unit.fit(up)
}

// description describes for readers who cannot see the chart where each curve begins and
// ends.
func (c chart) description() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s.", c.y.Title, c.x.Title)
	for _, v := range c.curves {
		first, last := v.marks[0], v.marks[len(v.marks)-1]
		fmt.Fprintf(&b, " %s: %s at %s, %s at %s.", v.name, c.y.Unit.spell(first.y), c.x.Unit.spell(first.x), c.y.Unit.spell(last.y), c.x.Unit.spell(last.x))
	}
	return b.String()
}

// across and up return the pixel of a value.
func (s *sheet) across(v float64) float64 {
	return left + inset + s.x.at(v)*(right-left-2*inset)
}

func (s *sheet) up(v float64) float64 { return bottom - s.y.at(v)*(bottom-top) }

func (s *sheet) text(x, y float64, attributes, words string) {
	fmt.Fprintf(s, `<text x="%.4g" y="%.4g"%s>%s</text>`+"\n", x, y, attributes, escaped(words))
}

// grid draws lines and labels at all ticks.
func (s *sheet) grid(x, y unit) {
	var d strings.Builder
	for _, v := range s.y.ticks {
		fmt.Fprintf(&d, "M%d %.1fH%d", left, s.up(v), right)
		s.text(left-8, s.up(v)+4, ` text-anchor="end"`, y.spell(v))
	}
	for _, v := range s.x.ticks {
		fmt.Fprintf(&d, "M%.1f %dV%d", s.across(v), top, bottom)
		s.text(s.across(v), bottom+20, ` text-anchor="middle"`, x.spell(v))
	}
	fmt.Fprintf(s, `<path d="%s" fill="none" stroke="%s" stroke-opacity=".28"/>`+"\n", d.String(), inkColour)
	fmt.Fprintf(s, `<path d="M%d %dV%dH%d" fill="none" stroke="%s"/>`+"\n", left, top, bottom, right, inkColour)
}

// curve draws one curve: the range of its runs, the line, and the marks.
func (s *sheet) curve(c curve) {
	p := penOf(c.name)
	var bars, through, marks strings.Builder
	for i, m := range c.marks {
		x, y := s.across(m.x), s.up(m.y)
		if m.least < m.most {
			fmt.Fprintf(&bars, "M%.1f %.1fV%.1f", x, s.up(m.least), s.up(m.most))
		}
		fmt.Fprintf(&through, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
		fmt.Fprintf(&marks, "M%.1f %.1f%s", x, y, p.shape)
	}
	fmt.Fprintf(s, `<g class="curve"><title>%s</title>`, escaped(c.name))
	if bars.Len() > 0 {
		fmt.Fprintf(s, `<path d="%s" fill="none" stroke="%s" stroke-opacity=".6" stroke-width="1.2"/>`, bars.String(), p.colour)
	}
	fmt.Fprintf(s, `<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-linejoin="round"`, through.String(), p.colour, p.width)
	if p.dash != "" {
		fmt.Fprintf(s, ` stroke-dasharray="%s"`, p.dash)
	}
	fmt.Fprintf(s, `/><path d="%s" fill="%s"/></g>`+"\n", marks.String(), p.colour)
}

// names writes the name of each curve beside the plot area, with a line from its last
// mark.
func (s *sheet) names(curves []curve) {
	ends := slices.Clone(curves)
	last := func(c curve) mark { return c.marks[len(c.marks)-1] }
	slices.SortStableFunc(ends, func(a, b curve) int { return cmp.Compare(s.up(last(a).y), s.up(last(b).y)) })
	var wanted []float64
	for _, c := range ends {
		wanted = append(wanted, s.up(last(c).y))
	}
	for i, y := range apart(wanted, lineGap, top, bottom) {
		p, m := penOf(ends[i].name), last(ends[i])
		fmt.Fprintf(s, `<path d="M%.1f %.1fL%d %.1f" fill="none" stroke="%s" stroke-opacity=".6"/>`+"\n", s.across(m.x)+6, s.up(m.y), right+8, y, p.colour)
		fmt.Fprintf(s, `<path d="M%d %.1f%s" fill="%s"/>`+"\n", right+15, y, p.shape, p.colour)
		s.text(right+25, y+4, fmt.Sprintf(` fill="%s"`, p.colour), ends[i].name)
	}
}

// apart moves increasing positions as little as possible until they are a gap apart,
// between low and high if there is room.
func apart(places []float64, gap, low, high float64) []float64 {
	out := slices.Clone(places)
	// Positions that are too close form a block around their mean. A block that
	// reaches into the next one joins it.
	type block struct {
		sum float64 // of the preferred starts of the block
		n   int
	}
	begin := func(b block) float64 {
		return max(low, min(b.sum/float64(b.n), high-gap*float64(b.n-1)))
	}
	var blocks []block
	for _, y := range places {
		blocks = append(blocks, block{y, 1})
		for n := len(blocks); n > 1; n-- {
			a, b := blocks[n-2], blocks[n-1]
			if begin(a)+gap*float64(a.n) <= begin(b) {
				break
			}
			blocks = append(blocks[:n-2], block{a.sum + b.sum - gap*float64(a.n*b.n), a.n + b.n})
		}
	}
	i := 0
	for _, b := range blocks {
		for k := range b.n {
			out[i] = math.Round(10*(begin(b)+gap*float64(k))) / 10
			i++
		}
	}
	return out
}

// escaped escapes text for a document.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
