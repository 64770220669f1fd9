// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// Colours with enough contrast to both white and black.
const (
	inkColour    = "#767676"
	storedColour = "#3f87c5"
	markColour   = "#c2571a"
)

const (
	lineHeight = 18 // pixels
	swatch     = 14 // pixels of a sample in the legend
)

// ink is an SVG document that is being written.
type ink struct{ strings.Builder }

// begin writes the start of the document, up to the pictures.
func (k *ink) begin(width, height int, title, description string) {
	fmt.Fprintf(k, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="12" fill="%s">`+"\n", width, height, width, height, inkColour)
	fmt.Fprintf(k, "<title>%s</title>\n<desc>%s</desc>\n", escaped(title), escaped(description))
	fmt.Fprintf(k, `<defs>
<pattern id="varve-beyond" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M-1 1l2 -2M0 6l6 -6M5 7l2 -2" stroke="%s" stroke-width=".7"/></pattern>
<pattern id="varve-unknown" width="6" height="6" patternUnits="userSpaceOnUse"><circle cx="3" cy="3" r=".9"/></pattern>
</defs>
`, inkColour)
}

// text writes a line of text with the given baseline. The attributes are not escaped.
func (k *ink) text(x, y int, attributes, s string) {
	fmt.Fprintf(k, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, attributes, escaped(s))
}

// name writes the name of elements if there is one.
func (k *ink) name(x, y int, anchor, s string) {
	if s != "" {
		k.text(x, y, ` text-anchor="`+anchor+`" font-weight="bold"`, s)
	}
}

// zigzag returns a path of the given length beside cells, downwards or across.
func zigzag(x, y, length int, down bool) string {
	var b strings.Builder
	// Steps are about 6 pixels long, but there are at least two.
	for n, step := 0, max(2, length/max(2, length/6)); n <= length; n += step {
		across, along, op := 3*(n/step%2)-1, n, "L"
		if n == 0 {
			op = "M"
		}
		if !down {
			across, along = along, across
		}
		fmt.Fprintf(&b, "%s%d %d", op, x+across, y+along)
	}
	return b.String()
}

// rect writes a rectangle with the given attributes.
func (k *ink) rect(x, y, width, height int, fill string) {
	fmt.Fprintf(k, `<rect x="%d" y="%d" width="%d" height="%d" %s/>`+"\n", x, y, width, height, fill)
}

// path writes lines if there are any.
func (k *ink) path(d, attributes string) {
	if d != "" {
		fmt.Fprintf(k, `<path d="%s" fill="none" stroke="%s"%s/>`+"\n", d, inkColour, attributes)
	}
}

// fills maps what is stored of a block to the attributes of its fill.
var fills = map[presence]string{
	someStored:  `fill="` + storedColour + `" fill-opacity=".18"`,
	allStored:   `fill="` + storedColour + `" fill-opacity=".5"`,
	notLookedUp: `fill="url(#varve-unknown)"`,
}

const beyondFill = `fill="url(#varve-beyond)"`

// escaped returns s as XML text. Characters that XML does not allow are replaced.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // writing to a buffer cannot fail
	return b.String()
}

// textWidth returns the estimated width of a line in pixels. A letter is 0.6 of the font
// size wide, an East Asian one twice that.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x1100 && (r < 0x2000 || r >= 0x2e80) {
			n++
		}
	}
	// The font size is 12, so a letter takes about 7.25 pixels. Round up.
	return (n*29 + 3) / 4
}
