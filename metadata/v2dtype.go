// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// dtype reads the data type. An unknown type keeps its name.
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
		_ = json.Compact(&name, v.Raw()) // cannot fail: it is JSON
		r.elements = elementV2{ext: Extension{Name: strictjson.Abbreviate(name.String())}}
	}
	r.array.DataType = r.elements.ext
	return err
}

// namedV2 lists data types that NumPy lacks and that TensorStore stores in format 2 by
// name, in little-endian order (tensorstore/driver/zarr/dtype.cc). Arrays with them can
// be read and appended to. No array is created with them, because no other program reads
// it.
var namedV2 = [...]string{
	"bfloat16", "int2", "int4", "float4_e2m1fn", "float8_e3m4", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
	"float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
}

// plainV2 reads a type string such as "<i4".
func plainV2(v strictjson.Value) (e elementV2, err error) {
	text, err := v.Str()
	if err != nil {
		return e, err
	}
	e.object = text == "|O"
	e.text = len(text) > 1 && (text[1] == 'S' || text[1] == 'V')
	if e.object {
		return e, nil // the filters give the type
	}
	if slices.Contains(namedV2[:], text) {
		e.typ, err = dtype.Parse(text, nil)
	} else {
		e.typ, e.big, err = dtype.FromNumPy(text)
	}
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

// typeExtension returns a data type in the form of format 3.
func typeExtension(t dtype.Type) Extension {
	return Extension{Name: t.Name(), Configuration: t.Configuration()}
}

// structuredV2 reads a structured type: a list of fields. Each field is a list of a name
// and a type, which may be structured itself.
func structuredV2(v strictjson.Value) (e elementV2, err error) {
	s := &structV2{}
	if e.typ, err = s.read(v); err != nil {
		return e, err
	}
	e.ext, e.big, e.text = typeExtension(e.typ), slices.Contains(s.orders, true), true
	if e.big && slices.Contains(s.orders, false) {
		e.orders = s.orders
	}
	return e, nil
}

// structV2 collects the common properties of the fields of a structured type.
type structV2 struct {
	orders []bool // byte orders of the fields that have one, true for big-endian
	leaves int    // fields that are not structs, counting every element of arrays
}

func (s *structV2) read(v strictjson.Value) (dtype.Type, error) {
	// Check before allocating memory for the fields.
	if v.Len() > maxArrayFields {
		return dtype.Type{}, v.Errorf("%w", unsupportedf("a struct of more than %s is not supported", quantity.Count(maxArrayFields, "fields")))
	}
	var fields []dtype.Field
	for i, m := range v.Elements() {
		f, err := s.field(m)
		if err != nil {
			return dtype.Type{}, err
		}
		if f.Name == "" {
			f.Name = fmt.Sprintf("f%d", i) // the name that NumPy gives it
		}
		fields = append(fields, f)
	}
	return structOf(v, fields)
}

// structOf returns the struct type for the value v.
func structOf(v strictjson.Value, fields []dtype.Field) (dtype.Type, error) {
	t, err := dtype.StructOf(fields...)
	if errors.Is(err, dtype.ErrUnsupported) {
		err = unsupported(err.Error())
	}
	if err != nil {
		err = v.Errorf("%w", err)
	}
	return t, err
}

// field reads a list of a name, a type, and the shape if the field is an array.
func (s *structV2) field(v strictjson.Value) (f dtype.Field, err error) {
	if v.Kind() != strictjson.Array || v.Len() < 2 || v.Len() > 3 {
		return f, v.Errorf("a field must be a list of a name, a type and at most a shape, got %s", v.Brief())
	}
	before := *s
	for i, e := range v.Elements() {
		switch i {
		case 0:
			f.Name, err = e.Str()
		case 1:
			f.Type, err = s.typ(e)
		default:
			f.Type, err = s.array(e, f.Type, before)
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// array reads the shape of a field that is an array. Format 3 has no such fields. A
// struct with fields "0", "1" and so on takes its place for each axis; its layout is the
// same in memory and in the store. before is the state of s before the field.
func (s *structV2) array(v strictjson.Value, t dtype.Type, before structV2) (dtype.Type, error) {
	shape := []strictjson.Value{v}
	if v.Kind() == strictjson.Array {
		shape = shape[:0]
		for _, e := range v.Elements() {
			shape = append(shape, e)
		}
	}
	// The last axis varies fastest, so its struct is the innermost.
	for _, e := range slices.Backward(shape) {
		n, err := e.Int64()
		if err == nil && n < 1 {
			err = e.Errorf("a field must not be an array of %s", quantity.Count(n, "elements"))
		}
		if err != nil {
			return t, err
		}
		if n > maxArrayFields {
			return t, e.Errorf("%w", unsupportedf("a field that is an array of %s is not supported", quantity.Count(n, "elements")))
		}
		// Check the limit before the fields are allocated.
		s.leaves = before.leaves + (s.leaves-before.leaves)*int(n)
		if s.leaves > maxArrayFields {
			return t, e.Errorf("%w", unsupportedf("fields that are arrays of more than %s in all are not supported", quantity.Count(maxArrayFields, "elements")))
		}
		if t, err = structOf(e, arrayFields(t, int(n))); err != nil {
			return t, err
		}
		// Repeat only the byte orders of this field.
		own := len(before.orders)
		s.orders = append(s.orders[:own], slices.Repeat(s.orders[own:], int(n))...)
	}
	return t, nil
}

// maxArrayFields limits the fields of structs with arrays to as many as other structs may
// have. A few numbers in a document could otherwise stand for any number of fields.
const maxArrayFields = 4096

// arrayFields returns the fields of the struct that takes the place of an array.
func arrayFields(t dtype.Type, n int) []dtype.Field {
	fields := make([]dtype.Field, n)
	for i := range fields {
		fields[i] = dtype.Field{Name: strconv.Itoa(i), Type: t}
	}
	return fields
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
	s.leaves++
	if t.Ordered() {
		// Fields of single bytes have no byte order.
		s.orders = append(s.orders, big)
	}
	return t, nil
}

// fill reads the fill value. Null leaves the value of missing chunks open. As in
// zarr-python 3.4.1, it is read as the zero of the type, or NaT for times.
func (r *readerV2) fill() error {
	v, err := r.required(v2Fill)
	if err != nil {
		return err
	}
	r.array.v2.fill = v.Raw()
	r.array.FillValue, err = r.elements.fillV3(v)
	n, notNumber := v.Float64()
	switch {
	case err != nil || notNumber != nil || r.elements.isNumber():
	// Python writes bools as true and false. 0 and 1 come from other writers.
	case r.elements.typ.Kind() == dtype.KindBool:
		r.repair(numberForBool)
		r.array.v2.fill = r.array.FillValue
	case n == 0:
		r.repair(zeroForText)
	}
	return err
}

// isNumber reports whether fill values of the type are numbers. It also does so if the
// type is unknown.
func (e *elementV2) isNumber() bool {
	switch {
	case e.object || e.text:
		return false
	case e.typ.IsZero():
		return true
	}
	switch e.typ.Kind() {
	case dtype.KindInt, dtype.KindUint, dtype.KindFloat, dtype.KindDatetime, dtype.KindTimedelta:
		return true
	}
	return false
}

// fillV3 returns the fill value in the form of format 3.
func (e *elementV2) fillV3(v strictjson.Value) ([]byte, error) {
	if fill, ok := boolOf(e.typ, v); ok {
		return fill, nil
	}
	n, err := v.Float64()
	isNull, isZero := v.Kind() == strictjson.Null, err == nil && n == 0 && !e.isNumber()
	switch {
	case e.object && (isNull || isZero):
		return []byte(`""`), nil
	case e.typ.IsZero():
		return v.Raw(), nil
	case isNull:
		return e.format(v, e.typ.Default())
	// zarr-python 2 writes 0 as the fill value of every type by default.
	case isZero:
		return e.format(v, make([]byte, e.typ.Size()))
	case e.text:
		return e.fillText(v)
	}
	return v.Raw(), nil
}

// format returns the fill value for an element.
func (e *elementV2) format(v strictjson.Value, element []byte) ([]byte, error) {
	fill, err := e.typ.FormatFill(element)
	if err != nil {
		return nil, v.Errorf("%w", err)
	}
	return fill, nil
}

// fillText reads an element in base64. A null-terminated text that is too short is padded
// with zeros.
func (e *elementV2) fillText(v strictjson.Value) ([]byte, error) {
	text, err := v.Str()
	if err != nil {
		return nil, err
	}
	element := make([]byte, e.typ.Size())
	stored, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(stored) > len(element) {
		return nil, v.Errorf("the fill value has to be at most %s in base64, got %q", quantity.Count(len(element), "bytes"), strictjson.Abbreviate(text))
	}
	// Only text may be shorter: NumPy strips its trailing zeros.
	if len(stored) < len(element) && e.typ.Kind() != dtype.KindTerminated {
		return nil, v.Errorf("the fill value has %s, an element has %d", quantity.Count(len(stored), "bytes"), len(element))
	}
	copy(element, stored)
	e.swap(element)
	return e.format(v, element)
}

// swap converts an element from its stored byte order to that of the host, or back.
func (e *elementV2) swap(element []byte) {
	turn, next := e.typ, 0
	if e.orders != nil {
		turn = packed.Turned(e.typ, func() bool {
			next++
			// Swap exactly the fields whose stored byte order differs from that of the
			// host.
			return e.orders[next-1] == byteorder.Little()
		})
	} else if e.big != byteorder.Little() {
		return
	}
	turn.Swap(element, element)
}

// appendDescr appends the data type in the form of format 2. It calls big for the byte
// order of every number, in the order of the fields. It returns false if NumPy has no
// such type.
func appendDescr(dst []byte, t dtype.Type, big func() bool) (descr []byte, ok bool) {
	if t.Kind() != dtype.KindStruct {
		s, ok := t.NumPy()
		if t.Ordered() && big() {
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

// fillV2 returns the fill value in the form of format 2.
func (e *elementV2) fillV2(element []byte) ([]byte, error) {
	switch e.typ.Kind() {
	case dtype.KindRaw, dtype.KindTerminated, dtype.KindStruct:
		e.swap(element)
		return fmt.Appendf(nil, "%q", base64.StdEncoding.EncodeToString(element)), nil
	case dtype.KindDatetime, dtype.KindTimedelta:
		return strconv.AppendInt(nil, int64(binary.NativeEndian.Uint64(element)), 10), nil
	}
	fill, err := e.typ.FormatFill(element)
	switch {
	case err != nil:
		return nil, &Error{"/fill_value", err}
	// Format 2 has only the names of the usual NaN and the infinities.
	case bytes.Contains(fill, []byte(`"0x`)):
		return nil, unsupportedV2("/fill_value", "a NaN with a sign or a payload, such as %s", fill)
	}
	return fill, nil
}
