package metadata

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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
	if errors.Is(err, ErrUnsupported) {
		r.refused, err = err, nil
		var name bytes.Buffer
		_ = json.Compact(&name, v.Raw()) // it is JSON
		r.elements = elementV2{ext: Extension{Name: strictjson.Abbreviate(name.String())}}
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
func typeExtension(t dtype.Type) Extension {
	return Extension{Name: t.Name(), Configuration: t.Configuration()}
}

// structuredV2 reads a structured type: a list of fields, each a list of a name and a type, which may be structured too.
func structuredV2(v strictjson.Value) (e elementV2, err error) {
	s := &structV2{}
	if e.typ, err = s.read(v); err != nil {
		return e, err
	}
	if s.big && s.little {
		return e, v.Errorf("%w", unsupported("a structured type of which some fields are in little-endian and some in big-endian order"))
	}
	e.ext, e.big, e.text = typeExtension(e.typ), s.big, true
	return e, nil
}

// structV2 is what the fields of a structured type have shown so far.
type structV2 struct{ big, little bool }

func (s *structV2) read(v strictjson.Value) (dtype.Type, error) {
	var fields []dtype.Field
	for i, m := range v.Elements() {
		f, err := s.field(m)
		if err != nil {
			return dtype.Type{}, err
		}
		if f.Name == "" {
			f.Name = fmt.Sprintf("f%d", i) // as NumPy calls padding
		}
		fields = append(fields, f)
	}
	t, err := dtype.StructOf(fields...)
	if errors.Is(err, dtype.ErrUnsupported) {
		err = unsupported(err.Error())
	}
	if err != nil {
		err = v.Errorf("%w", err)
	}
	return t, err
}

// field reads a list of a name, a type, and no shape.
func (s *structV2) field(v strictjson.Value) (f dtype.Field, err error) {
	if v.Kind() != strictjson.Array || v.Len() < 2 || v.Len() > 3 {
		return f, v.Errorf("a field must be a list of a name and a type, got %s", strictjson.Abbreviate(string(v.Raw())))
	}
	for i, e := range v.Elements() {
		switch {
		case i == 0:
			f.Name, err = e.Str()
		case i == 1:
			f.Type, err = s.typ(e)
		case e.Kind() == strictjson.Array && e.Len() > 0 || e.Kind() == strictjson.Number:
			err = e.Errorf("%w", unsupportedf("field %q is an array of shape %s", strictjson.Abbreviate(f.Name), strictjson.Abbreviate(string(e.Raw()))))
		case e.Kind() != strictjson.Array:
			err = e.Errorf("the shape of a field must be an array, got %s", e.Kind())
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

func (s *structV2) typ(v strictjson.Value) (dtype.Type, error) {
	if v.Kind() == strictjson.Array {
		return s.read(v)
	}
	text, err := v.Str()
	if err != nil {
		return dtype.Type{}, err
	}
	t, big, err := dtype.FromNumPy(text)
	if errors.Is(err, dtype.ErrUnsupported) {
		err = unsupported(err.Error())
	}
	if err != nil {
		return t, v.Errorf("%w", err)
	}
	if t.Ordered() {
		s.big, s.little = s.big || big, s.little || !big
	}
	return t, nil
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
	switch e.typ.Kind() {
	case dtype.Int, dtype.Uint, dtype.Float, dtype.Datetime, dtype.Timedelta:
		return true
	}
	return false
}

// fillV3 returns the fill value as format 3 spells it.
func (e *elementV2) fillV3(v strictjson.Value) ([]byte, error) {
	n, err := v.Float64()
	isNull, isZero := v.Kind() == strictjson.Null, err == nil && n == 0 && !e.isNumber()
	switch {
	case e.object && (isNull || isZero):
		return []byte(`""`), nil
	case e.typ.IsZero():
		return v.Raw(), nil
	case isNull:
		return e.format(v, e.typ.Default())
	case isZero:
		return e.format(v, make([]byte, e.typ.Size()))
	case e.text:
		return e.fillText(v)
	}
	return v.Raw(), nil
}

// format returns the fill value of an element.
func (e *elementV2) format(v strictjson.Value, element []byte) ([]byte, error) {
	fill, err := e.typ.FormatFill(element)
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
	if len(stored) < len(element) && e.typ.Kind() != dtype.Terminated {
		return nil, v.Errorf("the fill value has %d bytes, an element has %d", len(stored), len(element))
	}
	copy(element, stored)
	if e.big == dtype.LittleEndian() {
		e.typ.Swap(element, element)
	}
	return e.format(v, element)
}

// appendDescr appends the data type as format 2 has it, in a byte order. It is not ok where NumPy has no such type.
func appendDescr(dst []byte, t dtype.Type, big bool) (descr []byte, ok bool) {
	if t.Kind() != dtype.Struct {
		s, ok := t.NumPy()
		if big {
			s = strings.Replace(s, "<", ">", 1)
		}
		return strictjson.AppendQuote(dst, s), ok
	}
	dst = append(dst, '[')
	for i, f := range t.Fields() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strictjson.AppendQuote(append(dst, '['), f.Name), ',')
		if dst, ok = appendDescr(dst, f.Type, big); !ok {
			return dst, false
		}
		dst = append(dst, ']')
	}
	return append(dst, ']'), true
}

// fillV2 returns the fill value as format 2 spells it.
func (e *elementV2) fillV2(element []byte) ([]byte, error) {
	switch e.typ.Kind() {
	case dtype.Raw, dtype.Terminated, dtype.Struct:
		if e.big == dtype.LittleEndian() {
			e.typ.Swap(element, element)
		}
		return fmt.Appendf(nil, "%q", base64.StdEncoding.EncodeToString(element)), nil
	case dtype.Datetime, dtype.Timedelta:
		return strconv.AppendInt(nil, int64(binary.NativeEndian.Uint64(element)), 10), nil
	}
	fill, err := e.typ.FormatFill(element)
	switch {
	case err != nil:
		return nil, &Error{"/fill_value", err}
	case bytes.Contains(fill, []byte(`"0x`)):
		return nil, cannotV2("/fill_value", "a NaN other than the one that it calls NaN, as %s", fill)
	}
	return fill, nil
}
