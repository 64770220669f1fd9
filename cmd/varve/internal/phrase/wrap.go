package phrase

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks the lines of a text anew, so that none is longer than a width. Lines
// that follow each other without an indent are a paragraph. A line that is indented by
// two spaces is an entry of a list, and lines that are indented by more go on with it:
// what stands behind two or more spaces in it stays in one column. A word that is longer
// than the width stands by itself. A line that is indented by four spaces without an
// entry before it stays as it is.
func Wrap(text string, width int) string {
	var lines []string
	var open string // the paragraph or the entry that is being collected
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

// hanging splits an entry of a list into what its first line begins with, the indent of
// the others, and its text.
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

// Flow breaks a paragraph into lines no longer than a width, of which the first one
// begins with first, the others with rest.
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
