// SPDX-License-Identifier: Apache-2.0

// Package strictjson parses untrusted JSON. It refuses duplicate member names, invalid
// UTF-8, lone surrogates, trailing data, and documents beyond its limits of size and
// depth. [Parse] makes one pass over the bytes and builds no tree. A [Value] points into
// the document.
//
//	v, err := strictjson.Parse(data, strictjson.Limits{})
//	shape, _ := v.Member("shape")
//	for _, e := range shape.Elements() {
//		n, err := e.Int64() // 4, 4.0 and 4e0 are integers; "4" and true are not
//	}
//
// Errors are of type [*Error] and have the JSON pointer of the value. The pointer is
// computed from the byte offset when an error occurs, so valid documents pay nothing for
// it.
//
// Parse takes O(n log n) time for any n bytes. Its memory is that of the member names of
// all open objects. Methods of a value take time proportional to its length.
package strictjson

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
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
	if bytes.HasPrefix(s.data[i:], []byte(word)) {
		return i + len(word)
	}
	if strings.HasPrefix(word, string(s.rest(i))) {
		return s.cutOff(i, "within "+word)
	}
	return s.unexpected(i, "a value")
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
	s.err = &Error{pointer(s.data, i), int64(i), reasonf(kind, "%s (byte %d)", text, i)}
	return -1
}

// rest returns the bytes from i on, without white space and zero bytes at the end.
func (s *scanner) rest(i int) []byte {
	return bytes.TrimRight(s.data[min(i, len(s.data)):], " \t\r\n\x00")
}

// cutOff fails because the document ends at i.
func (s *scanner) cutOff(i int, where string) int {
	return s.fail(i, ErrCutOff, "the document is cut off: it ends %s", where)
}

func (s *scanner) unexpected(i int, want string) int {
	rest := s.data[min(i, len(s.data)):]
	switch {
	case len(bytes.TrimSpace(s.data)) == 0:
		return s.fail(i, ErrCutOff, "the document is empty")
	case len(s.rest(0)) == 0:
		return s.fail(i, ErrCutOff, "the document has only zero bytes")
	case len(s.rest(i)) == 0:
		return s.cutOff(i, "where "+want+" is expected")
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

// following returns the offset of the value or bracket that follows the value ending at
// i.
func following(doc []byte, i int) int {
	i = space(doc, i)
	if doc[i] == ',' {
		i = space(doc, i+1)
	}
	return i
}

// seed makes the hashes of member names unpredictable, so that no document can force
// collisions.
var seed = maphash.MakeSeed()

// key identifies a member name: the high half is the hash of the unescaped text, the low
// half its offset. Eight bytes suffice, so keys take hardly more memory than the shortest
// members. As a single number it sorts by hash and then by position, twice as fast as a
// pair.
type key uint64

func (s *scanner) key(i, end int) key {
	hash := maphash.Bytes(seed, s.name(i, end))
	return key(hash<<32 | uint64(uint32(i))) // documents have less than 2 GiB
}

func (k key) hash() uint32 { return uint32(k >> 32) }
func (k key) off() int     { return int(uint32(k)) }

// name returns the unescaped text of the string in [i, end). It is valid until the next
// call.
func (s *scanner) name(i, end int) []byte {
	raw := s.data[i+1 : end-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	s.text = appendUnescaped(s.text[:0], raw)
	return s.text
}

// unique reports whether all names from first on are different.
func (s *scanner) unique(first int) bool {
	keys := s.keys[first:]
	twice := -1
	if len(keys) <= fewNames {
		twice = s.twiceAmongFew(keys)
	} else {
		twice = s.twiceAmongMany(keys)
	}
	if twice < 0 || s.mayRepeat(twice) {
		return true
	}
	s.failTwice(twice)
	return false
}

// fewNames is the number of names up to which comparing all pairs is faster than sorting.
const fewNames = 12

// twiceAmongFew returns the offset of the first repeated name, or -1. It compares each
// name with all earlier ones.
func (s *scanner) twiceAmongFew(keys []key) int {
	for i := range keys {
		for j := range i {
			// Compare hashes first. The text must be unescaped for a comparison.
			if keys[i].hash() == keys[j].hash() && s.same(keys[i], keys[j]) {
				return keys[i].off()
			}
		}
	}
	return -1
}

// twiceAmongMany is twiceAmongFew for any number of names, which it sorts.
func (s *scanner) twiceAmongMany(keys []key) int {
	slices.Sort(keys)
	twice := -1
	for i := 1; i < len(keys); i++ {
		// Report the first repetition in the document, as twiceAmongFew does.
		if s.isKnown(keys, i) && (twice < 0 || keys[i].off() < twice) {
			twice = keys[i].off()
		}
	}
	return twice
}

// mayRepeat reports whether the object that contains the name at off may repeat names.
// Finding its pointer takes a pass over the document, so only one object may have this
// permission.
func (s *scanner) mayRepeat(off int) bool {
	if s.repeated == "" || pointer(s.data, off) != s.repeated {
		return false
	}
	s.repeated = ""
	return true
}

// mayHaveHalves reports whether the object that contains the name at off may have halves
// of surrogate pairs in its names. first is the begin of the keys of that object.
func (s *scanner) mayHaveHalves(off, first int) bool {
	if s.loose == 0 && pointer(s.data, off) == s.repeated {
		s.loose = first + 1
	}
	return s.loose == first+1
}

// isKnown reports whether one of the sorted keys before i has the same text. Different
// texts rarely have the same hash: some thousand pairs among ten million names.
func (s *scanner) isKnown(keys []key, i int) bool {
	for j := i - 1; j >= 0 && keys[j].hash() == keys[i].hash(); j-- {
		if s.same(keys[i], keys[j]) {
			return true
		}
	}
	return false
}

func (s *scanner) same(a, b key) bool {
	// name reuses its buffer, so keep the first text.
	x := bytes.Clone(s.name(a.off(), skipText(s.data, a.off())))
	return bytes.Equal(x, s.name(b.off(), skipText(s.data, b.off())))
}

func (s *scanner) failTwice(off int) {
	end := skipText(s.data, off)
	value := space(s.data, end) + 1
	name := Abbreviate(s.name(off, end))
	s.err = &Error{pointer(s.data, value), int64(off), reasonf(ErrDuplicate, "member %q is given twice (byte %d)", name, off)}
}
