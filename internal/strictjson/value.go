// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/internal/quantity"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the kind with its article, as in "an array".
func (k Kind) String() string {
	names := [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Value is a value of a document that [Parse] has accepted. It points into the document.
// The zero Value represents an absent value; its kind is Null.
type Value struct {
	doc        *document
	start, end uint32
}

// document holds the bytes. Values have a pointer to it, which keeps them at 16 bytes.
type document struct{ data []byte }

func (d *document) value(start, end int) Value { return Value{d, uint32(start), uint32(end)} }

// IsZero reports whether v is the zero Value.
func (v Value) IsZero() bool { return v.doc == nil }

// Kind returns the kind of v.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Null
	}
	return kinds[v.doc.data[v.start]]
}

var kinds = [256]Kind{
	'n': Null, 't': Bool, 'f': Bool, '"': String, '[': Array, '{': Object, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// Raw returns the bytes of v. They belong to the document and must not be changed. The
// zero Value has none.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	return v.doc.data[v.start:v.end:v.end]
}

// Offset returns the offset of v in its document in bytes.
func (v Value) Offset() int { return int(v.start) }

// Str returns the unescaped text of a string. For any other kind the error wraps
// [ErrKind].
func (v Value) Str() (string, error) {
	if v.Kind() != String {
		return "", v.not(String)
	}
	return unquote(v.Raw()), nil
}

// Bool returns the value of a boolean. For any other kind the error wraps [ErrKind].
func (v Value) Bool() (bool, error) {
	if v.Kind() != Bool {
		return false, v.not(Bool)
	}
	return v.doc.data[v.start] == 't', nil
}

// Len returns the number of elements of an array or members of an object, and 0 for any
// other kind. It takes time proportional to the length of v.
func (v Value) Len() int {
	n := 0
	switch v.Kind() {
	case Array:
		for range v.Elements() {
			n++
		}
	case Object:
		v.members(func(Value, Value) bool { n++; return true })
	}
	return n
}

// Elements returns the elements of an array with their indices, or none for any other
// kind. It does not allocate.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) { v.elements(yield) }
}

// Element returns the element of an array with the given index, or the zero Value if
// there is none.
func (v Value) Element(index int) Value {
	for i, e := range v.Elements() {
		if i == index {
			return e
		}
	}
	return Value{}
}

func (v Value) elements(yield func(int, Value) bool) {
	if v.Kind() != Array {
		return
	}
	d := v.doc.data
	i := space(d, int(v.start)+1)
	for n := 0; d[i] != ']'; n++ {
		end := digits(d, i) // fast path for numbers
		// Not a number, or one with a sign, point or exponent.
		if end == i || !ends[d[end]] {
			end = skip(d, i)
		}
		if !yield(n, v.doc.value(i, end)) {
			return
		}
		if i = end; d[i] != ']' {
			i = following(d, i)
		}
	}
}

// ShortPair returns the two elements of an array if they are integers of at most eight
// digits without a sign, as most pairs in documents are. If ok is false, the array may
// still be a pair of integers.
func (v Value) ShortPair() (first, second int64, ok bool) {
	if v.Kind() != Array {
		return 0, 0, false
	}
	d := v.doc.data
	i := space(d, int(v.start)+1)
	end := digits(d, i)
	first, ok = eightDigits(d[i:], end-i)
	if end = space(d, end); !ok || d[end] != ',' {
		return 0, 0, false
	}
	i = space(d, end+1)
	end = digits(d, i)
	second, ok = eightDigits(d[i:], end-i)
	return first, second, ok && space(d, end) == int(v.end)-1
}

// Members returns the members of an object in the order of the document, or none for any
// other kind.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		v.members(func(name, value Value) bool { return yield(unquote(name.Raw()), value) })
	}
}

// Named is Members without allocating the names. The names must not be changed and are
// valid as long as the document is.
func (v Value) Named() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		v.members(func(name, value Value) bool { return yield(unquoted(name.Raw()), value) })
	}
}

func (v Value) members(yield func(name, value Value) bool) {
	if v.Kind() != Object {
		return
	}
	d := v.doc.data
	i := space(d, int(v.start)+1)
	for d[i] != '}' {
		end := skipText(d, i)
		first := space(d, space(d, end)+1)
		last := skip(d, first)
		if !yield(v.doc.value(i, end), v.doc.value(first, last)) {
			return
		}
		i = following(d, last)
	}
}

// Member returns the member with the given name. It returns the zero Value and false if v
// is not an object or has no such member.
func (v Value) Member(name string) (Value, bool) {
	for n, m := range v.Named() {
		if string(n) == name {
			return m, true
		}
	}
	return Value{}, false
}

// Pointer returns the JSON pointer (RFC 6901) of v in its document, and "" for the zero
// Value.
func (v Value) Pointer() string {
	if v.doc == nil {
		return ""
	}
	return pointer(v.doc.data, v.Offset())
}

