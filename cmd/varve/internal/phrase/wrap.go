// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"strings"
	"unicode/utf8"
)

// Flow breaks a paragraph into lines of at most width characters; longer words stay
// whole. The first line begins with first, the others with rest.
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
