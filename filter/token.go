// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr"
)

// SyntaxError reports where an [Expression] is malformed.
type SyntaxError struct {
	At     int // the character, counted from 1
	Reason string
}

// Error returns the place and the reason.
func (e *SyntaxError) Error() string { return fmt.Sprintf("at character %d: %s", e.At, e.Reason) }

// Unwrap returns [zarr.ErrInvalidArgument].
func (e *SyntaxError) Unwrap() error { return zarr.ErrInvalidArgument }

// token is a word of an expression.
type token struct {
	kind kind
	text string // without quotes
	at   int    // the character, counted from 1
}

type kind int

const (
	end     kind = iota
	name         // of an array
	value        // a number, a date, or text in quotes
	keyword      // in lower case
	mark         // an operator, a parenthesis or a comma
)

// keywords have a meaning of their own. An array with such a name is written in
// backquotes.
var keywords = map[string]kind{
	"and": keyword, "or": keyword, "not": keyword, "in": keyword, "is": keyword, "missing": keyword,
	"true": value, "false": value, "inf": value,
}

// marks are the operators and separators, longest first.
var marks = []string{"==", "!=", "<=", ">=", "<", ">", "(", ")", ","}

// meant are spellings of other languages.
var meant = map[string]string{
	"=": "==", "<>": "!=", "&&": "and", "&": "and", "||": "or", "|": "or", "!": "not", "~": "not", "≤": "<=", "≥": ">=",
}

// lexer cuts an expression into tokens.
type lexer struct {
	rest string
	at   int // the next character, counted from 1
}

// next returns the next token.
func (l *lexer) next() (token, error) {
	space := strings.TrimLeftFunc(l.rest, unicode.IsSpace)
	l.skip(len(l.rest) - len(space))
	t := token{at: l.at}
	if l.rest == "" {
		return t, nil
	}
	first, _ := utf8.DecodeRuneInString(l.rest)
	switch {
	case first == '"' || first == '\'':
		return l.quoted(value)
	case first == '`':
		return l.quoted(name)
	case beginsValue(l.rest):
		return l.take(value, strings.IndexFunc(l.rest, func(r rune) bool { return !isPart(r) && !strings.ContainsRune(":+-", r) })), nil
	case unicode.IsLetter(first) || first == '_':
		t = l.take(name, strings.IndexFunc(l.rest, func(r rune) bool { return !isPart(r) }))
		if k, is := keywords[strings.ToLower(t.text)]; is {
			t.kind, t.text = k, strings.ToLower(t.text)
		}
		return t, nil
	}
	return l.mark()
}

// skip skips so many bytes.
func (l *lexer) skip(n int) {
	l.at += utf8.RuneCountInString(l.rest[:n])
	l.rest = l.rest[n:]
}

// take takes so many bytes as a token, or all if n is negative.
func (l *lexer) take(k kind, n int) token {
	if n < 0 {
		n = len(l.rest)
	}
	t := token{k, l.rest[:n], l.at}
	l.skip(n)
	return t
}

// isPart reports whether a character may continue a name or a value.
func isPart(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == '.'
}

// beginsValue reports whether a text, which is not empty, begins with a number or a date.
func beginsValue(text string) bool {
	signed := text[0] == '+' || text[0] == '-'
	if signed {
		text = text[1:]
	}
	return text != "" && (text[0] >= '0' && text[0] <= '9' || text[0] == '.' || signed && strings.HasPrefix(text, "inf"))
}

// quoted takes text in quotes. A quote within is written twice.
func (l *lexer) quoted(k kind) (token, error) {
	t, quote, from := token{kind: k, at: l.at}, l.rest[0], 1
	for {
		n := strings.IndexByte(l.rest[from:], quote)
		if n < 0 {
			return t, &SyntaxError{t.at, fmt.Sprintf("the quote %c is not closed", quote)}
		}
		t.text += l.rest[from : from+n]
		if from += n + 1; from == len(l.rest) || l.rest[from] != quote {
			break
		}
		t.text += string(quote)
		from++
	}
	l.skip(from)
	return t, nil
}

// mark takes an operator or a separator.
func (l *lexer) mark() (token, error) {
	for _, m := range marks {
		if strings.HasPrefix(l.rest, m) && !strings.HasPrefix(l.rest, "<>") {
			return l.take(mark, len(m)), nil
		}
	}
	for _, n := range []int{3, 2, 1} { // ≤ has three bytes
		is := l.rest[:min(n, len(l.rest))]
		if word, ok := meant[is]; ok {
			return token{}, &SyntaxError{l.at, fmt.Sprintf("write %s in place of %s", word, is)}
		}
	}
	r, _ := utf8.DecodeRuneInString(l.rest)
	return token{}, &SyntaxError{l.at, fmt.Sprintf("the character %q has no meaning here; names of arrays with such characters are written in backquotes", r)}
}
