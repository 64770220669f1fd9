// SPDX-License-Identifier: Apache-2.0

package manual

import "strings"

// kind is the kind of a passage in a help text.
type kind int

const (
	paragraph kind = iota
	entry          // entry of a list, with a term and its meaning
	literal        // lines that are not reflowed
)

// passage is a section of a help text.
type passage struct {
	kind       kind
	term, text string // only entries have a term; it may be ""
}

// passages splits a help text by its layout. Lines without an indent are paragraphs. A
// line with an indent of two spaces is an entry of a list: two or more spaces end its
// term, and lines with a larger indent continue it. Other lines with a larger indent are
// literal.
func passages(text string) []passage {
	var all []passage
	open := false // whether the next line may continue the last passage
	for line := range strings.SplitSeq(text, "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		body := strings.TrimSpace(line)
		next := passage{kind: paragraph, text: body}
		switch {
		case body == "":
			open = false
			continue
		case open && continues(all[len(all)-1], indent):
			all[len(all)-1].text += " " + body
			continue
		case indent > 2:
			next = passage{kind: literal, text: line[4:]}
			if n := len(all) - 1; n >= 0 && all[n].kind == literal {
				all[n].text += "\n" + next.text
				continue
			}
		case indent > 0:
			next = passage{kind: entry, text: body}
			if term, meaning, ok := strings.Cut(body, "  "); ok {
				next.term, next.text = term, strings.TrimLeft(meaning, " ")
			}
		}
		all, open = append(all, next), true
	}
	return all
}

// continues reports whether a line belongs to the passage before it.
func continues(last passage, indent int) bool {
	return last.kind == paragraph && indent == 0 || last.kind == entry && indent > 2
}
