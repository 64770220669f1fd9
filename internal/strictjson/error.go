package strictjson

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// The reasons of refusal. Every error of this package wraps one of them, except those
// that callers make with [Value.Errorf].
var (
	// ErrSyntax says that the bytes are no JSON document (RFC 8259).
	ErrSyntax = errors.New("strictjson: not JSON")
	// ErrDuplicate says that an object has two members of one name.
	ErrDuplicate = errors.New("strictjson: duplicate member")
	// ErrUnicode says that a string is not valid UTF-8, or escapes half of a surrogate
	// pair.
	ErrUnicode = errors.New("strictjson: invalid Unicode")
	// ErrLimit says that the document is longer or deeper than [Limits] allows.
	ErrLimit = errors.New("strictjson: limit exceeded")
	// ErrKind says that a value is of another kind than was asked for.
	ErrKind = errors.New("strictjson: wrong kind of value")
	// ErrFraction says that a number is no integer.
	ErrFraction = errors.New("strictjson: not an integer")
	// ErrOverflow says that a number is too large for the type that was asked for.
	ErrOverflow = errors.New("strictjson: number out of range")
)

// Error is a fault at one place of a document. Its text begins with the pointer,
// as in "/shape/0: must be an integer, got 1.5".
type Error struct {
	// Pointer is the JSON pointer (RFC 6901) of the value at fault; "" is the whole
	// document.
	Pointer string
	// Offset is the position of the fault in bytes from the beginning of the document
	// that was parsed, -1 where unknown.
	Offset int64
	// Err is what is wrong.
	Err error
}

// Error returns the pointer and what is wrong. A very long pointer is cut in the middle.
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
		return &Error{pointer + e.Pointer, e.Offset, err}
	}
	return &Error{pointer, -1, err}
}

// Abbreviate returns s for use in a message: in full where it is short, else its
// beginning and end. Control characters are escaped. A document may have megabytes of
// text at any place, so every text of one that a message quotes passes through here,
// unless its length is bounded.
func Abbreviate[T ~string | ~[]byte](text T) string {
	const most = 256
	var s string
	if len(text) > most {
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

// reason is a message of one of the package's kinds; the kind shows in errors.Is and not
// in the text.
type reason struct {
	kind error
	text string
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.kind }

func because(kind error, format string, args ...any) error {
	return &reason{kind, fmt.Sprintf(format, args...)}
}
