// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word quotes a location for a shell if it needs quotes.
func Word(location string) string {
	if !strings.ContainsAny(location, " \t\"'`$&|;<>()*?[]{}!#\\") {
		return location
	}
	return "'" + strings.ReplaceAll(location, "'", `'\''`) + "'"
}

// Compact returns JSON without white space.
func Compact(raw []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw)
	}
	return b.String()
}

// Shorten returns s, cut to n characters if it is longer.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	kept, runes := 0, 0 // bytes of all characters that fit, but for the last
	for i := range s {
		switch runes++; runes {
		case n:
			kept = i
		case n + 1:
			return s[:kept] + "…"
		}
	}
	return s
}

// Printable writes characters that could take over a terminal, and bytes that are no
// text, as in Go.
func Printable(s string) string {
	if !strings.ContainsFunc(s, isHidden) {
		return s
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		if isHidden(r) && (r != utf8.RuneError || n == 1) {
			quoted := strconv.Quote(rest[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	return b.String()
}

// isHidden reports whether a terminal does not show r, or r stands for bytes that are no
// text.
func isHidden(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }

// Name returns the name of a node, in quotes if it does not show what it is.
func Name(name string) string {
	if strings.ContainsFunc(name, isHidden) || strings.ContainsAny(name, `"\`) || name != strings.TrimSpace(name) {
		return strconv.Quote(name)
	}
	return name
}
