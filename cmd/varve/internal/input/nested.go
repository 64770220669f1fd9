// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"
	"io"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/strictjson"
)

const (
	maxDepth = 66 // levels of lists: 64 axes, and an element that is a list
)

// openJSON reads nested lists of values in the spelling of fill values, or of times in
// the form for people.
func (v *Values) openJSON() error {
	if v.Type.IsZero() {
		return failure.BadArgument("%s: JSON does not define a data type; give --dtype", v.Name)
	}
	// One byte more than the limit shows that the text is too long.
	text, err := io.ReadAll(io.LimitReader(v.Reader, localfile.MaxText+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", v.Name, err)
	}
	if len(text) > localfile.MaxText {
		return fmt.Errorf("%w: %s has more than %s of JSON", zarr.ErrLimit, v.Name, phrase.Bytes(localfile.MaxText))
	}
	doc, err := strictjson.Parse(text, strictjson.Limits{Size: localfile.MaxText, Depth: maxDepth})
	if err != nil {
		return failure.BadArgument("%s: %w", v.Name, err)
	}
	v.Shape = nestedShape(doc, v.Type)
	e := export.Values{Type: v.Type}
	if err := appendNested(&e, doc, v.Shape); err != nil {
		return failure.BadArgument("%s: %w", v.Name, err)
	}
	v.provide(e)
	return nil
}

// nestedShape returns the shape of nested lists, from their first elements.
func nestedShape(doc strictjson.Value, t dtype.Type) []int64 {
	shape := []int64{}
	for doc.Kind() == strictjson.Array {
		n := int64(doc.Len())
		shape = append(shape, n)
		if n == 0 {
			return shape
		}
		// Follow the first element. appendNested finds lists of other lengths.
		for _, first := range doc.Elements() {
			doc = first
			break
		}
	}
	// The innermost list is an element, not an axis.
	if isList(t, doc) && len(shape) > 0 {
		return shape[:len(shape)-1]
	}
	return shape
}

// isList reports whether an element of a type is a list of numbers. first is the first
// element, because elements of bytes may also be text.
func isList(t dtype.Type, first strictjson.Value) bool {
	switch t.Kind() {
	case dtype.KindComplex:
		return true
	case dtype.KindRaw, dtype.KindBytes, dtype.KindTerminated:
		return first.Kind() != strictjson.String
	}
	return false
}

// parseValue parses a value in the spelling of metadata. Times and durations may also be
// in the form for people.
func parseValue(t dtype.Type, v strictjson.Value) ([]byte, error) {
	if k := t.Kind(); v.Kind() == strictjson.String && (k == dtype.KindDatetime || k == dtype.KindTimedelta) {
		return t.ParseText(string(v.Raw()))
	}
	elem, err := t.ParseFill(v.Raw())
	if err != nil {
		return nil, &elementError{err}
	}
	return elem, refuseOverflow(t, elem, string(v.Raw()))
}

// elementError is the error for an invalid element in the spelling of a fill value.
type elementError struct{ err error }

func (e *elementError) Unwrap() error { return e.err }

func (e *elementError) Error() string {
	return strings.Replace(e.err.Error(), ": fill value ", ": value ", 1)
}

// appendNested appends the elements of nested lists of the given shape.
func appendNested(e *export.Values, doc strictjson.Value, shape []int64) error {
	if len(shape) == 0 {
		elem, err := parseValue(e.Type, doc)
		switch {
		case err != nil:
			return doc.Errorf("%w", err)
		case e.Type.Variable():
			e.Words = append(e.Words, elem)
		default:
			e.Data = append(e.Data, elem...)
		}
		return nil
	}
	if doc.Kind() != strictjson.Array || int64(doc.Len()) != shape[0] {
		has := "but found no list"
		if doc.Kind() == strictjson.Array {
			has = fmt.Sprintf("but found %d", doc.Len())
		}
		return doc.Errorf("expected a list of %d, %s", shape[0], has)
	}
	for _, below := range doc.Elements() {
		if err := appendNested(e, below, shape[1:]); err != nil {
			return err
		}
	}
	return nil
}
