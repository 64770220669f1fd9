// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// The reasons for refusal. Every error of this package wraps one of them, except those
// that callers make with [Value.Errorf].
var (
	// ErrSyntax means that the bytes are not a JSON document (RFC 8259).
	ErrSyntax = errors.New("not JSON")
	// ErrDuplicate means that an object has two members with the same name.
	ErrDuplicate = errors.New("duplicate member")
	// ErrUnicode means that a string is not valid UTF-8, or escapes half of a
	// surrogate pair.
	ErrUnicode = errors.New("invalid Unicode")
	// ErrLimit means that the document is longer or deeper than [Limits] allows.
	ErrLimit = errors.New("limit exceeded")
	// ErrKind means that a value is not of the requested kind.
	ErrKind = errors.New("wrong kind of value")
	// ErrFraction means that a number is not an integer.
	ErrFraction = errors.New("not an integer")
	// ErrOverflow means that a number does not fit into the requested type.
	ErrOverflow = errors.New("number out of range")
)

// Error is an error at one place of a document. Its text begins with the pointer, as in
// "/shape/0: must be an integer, got 1.5".
type Error struct {
	// Pointer is the JSON pointer (RFC 6901) of the value. "" is the whole document.
	Pointer string
	// Offset is the position in bytes from the start of the parsed document, or -1 if
	// it is unknown.
	Offset int64
	// Err is the reason.
	Err error
}

// Error returns the pointer and the reason. It shortens a very long pointer in the
// middle.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Err.Error()
	}
	return Abbreviate(e.Pointer) + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Prefix puts pointer before the pointer of an error of a nested document: a raw value
// that was parsed on its own. An err that is not an [*Error] becomes one at pointer.
// Prefix(nil, pointer) is nil.
func Prefix(err error, pointer string) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok {
		return &Error{pointer + e.Pointer, e.Offset, e.Err}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		// The error wraps an *Error: keep the text that was added to it.
		return &Error{pointer + e.Pointer, e.Offset, err}
	}
	return &Error{pointer, -1, err}
}

// Abbreviate shortens text for a message: it keeps the beginning and the end of a long
// text, and escapes control characters. A document may contain megabytes of text
// anywhere, so every message that quotes a text of unbounded length uses it.
func Abbreviate[T ~string | ~[]byte](text T) string {
	const most = 256
	var s string
	if len(text) > most {
		// The cut may go through a character.
		s = strings.ToValidUTF8(string(text[:most/2]), "") + "..." + strings.ToValidUTF8(string(text[len(text)-most/2:]), "")
	} else {
		s = string(text)
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		s = strconv.Quote(s)
		s = s[1 : len(s)-1]
	}
	return s
}

// reason is the message of an error. errors.Is finds its kind, which the text does not
// show.
type reason struct {
	kind error
	text string
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.kind }

func because(kind error, format string, args ...any) error {
	return &reason{kind, fmt.Sprintf(format, args...)}
}
