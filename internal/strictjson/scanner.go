// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"fmt"
	"sync"
)

// Parse checks that data is one JSON document within the limits. It returns the value,
// which points into data; the bytes must not be changed while it is in use. Errors are of
// type [*Error] and wrap [ErrSyntax], [ErrDuplicate], [ErrUnicode] or [ErrLimit].
func Parse(data []byte, l Limits) (Value, error) {
	if err := l.Check(len(data)); err != nil {
		return Value{}, err
	}
	s := scanners.Get().(*scanner)
	defer s.release()
	s.data, s.depth, s.repeated = data, l.depth(), l.Repeated
	start := space(data, 0)
	end := s.value(start)
	if end >= 0 {
		if after := space(data, end); after < len(data) {
			s.fail(after, ErrSyntax, "unexpected data behind the document")
		}
	}
	if s.err != nil {
		return Value{}, s.err
	}
	return (&document{data}).value(start, end), nil
}

// Parsed returns the value of a document, or of a value within one, that [Parse] has
// accepted before. It does not check the bytes again.
func Parsed(data []byte) Value {
	data = bytes.TrimSpace(data)
	return (&document{data}).value(0, len(data))
}

// scanners pools scanners with their buffers for names. Most documents are so short that
// allocating the buffers would take as long as parsing.
var scanners = sync.Pool{New: func() any { return &scanner{keys: make([]key, 0, fewKeys)} }}

const (
	fewKeys  = 32      // initial capacity for names
	mostRoom = 1 << 12 // names and bytes beyond which a buffer is not pooled
)

// release returns the scanner to the pool without references to the document.
func (s *scanner) release() {
	if cap(s.keys) <= mostRoom && cap(s.text) <= mostRoom {
		*s = scanner{keys: s.keys[:0], text: s.text[:0]}
		scanners.Put(s)
	}
}

// scanner validates a document. Its methods take the offset at which something begins and
// return the offset after it, or -1 once err is set.
type scanner struct {
	data  []byte
	depth int    // remaining nesting depth
	keys  []key  // member names of the open objects
	text  []byte // buffer for unescaped names
	err   error

	repeated string // pointer of the object that may repeat names, until the scanner has found it
	inName   bool   // a name is scanned, which may have halves of surrogate pairs
	half     int    // offset behind the backslash of such a half, 0 if there is none
	loose    int    // begin of the keys of the object with halves, plus one; -1 after it
}

func (s *scanner) value(i int) int {
	switch c := s.at(i); c {
	case '"':
		return s.string(i)
	case '[':
		return s.array(i)
	case '{':
		return s.object(i)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	default:
		if c == '-' || isDigit(c) {
			return s.number(i)
		}
		return s.unexpected(i, "a value")
	}
}

func (s *scanner) literal(i int, word string) int {
	if !bytes.HasPrefix(s.data[i:], []byte(word)) {
		return s.unexpected(i, "a value")
	}
	return i + len(word)
}

func (s *scanner) array(i int) int {
	if !s.enter(i) {
		return -1
	}
	i = space(s.data, i+1)
	if s.at(i) == ']' {
		return s.leave(i)
	}
	for {
		if i = s.value(i); i < 0 {
			return -1
		}
		i = space(s.data, i)
		switch s.at(i) {
		case ',':
			i = space(s.data, i+1)
		case ']':
			return s.leave(i)
		default:
			return s.unexpected(i, "',' or ']'")
		}
	}
}

func (s *scanner) object(i int) int {
	if !s.enter(i) {
		return -1
	}
	first := len(s.keys)
	i = space(s.data, i+1)
	if s.at(i) == '}' {
		return s.leave(i)
	}
	for {
		if i = s.member(i, first); i < 0 {
			return -1
		}
		switch s.at(i) {
		case ',':
			i = space(s.data, i+1)
		case '}':
			// Check the names of an object once all are known.
			if !s.unique(first) {
				return -1
			}
			s.keys = s.keys[:first]
			if s.loose == first+1 {
				s.loose = -1
			}
			return s.leave(i)
		default:
			return s.unexpected(i, "',' or '}'")
		}
	}
}

// member scans a name, a colon, a value and the white space after it. first is the begin
// of the keys of its object.
func (s *scanner) member(i, first int) int {
	if s.at(i) != '"' {
		return s.unexpected(i, "a member name in double quotes")
	}
	s.inName, s.half = s.repeated != "", 0
	end := s.string(i)
	s.inName = false
	if end < 0 {
		return -1
	}
	if s.half > 0 && !s.mayHaveHalves(i, first) {
		return s.failHalf(s.half - 1)
	}
	s.keys = append(s.keys, s.key(i, end))
	i = space(s.data, end)
	if s.at(i) != ':' {
		return s.unexpected(i, "':'")
	}
	if i = s.value(space(s.data, i+1)); i < 0 {
		return -1
	}
	return space(s.data, i)
}

func (s *scanner) enter(i int) bool {
	if s.depth == 0 {
		s.fail(i, ErrLimit, "nested deeper than is allowed")
		return false
	}
	// The scanner is recursive, so the limit also bounds the stack.
	s.depth--
	return true
}

func (s *scanner) leave(i int) int {
	s.depth++
	return i + 1
}

// at returns the byte at i, or 0 after the end: a NUL byte is not allowed anywhere.
func (s *scanner) at(i int) byte {
	if i < len(s.data) {
		return s.data[i]
	}
	return 0
}

func (s *scanner) fail(i int, kind error, format string, args ...any) int {
	text := fmt.Sprintf(format, args...)
	s.err = &Error{pointer(s.data, i), int64(i), because(kind, "%s (byte %d)", text, i)}
	return -1
}

func (s *scanner) unexpected(i int, want string) int {
	rest := s.data[min(i, len(s.data)):]
	switch {
	case len(rest) == 0 && len(bytes.TrimSpace(s.data)) == 0:
		return s.fail(i, ErrSyntax, "the document is empty")
	case len(rest) == 0:
		return s.fail(i, ErrSyntax, "the document ends where %s is expected", want)
	// RFC 8259 forbids writers to add a byte order mark.
	case bytes.HasPrefix(rest, []byte("\xef\xbb\xbf")):
		return s.fail(i, ErrSyntax, "byte order mark where %s is expected", want)
	}
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			return s.fail(i, ErrSyntax, "%s is not JSON, although some writers produce it; write the string %q", word, word)
		}
	}
	return s.fail(i, ErrSyntax, "unexpected %q where %s is expected", rest[:1], want)
}
