package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"reflect"
	"strings"

	"varve.dev/zarr/internal/strictjson"
)

// writeMembers writes a struct as an object, with a line for every member and more of them behind.
// encoding/json would hold all text at once, several times; here it holds that of one member, and
// none of a member that is a [jsonPrinter].
func writeMembers(w *bufio.Writer, object reflect.Value, more ...jsonMember) error {
	separator := "{\n  "
	write := func(m jsonMember) error {
		w.WriteString(separator) // the error of a bufio.Writer stays until the next call
		separator = ",\n  "
		w.Write(jsonText(m.name))
		w.WriteString(": ")
		return writeMember(w, m.value)
	}
	for _, f := range reflect.VisibleFields(object.Type()) {
		m, ok := memberOf(object, f)
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

// jsonMember is a member of an object.
type jsonMember struct {
	name  string
	value any
}

// appendTo appends the member to the text of an object that has others.
func (m jsonMember) appendTo(object []byte) ([]byte, error) {
	text, err := encoded(m.value)
	object = append(object[:len(object)-1], ',')
	object = append(append(object, jsonText(m.name)...), ':')
	return append(append(object, text...), '}'), err
}

// memberOf returns the member for a field, as encoding/json has it. It returns false for fields
// that make none.
func memberOf(object reflect.Value, f reflect.StructField) (m jsonMember, ok bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	embedded := f.Anonymous && name == "" // its fields are members of the object
	if embedded || name == "-" || !f.IsExported() {
		return m, false
	}
	name = cmp.Or(name, f.Name)
	v, err := object.FieldByIndexErr(f.Index)
	if err != nil { // of an embedded struct that is not there
		return m, false
	}
	if options == "omitempty" && isEmpty(v) {
		return m, false
	}
	return jsonMember{name, v.Interface()}, true
}

// isEmpty reports whether encoding/json leaves out a value with the option omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct, reflect.Array:
		return false
	}
	return v.IsZero()
}

// jsonPrinter is a value that writes its JSON itself, in canonical layout, as the value of a
// member of the document.
type jsonPrinter interface{ printJSON(w *bufio.Writer) error }

// writeMember writes the value of a member.
func writeMember(w *bufio.Writer, v any) error {
	switch v := v.(type) {
	case jsonPrinter:
		return v.printJSON(w)
	case json.RawMessage:
		if v != nil {
			return strictjson.WriteIndent(w, v, 1)
		}
	}
	text, err := encoded(v)
	if err != nil {
		return err
	}
	return strictjson.WriteIndent(w, text, 1)
}

// lateJSON is a long value that is spelled when it is written, and forgotten then.
type lateJSON func() []byte

// MarshalJSON implements [json.Marshaler].
func (l lateJSON) MarshalJSON() ([]byte, error) { return l(), nil }

func (l lateJSON) printJSON(w *bufio.Writer) error { return strictjson.WriteIndent(w, l(), 1) }

// namesJSON is a list of names that are written as they are found: there may be very many.
type namesJSON iter.Seq[string]

func (n namesJSON) printJSON(w *bufio.Writer) error {
	w.WriteByte('[') // the error of a bufio.Writer stays until the next call
	separator := ""
	for name := range n {
		text, err := encoded(name)
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

// encoded returns v as encoding/json spells it, but for characters that matter to HTML.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
