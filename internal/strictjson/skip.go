// SPDX-License-Identifier: Apache-2.0

package strictjson

// The functions in this file skip over validated text. They stop at its end in any case.

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// space returns the offset of the first byte at or after i that is not white space.
func space(doc []byte, i int) int {
	for i < len(doc) && isSpace(doc[i]) {
		// The escaped byte may be a quote. It never ends the string.
		i++
	}
	return i
}

// skip returns the offset after the value that begins at i.
func skip(doc []byte, i int) int {
	switch doc[i] {
	case '"':
		return skipText(doc, i)
	case '[', '{':
		return skipContainer(doc, i)
	}
	for i < len(doc) && !ends[doc[i]] {
		i++
	}
	return i
}

// ends marks the bytes that end a number or a literal.
var ends = [256]bool{',': true, ']': true, '}': true, ' ': true, '\n': true, '\t': true, '\r': true}

func skipText(doc []byte, i int) int {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

func skipContainer(doc []byte, i int) int {
	for depth := 0; i < len(doc); {
		c := doc[i]
		if !brackets[c] {
			// Long lists of numbers are the bulk of large documents.
			i = plainBytes(doc, i+1)
			continue
		}
		switch c {
		case '"':
			i = skipText(doc, i)
			continue
		case '[', '{':
			depth++
		default:
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
	return len(doc)
}

// brackets marks the bytes that affect the nesting of containers.
var brackets = [256]bool{'"': true, '[': true, ']': true, '{': true, '}': true}

// next returns the offset of the value or bracket that follows the value ending at i.
func next(doc []byte, i int) int {
	i = space(doc, i)
	if doc[i] == ',' {
		i = space(doc, i+1)
	}
	return i
}
