// SPDX-License-Identifier: Apache-2.0

package fits

import (
	"strconv"
	"strings"
)

// parseValue returns the value of a keyword in free format (section 4.2), or nil if there
// is none: a string, a bool, an int64, a float64, or the two parts of a complex number.
// Text of another form stays a string.
func parseValue(text string) any {
	text = strings.TrimLeft(text, " ")
	if strings.HasPrefix(text, "'") {
		s, _ := parseText(text)
		return s
	}
	text, _, _ = strings.Cut(text, "/") // a comment
	switch text = strings.TrimRight(text, " "); text {
	case "":
		return nil
	case "T":
		return true
	case "F":
		return false
	}
	if n, ok := parseNumber(text); ok {
		return n
	}
	if parts, ok := parseComplex(text); ok {
		return parts
	}
	return text
}

// parseText returns the string that begins with a quote, without spaces at its end. Two
// quotes stand for one (section 4.2.1). closed is false if the end is missing.
func parseText(text string) (s string, closed bool) {
	var b []byte
	for i := 1; i < len(text); i++ {
		if text[i] == '\'' {
			if i+1 == len(text) || text[i+1] != '\'' {
				closed = true
				break
			}
			i++
		}
		b = append(b, text[i])
	}
	return strings.TrimRight(string(b), " "), closed
}

// parseNumber returns an int64 or a float64 (sections 4.2.3 and 4.2.4).
func parseNumber(text string) (any, bool) {
	if strings.Trim(text, "+-.0123456789DE") != "" {
		return nil, false // such as "inf", which is no number here
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(text, "D", "E"), 64)
	return x, err == nil
}

// parseComplex returns the parts of a complex number, such as (1.5, 2) (sections 4.2.5
// and 4.2.6).
func parseComplex(text string) ([]float64, bool) {
	text, ok := strings.CutPrefix(text, "(")
	text, closed := strings.CutSuffix(text, ")")
	a, b, comma := strings.Cut(text, ",")
	if !ok || !closed || !comma {
		return nil, false
	}
	parts := make([]float64, 2)
	for i, s := range []string{a, b} {
		n, ok := parseNumber(strings.Trim(s, " "))
		if !ok {
			return nil, false
		}
		switch n := n.(type) {
		case int64:
			parts[i] = float64(n)
		case float64:
			parts[i] = n
		}
	}
	return parts, true
}
