// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// kind is the kind of a passage.
type kind int

const (
	paragraph kind = iota
	entry          // of a list: a term and its meaning, or only a text
	literal        // lines that keep their breaks
)

// passage is a section of a help text.
type passage struct {
	kind       kind
	term, text string // term is "" except for entries that have one
	column     int    // of an entry with a term: where its text begins, in characters
	isSeparate bool   // a blank line precedes it
}

// passages splits a help text by its layout. Lines without an indent are paragraphs. A
// line with an indent of two spaces is an entry of a list: two or more spaces end its
// term, and lines with a larger indent continue it. Other lines with a larger indent are
// literal.
func passages(text string) []passage {
	var all []passage
	open := false // the next line may continue the last passage
	for line := range strings.SplitSeq(text, "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if strings.TrimSpace(line) == "" {
			open = false
			continue
		}
		if !open || !all[len(all)-1].extend(line, indent) {
			next := newPassage(line, indent)
			next.isSeparate = !open && len(all) > 0
			all = append(all, next)
		}
		open = true
	}
	return all
}

// newPassage returns the passage that a line begins.
func newPassage(line string, indent int) passage {
	p := passage{kind: paragraph, text: strings.TrimSpace(line)}
	switch {
	case indent > 2:
		p.kind, p.text = literal, line[min(indent, literalIndent):]
	case indent > 0:
		p.kind = entry
		if term, meaning, ok := strings.Cut(p.text, "  "); ok {
			p.term, p.text = term, strings.TrimLeft(meaning, " ")
			p.column = utf8.RuneCountInString(line) - utf8.RuneCountInString(p.text)
		}
	}
	return p
}

// extend adds a line to a passage, and reports whether the line belongs to it.
func (p *passage) extend(line string, indent int) bool {
	switch {
	case p.kind == literal && indent > 2:
		p.text += "\n" + line[min(indent, literalIndent):]
	case p.kind == paragraph && indent == 0, p.kind == entry && indent > 2:
		p.text += " " + strings.TrimSpace(line)
	default:
		return false
	}
	return true
}

// literalIndent is the indent of literal lines.
const literalIndent = 4

// Wrap breaks the lines of a help text so that none is wider than width characters.
// Continued lines of an entry begin in the column of its text. Literal lines, and words
// that are wider, keep their width.
func Wrap(text string, width int) string {
	var lines []string
	for _, p := range passages(text) {
		if p.isSeparate {
			lines = append(lines, "")
		}
		switch {
		case p.kind == literal:
			for line := range strings.SplitSeq(p.text, "\n") {
				lines = append(lines, strings.Repeat(" ", literalIndent)+line)
			}
		case p.kind == entry && p.term != "":
			space := strings.Repeat(" ", p.column)
			term := []rune(space)
			copy(term[2:], []rune(p.term))
			lines = append(lines, phrase.Flow(p.text, width, string(term), space))
		case p.kind == entry:
			lines = append(lines, phrase.Flow(p.text, width, "  ", "      "))
		default:
			lines = append(lines, phrase.Flow(p.text, width, "", ""))
		}
	}
	return strings.Join(lines, "\n")
}
