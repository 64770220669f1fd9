// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/strictjson"
)

// mask tells which elements of an array are missing.
type mask struct {
	absent [][]byte // elements that are missing
	filled []byte   // the fill value of format 2 if it is missing, else nil
	masked bool     // the array has a missing value, even if no element can be equal to it
	unmet  []string // missing values that no element can be equal to, as "_FillValue -1"
}

// notATime is the int64 that stands for NaT, as in NumPy.
var notATime = binary.NativeEndian.AppendUint64(nil, 1<<63)

// maskOf returns the elements of an array that are missing. As in xarray, the fill value
// of format 2 takes precedence over the attribute _FillValue, unless it is null. NaT is
// missing where numbers count time.
func (p *Packing) maskOf(a *zarr.Array, u Units) (m mask) {
	names := []string{FillValue, MissingValue}
	if doc := a.Metadata(); a.Format() == 2 && !doc.HasNullFill() {
		names = names[1:]
		m.filled, m.masked = fillOf(a), true
	}
	for _, name := range names {
		v, err := attribute(a, name)
		if err != nil || v.IsZero() {
			continue
		}
		for _, raw := range missing.List(a.Type(), v.Raw()) {
			m.masked = true
			if elem := p.parseAbsent(a.Type(), name, raw); elem != nil {
				m.absent = append(m.absent, elem)
			} else {
				m.unmet = append(m.unmet, fmt.Sprintf("%s %s", name, strictjson.Abbreviate(string(raw))))
			}
		}
	}
	if p.stored == dtype.Of[int64]() && !p.scaled && u.countsTime() {
		m.absent = append(m.absent, notATime)
	}
	return m
}

// fillOf returns the fill value of an array as an element.
func fillOf(a *zarr.Array) []byte {
	elem, err := a.FillValue().Element(a.Type())
	if err != nil {
		return a.Type().Default() // an array that is open has a valid one
	}
	return elem
}

// parseAbsent returns the element that an attribute declares missing, or nil if no element
// can be equal to it. If _Unsigned changes the sign of numbers, _FillValue may be spelled
// with either sign. missing_value has the changed sign, as in xarray.
func (p *Packing) parseAbsent(t dtype.Type, name string, raw []byte) []byte {
	elem, err := missing.Parse(p.stored, raw)
	if err != nil && p.stored != t && name == FillValue {
		elem, err = missing.Parse(t, raw)
	}
	if err != nil {
		return nil
	}
	return elem
}

// isAbsent reports whether an element of the given value is missing. Floating-point
// numbers are compared by value, as in xarray: -0.0 is missing if 0.0 is.
func (p *Packing) isAbsent(elem []byte, value float64) bool {
	for _, absent := range p.absent {
		if p.equals(elem, value, absent) {
			return true
		}
	}
	return p.filled != nil && p.equals(elem, value, p.filled)
}

func (p *Packing) equals(elem []byte, value float64, absent []byte) bool {
	return bytes.Equal(elem, absent) || p.isFloat() && value == p.number(absent)
}

// isZero reports whether all bytes of an element are zero.
func isZero(elem []byte) bool { return bytes.Count(elem, []byte{0}) == len(elem) }

// Missing yields the elements that xarray takes for missing in an array of any data type,
// in host byte order. These are the values of the attributes _FillValue and
// missing_value. In format 2 the fill value replaces _FillValue, unless it is null or
// xarray does not mask the type. Values that are no element of the type are left out.
func Missing(doc *metadata.Array) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		t, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
		if err != nil {
			return
		}
		names := []string{FillValue, MissingValue}
		if elem := missingFill(doc, t); elem != nil {
			if !yield(elem) {
				return
			}
			names = names[1:]
		}
		unsigned, _ := attributeIn(doc.Attributes, Unsigned)
		for _, name := range names {
			raw, ok := attributeIn(doc.Attributes, name)
			if !ok {
				continue
			}
			for one := range valuesOf(raw) {
				elem, err := missing.ParseSpelled(t, unsigned, one)
				if err == nil && !yield(elem) {
					return
				}
			}
		}
	}
}

// missingFill returns the fill value of format 2 if xarray takes it for missing, and
// otherwise nil. xarray masks no times and no durations, and nothing if the fill value is
// null.
func missingFill(doc *metadata.Array, t dtype.Type) []byte {
	masks := missing.Coded(t) || missing.IsText(t) || t.Kind() == dtype.Terminated || t.Variable()
	if doc.Format() != 2 || doc.HasNullFill() || !masks {
		return nil
	}
	elem, err := t.ParseFill(doc.FillValue)
	if err != nil {
		return nil
	}
	return elem
}

// valuesOf yields the elements of a JSON list, or any other value by itself. A list of
// two numbers of which one is a string is a complex number.
func valuesOf(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		v, err := strictjson.Parse(raw, strictjson.Limits{})
		if err != nil || v.Kind() != strictjson.Array || isComplex(v) {
			yield(raw)
			return
		}
		for _, e := range v.Elements() {
			if !yield(e.Raw()) {
				return
			}
		}
	}
}

func isComplex(list strictjson.Value) bool {
	if list.Len() != 2 {
		return false
	}
	for _, e := range list.Elements() {
		if e.Kind() == strictjson.String {
			return true
		}
	}
	return false
}

// Refused tells why xarray 2026.9 opens no group that contains an array with this
// document, because of its attribute _FillValue. reason is "" if xarray opens it. wanted
// is the attribute with the same meaning that xarray reads, or nil if there is none.
func Refused(doc *metadata.Array) (reason string, wanted []byte) {
	if doc.Format() != 3 {
		return "", nil
	}
	t, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
	if err != nil {
		return "", nil
	}
	raw, ok := attributeIn(doc.Attributes, FillValue)
	if !ok {
		return "", nil
	}
	unsigned, _ := attributeIn(doc.Attributes, Unsigned)
	return missing.Refused(t, unsigned, raw)
}

// Ignored reports whether xarray 2026.9 ignores the attribute _FillValue of an array of
// format 2: it takes the fill value for missing instead, unless that is null
// (open_store_variable in backends/zarr.py). Ignored returns false if both are the same
// element.
func Ignored(a *zarr.Array) bool {
	doc := a.Metadata()
	raw, ok := attributeIn(doc.Attributes, FillValue)
	if doc.Format() != 2 || doc.HasNullFill() || !ok {
		return false
	}
	elem, err := missing.Parse(a.Type(), raw)
	return err != nil || !bytes.Equal(elem, fillOf(a))
}

// withoutZero returns a mask by which zero is not missing.
func (m mask) withoutZero() mask {
	if isZero(m.filled) {
		m.filled = nil
	}
	m.absent = slices.DeleteFunc(slices.Clone(m.absent), isZero)
	return m
}
