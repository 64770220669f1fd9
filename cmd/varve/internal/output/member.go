// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
)

// writeMembers writes a struct as an object with one line per member, and more members
// after it. encoding/json would hold all of the text several times. This holds the text
// of one member at a time, and none of a [printer].
func writeMembers(w *bufio.Writer, object reflect.Value, more ...Member) error {
	separator := "{\n  "
	write := func(m Member) error {
		w.WriteString(separator) // the error of a bufio.Writer stays until the next call
		separator = ",\n  "
		w.Write(Text(m.Name))
		w.WriteString(": ")
		return writeMember(w, m.Value)
	}
	for _, f := range jsonFields(object.Type(), nil) {
		m, ok := f.memberOf(object)
		if !ok {
			continue
		}
		if err := write(m); err != nil {
			return err
		}
	}
	for _, m := range more {
		if err := write(m); err != nil {
			return err
		}
	}
	_, err := w.WriteString("\n}\n")
	return err
}

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value any
}

// appendTo appends the member to the text of an object that has members.
func (m Member) appendTo(object []byte) ([]byte, error) {
	text, err := Encoded(m.Value)
	object = append(object[:len(object)-1], ',')
	object = append(append(object, Text(m.Name)...), ':')
	return append(append(object, text...), '}'), err
}

// Extend adds a member to the text of an object in canonical layout, which has none of
// that name. It returns any other text as it is.
func Extend(document []byte, m Member) ([]byte, error) {
	head, isObject := bytes.CutSuffix(document, []byte("\n}\n"))
	separator := ",\n  "
	if bytes.Equal(document, []byte("{}\n")) {
		head, isObject, separator = document[:1], true, "\n  "
	}
	if !isObject {
		return document, nil
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	w.Write(head) // the error of a bufio.Writer stays until the next call
	w.WriteString(separator)
	w.Write(Text(m.Name))
	w.WriteString(": ")
	if err := writeMember(w, m.Value); err != nil {
		return nil, err
	}
	w.WriteString("\n}\n")
	err := w.Flush()
	return b.Bytes(), err
}

// field is a struct field that becomes a member.
type field struct {
	name      string // of the member
	omitEmpty bool
	index     []int // as in [reflect.Value.FieldByIndex]
}

// jsonFields returns the fields of struct type t and of its embedded structs, as
// encoding/json would choose them. at is the index of t in the document. Two members of
// one name are not supported.
func jsonFields(t reflect.Type, at []int) (fields []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			fields = append(fields, jsonFields(inner, index)...)
		case name != "-" && f.IsExported():
			fields = append(fields, field{cmp.Or(name, f.Name), options == "omitempty", index})
		}
	}
	return fields
}

// memberOf returns the member for a field, or false if the field has none.
func (f field) memberOf(object reflect.Value) (m Member, ok bool) {
	v, err := object.FieldByIndexErr(f.index)
	if err != nil { // the embedded pointer is nil
		return m, false
	}
	if f.omitEmpty && isEmpty(v) {
		return m, false
	}
	return Member{f.name, v.Interface()}, true
}

// isEmpty reports whether encoding/json omits v under the option omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct, reflect.Array:
		return false
	}
	return v.IsZero()
}

// printer is a value that writes its own JSON as the value of a member, in canonical
// layout.
type printer interface{ PrintJSON(w *bufio.Writer) error }

// writeMember writes the value of a member.
func writeMember(w *bufio.Writer, v any) error {
	switch v := v.(type) {
	case printer:
		return v.PrintJSON(w)
	case json.RawMessage:
		if v != nil {
			return strictjson.WriteIndent(w, v, 1)
		}
	}
	text, err := Encoded(v)
	if err != nil {
		return err
	}
	return strictjson.WriteIndent(w, text, 1)
}

// Late is a long value whose text is made only when it is written.
type Late func() []byte

// MarshalJSON implements [json.Marshaler].
func (l Late) MarshalJSON() ([]byte, error) { return l(), nil }

// PrintJSON writes the value in canonical layout.
func (l Late) PrintJSON(w *bufio.Writer) error { return strictjson.WriteIndent(w, l(), 1) }

// Names is a sequence of names that is written while it is read, because it may be very
// long.
type Names iter.Seq[string]

// PrintJSON writes the names on one line.
func (n Names) PrintJSON(w *bufio.Writer) error {
	w.WriteByte('[') // the error of a bufio.Writer stays until the next call
	separator := ""
	for name := range n {
		text, err := Encoded(name)
		if err != nil {
			return err
		}
		w.WriteString(separator)
		separator = ", "
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}

// Encoded returns v as encoding/json encodes it, without escapes for HTML.
func Encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Sizes are the chunk lengths along all axes. JSON has for each axis a list of [size,
// count] runs, or null if the list is too long. The lists may be much longer than the
// rest of the document, so they are written as they are computed.
type Sizes []grid.Axis

// SizesOf returns the chunk lengths of a grid.
func SizesOf(g *grid.Grid) Sizes {
	s := make(Sizes, g.Rank())
	for i := range s {
		s[i] = g.Axis(i)
	}
	return s
}

// IsListed reports whether the runs of an axis are few enough to be listed.
func IsListed(a grid.Axis) bool {
	for range a.Logical() {
		return true
	}
	return false
}

// MarshalJSON implements [json.Marshaler].
func (s Sizes) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := s.PrintJSON(w); err != nil {
		return nil, err
	}
	err := w.Flush()
	return b.Bytes(), err
}

// PrintJSON implements [printer].
func (s Sizes) PrintJSON(w *bufio.Writer) error {
	if s == nil {
		_, err := w.WriteString("null")
		return err
	}
	begin, between, end := "[", ", ", "]"
	if slices.ContainsFunc(s, IsListed) { // canonical layout gives each list in a list a line
		begin, between, end = "[\n    ", ",\n    ", "\n  ]"
	}
	w.WriteString(begin) // the error of a bufio.Writer stays until the next call
	for i, a := range s {
		if i > 0 {
			w.WriteString(between)
		}
		if err := printSizes(w, a); err != nil {
			return err
		}
	}
	_, err := w.WriteString(end)
	return err
}

// printSizes writes the runs of one axis on one line.
func printSizes(w *bufio.Writer, a grid.Axis) error {
	if a.Chunks() > 0 && !IsListed(a) {
		_, err := w.WriteString("null")
		return err
	}
	w.WriteByte('[') // the error of a bufio.Writer stays until the next call
	var text []byte
	for r := range a.Logical() {
		text = strconv.AppendInt(append(text, '['), r.Length, 10)
		text = strconv.AppendInt(append(text, ", "...), r.Count, 10)
		if _, err := w.Write(append(text, ']')); err != nil {
			return err
		}
		text = append(text[:0], ", "...)
	}
	return w.WriteByte(']')
}
