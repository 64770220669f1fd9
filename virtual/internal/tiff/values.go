// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"math"
	"strings"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// fieldType is the type of the values of an entry (section 2, "Types").
type fieldType uint16

// The types that values of named tags have.
const (
	typeByte      fieldType = 1
	typeText      fieldType = 2
	typeShort     fieldType = 3
	typeLong      fieldType = 4
	typeRational  fieldType = 5
	typeInt8      fieldType = 6
	typeRaw       fieldType = 7
	typeInt16     fieldType = 8
	typeInt32     fieldType = 9
	typeSRational fieldType = 10
	typeFloat     fieldType = 11
	typeDouble    fieldType = 12
	typeIFD       fieldType = 13
	typeLong8     fieldType = 16
	typeInt64     fieldType = 17
	typeIFD8      fieldType = 18
)

// size returns the bytes of a value, 0 for an unknown type.
func (t fieldType) size() int64 {
	switch t {
	case typeByte, typeText, typeInt8, typeRaw:
		return 1
	case typeShort, typeInt16:
		return 2
	case typeLong, typeInt32, typeFloat, typeIFD:
		return 4
	case typeRational, typeSRational, typeDouble, typeLong8, typeInt64, typeIFD8:
		return 8
	}
	return 0
}

// isUnsigned reports whether values are unsigned integers.
func (t fieldType) isUnsigned() bool {
	switch t {
	case typeByte, typeShort, typeLong, typeIFD, typeLong8, typeIFD8:
		return true
	}
	return false
}

// raw returns the bytes of the values of a tag, nil if the IFD lacks it.
func (r *reader) raw(d *ifd, t tag) ([]byte, error) {
	e, ok := d.entries[t]
	if !ok {
		return nil, nil
	}
	n, fits := checked.Mul(e.count, e.typ.size())
	if !fits {
		return nil, scan.Corruptf("tiff: the IFD at %d: %s has %d values", d.at, t, e.count)
	}
	if n <= int64(len(e.inline)) {
		return e.inline[:n], nil
	}
	off, err := offset(r.unsigned(e.inline))
	if err != nil {
		return nil, err
	}
	return r.bytes(off, n)
}

// numbers returns the unsigned integers of a tag, nil if the IFD lacks it.
func (r *reader) numbers(d *ifd, t tag) ([]uint64, error) {
	e, ok := d.entries[t]
	if !ok {
		return nil, nil
	}
	if !e.typ.isUnsigned() {
		return nil, scan.Corruptf("tiff: the IFD at %d: %s has values of type %d", d.at, t, e.typ)
	}
	b, err := r.raw(d, t)
	if err != nil {
		return nil, err
	}
	list, size := make([]uint64, e.count), e.typ.size()
	for i := range list {
		list[i] = r.unsigned(b[int64(i)*size:][:size])
	}
	return list, nil
}

// number returns the first unsigned integer of a tag, or a default.
func (r *reader) number(d *ifd, t tag, otherwise int64) (int64, error) {
	e, ok := d.entries[t]
	if !ok {
		return otherwise, nil
	}
	if e.count == 0 || !e.typ.isUnsigned() {
		return 0, scan.Corruptf("tiff: the IFD at %d: %s has %d values of type %d", d.at, t, e.count, e.typ)
	}
	b, err := r.raw(d, t)
	if err != nil {
		return 0, err
	}
	return offset(r.unsigned(b[:e.typ.size()]))
}

// attribute returns the values of a tag as the value of an attribute, nil if it has none
// or they are of an unknown type. One value is a scalar unless the tag is always a list.
func (r *reader) attribute(d *ifd, t tag) (any, error) {
	b, err := r.raw(d, t)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	switch typ := d.entries[t].typ; {
	case typ == typeText:
		return text(b), nil
	case typ == typeByte || typ == typeRaw:
		return scalar(t, b), nil
	case typ == typeShort:
		return scalar(t, list(b, 2, r.order.Uint16)), nil
	case typ == typeLong || typ == typeIFD:
		return scalar(t, list(b, 4, r.order.Uint32)), nil
	case typ.isUnsigned():
		return scalar(t, list(b, 8, r.order.Uint64)), nil
	case typ == typeFloat:
		return scalar(t, list(b, 4, func(b []byte) float32 { return math.Float32frombits(r.order.Uint32(b)) })), nil
	case typ == typeDouble:
		return scalar(t, list(b, 8, func(b []byte) float64 { return math.Float64frombits(r.order.Uint64(b)) })), nil
	case typ == typeRational:
		return scalar(t, list(b, 8, func(b []byte) float64 {
			return float64(r.order.Uint32(b)) / float64(r.order.Uint32(b[4:]))
		})), nil
	}
	return nil, nil
}

// list returns the values of which bytes consist.
func list[T any](b []byte, size int, value func([]byte) T) []T {
	out := make([]T, len(b)/size)
	for i := range out {
		out[i] = value(b[i*size:])
	}
	return out
}

// scalar returns the only value of a list, or the list.
func scalar[T any](t tag, values []T) any {
	if len(values) == 1 && !t.isList() {
		return values[0]
	}
	return values
}

// text returns the text of an entry, or a list if it has several (section 2, "ASCII").
func text(b []byte) any {
	s := strings.TrimRight(string(b), "\x00")
	if parts := strings.Split(s, "\x00"); len(parts) > 1 {
		return parts
	}
	return s
}

// firstText returns an attribute that is a text, or the first one of several; "" if it is
// none.
func firstText(v any) string {
	if list, ok := v.([]string); ok {
		return list[0]
	}
	s, _ := v.(string)
	return s
}