// Errorf returns an [*Error] at v with a message formatted as by [fmt.Errorf].
func (v Value) Errorf(format string, args ...any) error {
	return &Error{v.Pointer(), int64(v.start), fmt.Errorf(format, args...)}
}

func (v Value) not(want Kind) error {
	return v.Errorf("%w", reasonf(ErrKind, "must be %s, got %s", want, v.Kind()))
}

// Brief returns the text of v for a message; see [Abbreviate].
func (v Value) Brief() string { return Abbreviate(v.Raw()) }

// step is an open container on the path to a place in a document.
type step struct {
	object bool
	index  int  // of the current element
	name   int  // offset of the current member's name
	inside bool // after the colon of that member
}

// pointer returns the JSON pointer of the innermost value that contains offset off. The
// document must be well-formed up to there; the rest may be anything.
func pointer(doc []byte, off int) string {
	var path []step
	for i := 0; i < off; i++ {
		top := len(path) - 1
		switch doc[i] {
		case '[', '{':
			path = append(path, step{object: doc[i] == '{'})
		case ']', '}':
			path = path[:top]
		case ',':
			path[top].index++
			path[top].inside = false
		case ':':
			path[top].inside = true
		case '"':
			// A string before the colon is a name. In an array this sets a field that
			// spell ignores.
			if top >= 0 && !path[top].inside {
				path[top].name = i
			}
			i = skipText(doc, i) - 1
		}
	}
	return spell(doc, path)
}

func spell(doc []byte, path []step) string {
	var b []byte
	for _, s := range path {
		switch {
		case !s.object:
			b = strconv.AppendInt(append(b, '/'), int64(s.index), 10)
		case s.inside:
			b = append(b, Token(unquote(doc[s.name:skipText(doc, s.name)]))...)
		}
	}
	return string(b)
}

var tokenEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Token returns the part of a JSON pointer for a member, including the slash.
func Token(name string) string { return "/" + tokenEscapes.Replace(name) }

// AppendIndent appends the document or value raw in canonical layout: indented by two
// spaces, with empty containers as [] or {}. An array of scalars is on one line, even if
// some elements are arrays of at most two scalars, as in [10, 20, [5, 3]]. Strings and
// numbers keep their spelling. raw must be valid: [Parse] accepts it.
func AppendIndent(dst, raw []byte) []byte {
	p := printer{dst: dst, doc: raw}
	if i := space(raw, 0); i < len(raw) {
		p.value(i, 0)
	}
	return p.dst
}

// WriteIndent writes what [AppendIndent] appends, in small pieces, for a value at the
// given depth in its document. All lines but the first are indented accordingly.
func WriteIndent(w io.Writer, raw []byte, depth int) error {
	p := printer{dst: make([]byte, 0, 2*pieceSize), doc: raw, to: w}
	if i := space(raw, 0); i < len(raw) {
		p.value(i, depth)
	}
	p.flush()
	return p.err
}

// pieceSize is the number of bytes that a printer buffers.
const pieceSize = 8 << 10

type printer struct {
	dst, doc []byte
	to       io.Writer // nil if all output stays in dst
	err      error
}

// flush writes the buffer. After an error it only empties it.
func (p *printer) flush() {
	if p.err == nil {
		_, p.err = p.to.Write(p.dst)
	}
	p.dst = p.dst[:0]
}

// text appends text of the document in pieces, because a string may be nearly as long as
// the document.
func (p *printer) text(b []byte) {
	for p.to != nil && len(p.dst)+len(b) > pieceSize {
		n := min(len(b), max(0, pieceSize-len(p.dst)))
		p.dst = append(p.dst, b[:n]...)
		b = b[n:]
		p.flush()
	}
	p.dst = append(p.dst, b...)
}

// value writes the value at i and returns the offset after it.
func (p *printer) value(i, depth int) int {
	switch p.doc[i] {
	case '{':
		return p.lines(i, depth)
	case '[':
		if p.flat(i, -1) {
			return p.line(i)
		}
		return p.lines(i, depth)
	}
	return p.scalar(i)
}

func (p *printer) scalar(i int) int {
	end := skip(p.doc, i)
	p.text(p.doc[i:end])
	return end
}

// flat reports whether the array at i contains only scalars, and at most the given number
// of them. If most is -1, any number is allowed, and short arrays as well.
func (p *printer) flat(i, most int) bool {
	n := 0
	for i = space(p.doc, i+1); p.doc[i] != ']'; n++ {
		c := p.doc[i]
		// Only one level of nesting may be on a line, so that [10, 20, [5, 3]] is.
		if c == '{' || n == most || c == '[' && (most >= 0 || !p.flat(i, 2)) {
			return false
		}
		i = following(p.doc, skip(p.doc, i))
	}
	return true
}

// line writes the array at i on one line.
func (p *printer) line(i int) int {
	p.dst = append(p.dst, '[')
	i = space(p.doc, i+1)
	for p.doc[i] != ']' {
		if p.doc[i] == '[' {
			i = p.line(i)
		} else {
			i = p.scalar(i)
		}
		i = p.comma(i, " ")
	}
	p.dst = append(p.dst, ']')
	return i + 1
}

