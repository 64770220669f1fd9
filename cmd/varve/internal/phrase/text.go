// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"bytes"
	"encoding/json"
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

// Printable replaces characters that could take over a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return utf8.RuneError
	}, s)
}
