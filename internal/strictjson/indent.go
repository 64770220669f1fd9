// SPDX-License-Identifier: Apache-2.0

package strictjson

import "io"

// AppendIndent appends the document or value raw in canonical layout: indented by two
// spaces, with empty containers as [] or {}. An array of scalars is on one line, even if
// some elements are arrays of at most two scalars, as in [10, 20, [5, 3]]. Strings and
// numbers keep their spelling. raw must be valid: [Parse] accepts it.
func AppendIndent(dst, raw []byte) []byte {
	p := printer{dst: dst, doc: raw}
	if i := space(raw, 0); i < len(raw) {
		p.value(i, 0)
	}
	return p.dst
}

// WriteIndent writes what [AppendIndent] appends, in small pieces, for a value at the
// given depth in its document. All lines but the first are indented accordingly.
func WriteIndent(w io.Writer, raw []byte, depth int) error {
	p := printer{dst: make([]byte, 0, 2*pieceSize), doc: raw, to: w}
	if i := space(raw, 0); i < len(raw) {
		p.value(i, depth)
	}
	p.flush()
	return p.err
}

// pieceSize is the number of bytes that a printer buffers.
const pieceSize = 8 << 10

type printer struct {
	dst, doc []byte
	to       io.Writer // nil if all output stays in dst
	err      error
}

// flush writes the buffer. After an error it only empties it.
func (p *printer) flush() {
	if p.err == nil {
		_, p.err = p.to.Write(p.dst)
	}
	p.dst = p.dst[:0]
}

// text appends text of the document in pieces, because a string may be nearly as long as
// the document.
func (p *printer) text(b []byte) {
	for p.to != nil && len(p.dst)+len(b) > pieceSize {
		n := min(len(b), max(0, pieceSize-len(p.dst)))
		p.dst = append(p.dst, b[:n]...)
		b = b[n:]
		p.flush()
	}
	p.dst = append(p.dst, b...)
}

// value writes the value at i and returns the offset after it.
func (p *printer) value(i, depth int) int {
	switch p.doc[i] {
	case '{':
		return p.lines(i, depth)
	case '[':
		if p.flat(i, -1) {
			return p.line(i)
		}
		return p.lines(i, depth)
	}
	return p.scalar(i)
}

func (p *printer) scalar(i int) int {
	end := skip(p.doc, i)
	p.text(p.doc[i:end])
	return end
}

// flat reports whether the array at i contains only scalars, and at most the given number
// of them. If most is -1, any number is allowed, and short arrays as well.
func (p *printer) flat(i, most int) bool {
	n := 0
	for i = space(p.doc, i+1); p.doc[i] != ']'; n++ {
		c := p.doc[i]
		// Only one level of nesting may be on a line, so that [10, 20, [5, 3]] is.
		if c == '{' || n == most || c == '[' && (most >= 0 || !p.flat(i, 2)) {
			return false
		}
		i = next(p.doc, skip(p.doc, i))
	}
	return true
}

// line writes the array at i on one line.
func (p *printer) line(i int) int {
	p.dst = append(p.dst, '[')
	i = space(p.doc, i+1)
	for p.doc[i] != ']' {
		if p.doc[i] == '[' {
			i = p.line(i)
		} else {
			i = p.scalar(i)
		}
		i = p.comma(i, " ")
	}
	p.dst = append(p.dst, ']')
	return i + 1
}

// lines writes the container at i with one element or member per line.
func (p *printer) lines(i, depth int) int {
	p.dst = append(p.dst, p.doc[i])
	i = space(p.doc, i+1)
	if c := p.doc[i]; c == ']' || c == '}' {
		p.dst = append(p.dst, c)
		return i + 1
	}
	p.newline(depth + 1)
	for c := p.doc[i]; c != ']' && c != '}'; c = p.doc[i] {
		i = p.item(i, depth+1)
		// After the last value there is no comma, and lines writes the newline below.
		if i = p.comma(i, ""); p.dst[len(p.dst)-1] == ',' {
			p.newline(depth + 1)
		}
	}
	p.newline(depth)
	p.dst = append(p.dst, p.doc[i])
	return i + 1
}

// item writes the value at i, preceded by its name if it is a member.
func (p *printer) item(i, depth int) int {
	if p.doc[i] == '"' {
		end := p.scalar(i)
		colon := space(p.doc, end)
		// A string without a colon is an element of an array.
		if p.doc[colon] != ':' {
			return end
		}
		p.dst = append(p.dst, ": "...)
		i = space(p.doc, colon+1)
	}
	return p.value(i, depth)
}

// comma advances from the end of a value to the next one or to the closing bracket, and
// writes the comma between them.
func (p *printer) comma(i int, behind string) int {
	i = space(p.doc, i)
	if p.doc[i] == ',' {
		p.dst = append(append(p.dst, ','), behind...)
		i = space(p.doc, i+1)
	}
	return i
}

func (p *printer) newline(depth int) {
	p.dst = append(p.dst, '\n')
	for range depth {
		p.dst = append(p.dst, "  "...)
	}
}
