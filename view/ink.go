package view

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// Colours that can be told from white and from black alike.
const (
	inkColour    = "#767676"
	storedColour = "#3f87c5"
	markColour   = "#c2571a"
)

const (
	lineHeight = 18 // pixels
	swatch     = 14 // pixels of the sample in a legend
)

// ink is SVG that is being written.
type ink struct{ strings.Builder }

// begin writes what precedes all pictures.
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

// text writes a line of text at its baseline. The attributes are written as they are.
func (k *ink) text(x, y int, attributes, s string) {
	fmt.Fprintf(k, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, attributes, escaped(s))
}

// name writes the name of elements, unless there is none.
func (k *ink) name(x, y int, anchor, s string) {
	if s != "" {
		k.text(x, y, ` text-anchor="`+anchor+`" font-weight="bold"`, s)
	}
}

// zigzag returns a path of a length beside cells, downwards or across.
func zigzag(x, y, length int, down bool) string {
	var b strings.Builder
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

// rect writes a filled box.
func (k *ink) rect(x, y, width, height int, fill string) {
	fmt.Fprintf(k, `<rect x="%d" y="%d" width="%d" height="%d" %s/>`+"\n", x, y, width, height, fill)
}

// path writes lines, unless there are none.
func (k *ink) path(d, attributes string) {
	if d != "" {
		fmt.Fprintf(k, `<path d="%s" fill="none" stroke="%s"%s/>`+"\n", d, inkColour, attributes)
	}
}

// fills are the attributes of a block by what is stored of it.
var fills = map[presence]string{
	someStored:  `fill="` + storedColour + `" fill-opacity=".18"`,
	allStored:   `fill="` + storedColour + `" fill-opacity=".5"`,
	notLookedUp: `fill="url(#varve-unknown)"`,
}

const beyondFill = `fill="url(#varve-beyond)"`

// escaped returns text as XML has it. What XML cannot have is replaced.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

// textWidth returns the pixels of a line: a letter is 0.6 of the size of the font, those of East Asia are twice as wide.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x1100 && (r < 0x2000 || r >= 0x2e80) {
			n++
		}
	}
	return (n*29 + 3) / 4
}
