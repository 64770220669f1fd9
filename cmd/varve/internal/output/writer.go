// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"encoding/json"
	"io"
	"reflect"

	"varve.dev/zarr/internal/strictjson"
)

// WriteJSON writes v as a document in canonical layout, with more members after those of
// v.
func WriteJSON(w io.Writer, v any, more ...Member) error {
	b := bufio.NewWriterSize(NewScreen(w), 1<<16)
	var err error
	if object := reflect.Indirect(reflect.ValueOf(v)); object.Kind() == reflect.Struct {
		err = writeMembers(b, object, more...)
	} else {
		err = writeText(b, v, more...)
	}
	if err != nil {
		return err // a short document has not appeared at all
	}
	return b.Flush()
}

// writeText is WriteJSON for a map or a list, which it encodes as a whole first.
func writeText(w *bufio.Writer, v any, more ...Member) error {
	text, err := Encoded(v)
	if err != nil {
		return err
	}
	for _, m := range more {
		if text, err = m.appendTo(text); err != nil {
			return err
		}
	}
	if err := strictjson.WriteIndent(w, text, 0); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// Text returns a text or a list of numbers as JSON.
func Text(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null") // neither kind of value fails
	}
	return b
}

// Present returns a pointer to s, or nil for the empty text.
func Present(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
