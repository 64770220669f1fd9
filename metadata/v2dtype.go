package metadata

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
)

// elementV2 is the data type of an array of format 2 (zarr-specs v2, "Data type encoding").
type elementV2 struct {
	typ dtype.Type // zero where it is not known here, and for objects
	ext Extension  // as format 3 has it
	big bool       // its numbers are stored in big-endian order
	// object says that elements are of variable width, and that a filter decides what they are.
	object bool
	// text says that fill values are texts in base64: those of bytes and of structured types.
	text bool
}

// dtype reads the data type. One that is not known stands under the name that it has.
func (r *readerV2) dtype() error {
	v, err := r.required(v2DType)
	if err != nil {
		return err
	}
	r.array.v2.dtype = v.Raw()
	if v.Kind() == strictjson.Array {
		r.elements, err = structuredV2(v)
	} else {
		r.elements, err = plainV2(v)
	}
	r.array.DataType = r.elements.ext
	return err
}

// plainV2 reads a type string, as "<i4".
func plainV2(v strictjson.Value) (e elementV2, err error) {
	text, err := v.Str()
	if err != nil {
		return e, err
	}
	e.object = text == "|O"
	e.text = len(text) > 1 && (text[1] == 'S' || text[1] == 'V')
	if e.object {
		return e, nil // the filters tell
	}
	e.typ, e.big, err = dtype.FromNumPy(text)
	switch {
	case errors.Is(err, dtype.ErrUnsupported):
		e.ext = Extension{Name: text}
		return e, nil
	case err != nil:
		return e, v.Errorf("%w", err)
	}
	e.ext = typeExtension(e.typ)
	return e, nil
}

// typeExtension returns a data type as format 3 has it.
func typeExtension(t dtype.Type) Extension { return Extension{Name: t.Name()} }

// structuredV2 reads the list of the fields of a structured type.
func structuredV2(v strictjson.Value) (e elementV2, err error) {
	return e, v.Errorf("%w", unsupported("structured data types"))
}

// fill reads the fill value. Null, which promises nothing, is the zero of the type, and NaT for dates, as in zarr-python 3.4.1.
func (r *readerV2) fill() error {
	v, err := r.required(v2Fill)
	if err != nil {
		return err
	}
	r.array.v2.fill = v.Raw()
	r.array.FillValue, err = r.elements.fillV3(v)
	if n, notNumber := v.Float64(); err == nil && notNumber == nil && n == 0 && !r.elements.isNumber() {
		r.array.v2.notes = append(r.array.v2.notes, "the fill value 0 of elements that are no numbers was read as an empty one (zarr-python 2 writes it)")
	}
	return err
}

// isNumber reports whether fill values of the type are numbers, or unknown.
func (e *elementV2) isNumber() bool {
	switch {
	case e.object || e.text:
		return false
	case e.typ.IsZero():
		return true
	}
	zero, err := e.typ.FormatFill(make([]byte, e.typ.Size()))
	return err == nil && (zero[0] == '-' || zero[0]-'0' < 10)
}

// fillV3 returns the fill value as format 3 spells it.
func (e *elementV2) fillV3(v strictjson.Value) ([]byte, error) {
	n, err := v.Float64()
	empty := v.Kind() == strictjson.Null || err == nil && n == 0 && !e.isNumber()
	switch {
	case e.object && empty:
		return []byte(`""`), nil
	case e.typ.IsZero():
		return v.Raw(), nil
	case empty:
		return e.formatZero(v)
	case e.text:
		return e.fillText(v)
	}
	return v.Raw(), nil
}

// formatZero returns the fill value of a type where its document has none.
func (e *elementV2) formatZero(v strictjson.Value) ([]byte, error) {
	fill, err := e.typ.FormatFill(make([]byte, e.typ.Size()))
	if err != nil {
		return nil, v.Errorf("%w", err)
	}
	return fill, nil
}

// fillText reads an element in base64. A text that is shorter than the element is padded with zeros.
func (e *elementV2) fillText(v strictjson.Value) ([]byte, error) {
	text, err := v.Str()
	if err != nil {
		return nil, err
	}
	element := make([]byte, e.typ.Size())
	stored, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(stored) > len(element) {
		return nil, v.Errorf("the fill value has to be at most %d bytes in base64, got %q", len(element), strictjson.Abbreviate(text))
	}
	copy(element, stored)
	fill, err := e.typ.FormatFill(element)
	if err != nil {
		return nil, v.Errorf("%w", err)
	}
	return fill, nil
}

// numPyV2 returns the type string of a type in a byte order.
func numPyV2(t dtype.Type, big bool) (string, bool) {
	s, ok := t.NumPy()
	if big {
		s = strings.Replace(s, "<", ">", 1)
	}
	return s, ok
}

// fillV2 returns the fill value as format 2 spells it.
func (e *elementV2) fillV2(element []byte) ([]byte, error) {
	fill, err := e.typ.FormatFill(element)
	if err != nil {
		return nil, &Error{"/fill_value", err}
	}
	if e.typ.Kind() == dtype.Raw {
		return fmt.Appendf(nil, "%q", base64.StdEncoding.EncodeToString(element)), nil
	}
	if bytes.Contains(fill, []byte(`"0x`)) {
		return nil, cannotV2("/fill_value", "a NaN other than the one that it calls NaN, as %s", fill)
	}
	return fill, nil
}
