// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks the lines of a text so that none is longer than width.
//
// Consecutive lines without an indent are a paragraph. A line with an indent of two
// spaces begins an entry of a list, and more deeply indented lines continue it. Text
// behind two or more spaces in an entry keeps its column. A line with an indent of four
// spaces outside an entry is left unchanged, and so is a word that is longer than width.
func Wrap(text string, width int) string {
	var lines []string
	var open string // the current paragraph or entry
	var first, rest string
	flush := func() {
		if open != "" {
			lines = append(lines, Flow(open, width, first, rest))
		}
		open, first, rest = "", "", ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch body := strings.TrimSpace(line); {
		case body == "":
			flush()
			lines = append(lines, "")
		case indent == 0 && first == "":
			open = strings.TrimSpace(open + " " + body)
		case indent > 2 && first != "":
			open += " " + body
		case indent > 2:
			flush()
			lines = append(lines, line)
		case indent == 0:
			flush()
			open = body
		default:
			flush()
			first, rest, open = hanging(line)
		}
	}
	flush()
	return strings.Join(lines, "\n")
}

// hanging splits an entry of a list into the beginning of its first line, the indent of
// the other lines, and the text.
func hanging(line string) (first, rest, text string) {
	body := strings.TrimLeft(line, " ")
	_, after, ok := strings.Cut(body, "  ")
	if !ok {
		return "  ", "      ", body
	}
	text = strings.TrimLeft(after, " ")
	first = line[:len(line)-len(text)]
	return first, strings.Repeat(" ", utf8.RuneCountInString(first)), text
}

// Flow breaks a paragraph into lines of at most width characters. The first line begins
// with first, the others with rest.
func Flow(text string, width int, first, rest string) string {
	var b strings.Builder
	b.WriteString(first)
	at, begun := utf8.RuneCountInString(first), false
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case begun && at+1+n > width:
			b.WriteString("\n" + rest)
			at = utf8.RuneCountInString(rest)
		case begun:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at, begun = at+n, true
	}
	return b.String()
}
