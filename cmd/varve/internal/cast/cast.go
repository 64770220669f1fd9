// SPDX-License-Identifier: Apache-2.0

// Package cast draws a terminal session as an animated SVG: commands are typed, and their
// output appears. A viewer that does not animate shows the whole session.
package cast

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// Step is a command line and what it prints.
type Step struct{ Command, Output string }

// Sizes in pixels, and times in seconds.
const (
	fontSize   = 14
	charWidth  = 8.43
	lineHeight = 19
	margin     = 18
	bar        = 34 // the title bar of the window
	perChar    = 0.035
	afterLine  = 0.5 // between a command and its output
	afterStep  = 1.4 // to read the output
)

// Session is a sequence of steps. Lines of output that contain one of the marks are
// highlighted.
type Session struct {
	Title   string
	Columns int
	Steps   []Step
	Marks   []string
}

// SVG returns the drawing.
func (s Session) SVG() string {
	var body strings.Builder
	line, at := 0, 0.8
	text := func(class, content string, begin float64, typed int) {
		y := bar + margin + lineHeight*line
		fmt.Fprintf(&body, `<text class="%s" x="%d" y="%d" style="--t:%.2fs">%s</text>`+"\n", class, margin, y+fontSize, begin, content)
		if typed > 0 {
			// The cover moves off the characters one after the other.
			fmt.Fprintf(&body, `<rect class="cover" x="%.1f" y="%d" width="%.1f" height="%d" style="--t:%.2fs;--d:%.2fs;--w:%.1fpx;--n:%d"/>`+"\n",
				margin+2*charWidth, y, float64(typed)*charWidth+2, lineHeight, begin, float64(typed)*perChar, float64(typed)*charWidth+2, typed)
		}
		line++
	}
	for _, step := range s.Steps {
		n := utf8.RuneCountInString(step.Command)
		text("line command", `<tspan class="prompt">$</tspan> `+html.EscapeString(step.Command), at, n)
		at += float64(n)*perChar + afterLine
		for output := range strings.SplitSeq(strings.TrimRight(step.Output, "\n"), "\n") {
			if step.Output != "" {
				text("line "+s.class(output), html.EscapeString(output), at, 0)
			}
		}
		at += afterStep
		line++
	}
	width := int(float64(s.Columns)*charWidth) + 2*margin
	height := bar + 2*margin + lineHeight*(line-1)
	return s.head(width, height) + body.String() + "</svg>\n"
}

// class returns the CSS class of a line of output.
func (s Session) class(line string) string {
	for _, mark := range s.Marks {
		if strings.Contains(line, mark) {
			return "mark"
		}
	}
	return "output"
}

// head returns the window and the style. Only viewers that animate hide lines until their
// time.
func (s Session) head(width, height int) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" xml:space="preserve">
<title>%[3]s</title>
<style>
text { font: %[4]dpx ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
.title { fill: #8b949e } .prompt { fill: #7ee787 } .command { fill: #f0f6fc } .output { fill: #b6bec8 } .mark { fill: #ffa657; font-weight: bold }
.cover { fill: #0d1117; visibility: hidden }
@media (prefers-reduced-motion: no-preference) {
.line { animation: show 1ms var(--t) both }
.cover { visibility: visible; animation: type var(--d) steps(var(--n)) var(--t) both }
@keyframes show { from { visibility: hidden } to { visibility: visible } }
@keyframes type { from { transform: none } to { transform: translateX(var(--w)); visibility: hidden } }
}
</style>
<rect width="%[1]d" height="%[2]d" rx="8" fill="#0d1117"/>
<circle cx="20" cy="17" r="6" fill="#ff5f56"/><circle cx="40" cy="17" r="6" fill="#ffbd2e"/><circle cx="60" cy="17" r="6" fill="#27c93f"/>
<text class="title" x="84" y="22">%[3]s</text>
`, width, height, html.EscapeString(s.Title), fontSize)
}
