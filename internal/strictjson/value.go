// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"fmt"
	"iter"
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
			i = next(d, i)
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
		i = next(d, last)
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
	return v.Errorf("%w", because(ErrKind, "must be %s, got %s", want, v.Kind()))
}

// Brief returns the text of v for a message; see [Abbreviate].
func (v Value) Brief() string { return Abbreviate(v.Raw()) }