// lines writes the container at i with one element or member per line.
func (p *printer) lines(i, depth int) int {
	p.dst = append(p.dst, p.doc[i])
	i = space(p.doc, i+1)
	if c := p.doc[i]; c == ']' || c == '}' {
		p.dst = append(p.dst, c)
		return i + 1
	}
	p.newline(depth + 1)
	for c := p.doc[i]; c != ']' && c != '}'; c = p.doc[i] {
		i = p.item(i, depth+1)
		// After the last value there is no comma, and lines writes the newline below.
		if i = p.comma(i, ""); p.dst[len(p.dst)-1] == ',' {
			p.newline(depth + 1)
		}
	}
	p.newline(depth)
	p.dst = append(p.dst, p.doc[i])
	return i + 1
}

// item writes the value at i, preceded by its name if it is a member.
func (p *printer) item(i, depth int) int {
	if p.doc[i] == '"' {
		end := p.scalar(i)
		colon := space(p.doc, end)
		// A string without a colon is an element of an array.
		if p.doc[colon] != ':' {
			return end
		}
		p.dst = append(p.dst, ": "...)
		i = space(p.doc, colon+1)
	}
	return p.value(i, depth)
}

// comma advances from the end of a value to the next one or to the closing bracket, and
// writes the comma between them.
func (p *printer) comma(i int, behind string) int {
	i = space(p.doc, i)
	if p.doc[i] == ',' {
		p.dst = append(append(p.dst, ','), behind...)
		i = space(p.doc, i+1)
	}
	return i
}

func (p *printer) newline(depth int) {
	p.dst = append(p.dst, '\n')
	for range depth {
		p.dst = append(p.dst, "  "...)
	}
}

// The reasons for refusal. Every error of this package wraps one of them, except those
// that callers make with [Value.Errorf].
var (
	// ErrSyntax means that the bytes are not a JSON document (RFC 8259).
	ErrSyntax = errors.New("not JSON")
	// ErrCutOff is an [ErrSyntax] of a document that is empty or ends too early. White
	// space and zero bytes may follow: some file systems have those after a crash.
	ErrCutOff error = cutOff{}
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

// cutOff is the type of ErrCutOff.
type cutOff struct{}

func (cutOff) Error() string { return "the document is cut off" }
func (cutOff) Unwrap() error { return ErrSyntax }

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

func reasonf(kind error, format string, args ...any) error {
	return &reason{kind, fmt.Sprintf(format, args...)}
}

const (
	defaultSize  = 64 << 20
	defaultDepth = 64

	maxSize  = math.MaxInt32 // values store offsets in 32 bits
	maxDepth = 10000         // the scanner is recursive, and stacks of goroutines are finite
)

// Limits bounds the documents that are accepted. A field that is not positive means the
// default.
type Limits struct {
	// Size is the maximum size of a document in bytes. The default is 64 MiB, the
	// maximum 2 GiB minus one.
	Size int64
	// Depth is the maximum nesting of arrays and objects. The default is 64, the
	// maximum 10000.
	Depth int
	// Repeated is the JSON pointer of an object that may repeat names, or "" for
	// none. [Value.Members] yields all its members. Names in this object may also have
	// escapes of halves of surrogate pairs, as Python writes names of files that are not
	// UTF-8. Members yields such a half as the three bytes that it would have in UTF-8,
	// so the name is not valid UTF-8 and equals no other one; [AppendQuote] escapes it.
	Repeated string
}

func (l Limits) size() int64 {
	if l.Size <= 0 {
		return defaultSize
	}
	return min(l.Size, maxSize)
}

// Check returns the [*Error] with which [Parse] refuses a document of the given size, or
// nil.
func (l Limits) Check(bytes int) error {
	if size := l.size(); int64(bytes) > size {
		return &Error{Err: reasonf(ErrLimit, "document of %s, at most %d are allowed", quantity.Count(bytes, "bytes"), size)}
	}
	return nil
}

func (l Limits) depth() int {
	if l.Depth <= 0 {
		return defaultDepth
	}
	return min(l.Depth, maxDepth)
}

// AppendSafe appends a JSON document to dst and escapes characters that could take over a
// terminal. They occur in strings only, so the document means the same.
func AppendSafe(dst, document []byte) []byte {
	from := 0
	for i := 0; i < len(document); {
		c := document[i]
		// JSON itself escapes the control characters of ASCII except DEL.
		if c < utf8.RuneSelf && c != 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(document[i:])
		if IsUnsafe(r) {
			dst = fmt.Appendf(append(dst, document[from:i]...), `\u%04x`, r)
			from = i + n
		}
		i += n
	}
	return append(dst, document[from:]...)
}

// IsUnsafe reports whether a character controls a terminal or the direction of text.
func IsUnsafe(r rune) bool {
	return r == 0x7f || r >= 0x80 && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
