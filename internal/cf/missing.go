// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/ome"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// mask describes which elements of an array are missing.
type mask struct {
	absent [][]byte // elements that are missing
	filled []byte   // the fill value of format 2 if it is missing, else nil
	masked bool     // the array declares a missing value, even one that no element can equal
	unmet  []string // missing values that no element can equal, as "_FillValue -1"
}

// notATime is the int64 that encodes NaT in NumPy.
var notATime = binary.NativeEndian.AppendUint64(nil, 1<<63)

// maskOf returns the missing values of an array. If filled is set, the fill value is one
// of them, and takes precedence over the attribute _FillValue, as in xarray. If the
// numbers are times or durations, NaT is missing too.
func (p *Packing) maskOf(a *zarr.Array, u Units, filled bool) (m mask) {
	names := []string{FillValue, MissingValue}
	if filled {
		// The fill value takes the place of _FillValue.
		names = names[1:]
		m.filled, m.masked = FillOf(a), true
	}
	for _, name := range names {
		v, err := Attribute(a, name)
		if err != nil || v.IsZero() {
			continue
		}
		for _, raw := range missing.List(a.Type(), v.Raw()) {
			m.masked = true
			if elem := p.parseAbsent(a.Type(), name, raw); elem != nil {
				m.absent = append(m.absent, elem)
			} else {
				// A value that the type cannot hold is common, such as -1 for unsigned
				// integers. It is not an error.
				m.unmet = append(m.unmet, fmt.Sprintf("%s %s", name, strictjson.Abbreviate(string(raw))))
			}
		}
	}
	// NumPy stores NaT as the smallest int64.
	if p.stored == dtype.Int64 && !p.scaled && u.countsTime() {
		m.absent = append(m.absent, notATime)
	}
	return m
}

// FillOf returns the fill value of an array as an element.
func FillOf(a *zarr.Array) []byte {
	elem, err := a.FillValue().Element(a.Type())
	if err != nil {
		return a.Type().Default() // the fill value of an open array is valid
	}
	return elem
}

// parseAbsent returns the element that an attribute declares missing, or nil if no
// element can equal it. If _Unsigned changes the sign of numbers, _FillValue may be
// spelled with either sign. missing_value has the changed sign, as in xarray.
func (p *Packing) parseAbsent(t dtype.Type, name string, raw []byte) []byte {
	elem, err := missing.Parse(p.stored, raw)
	// _FillValue may also be spelled in the type of the array.
	if err != nil && p.stored != t && name == FillValue {
		elem, err = missing.Parse(t, raw)
	}
	if err != nil {
		return nil
	}
	return elem
}

// isAbsent reports whether an element with the given value is missing. Floating-point
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

// MasksFill reports whether the fill value of an array marks missing elements. It does in
// format 2, where xarray reads it so: unless it is null, or the dimensions have no names.
// In an image of OME-Zarr it never does. MasksFill reads the groups above an array of
// format 2 to find out.
func MasksFill(ctx context.Context, a *zarr.Array) (bool, error) {
	n := a.Core().Node
	images := ome.Images{Reader: n.Reader()}
	return images.MasksFill(ctx, n.Path, a.Metadata())
}

// Missing yields the elements that xarray treats as missing in an array of any data
// type, in host byte order. They come from the attributes _FillValue and missing_value.
// If filled is set, the fill value replaces _FillValue, unless xarray does not mask the
// type; see [MasksFill]. Missing skips values that the data type cannot represent.
func Missing(doc *metadata.Array, filled bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		t, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
		if err != nil {
			return
		}
		names := []string{FillValue, MissingValue}
		if elem := missingFill(doc, t); elem != nil && filled {
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

// missingFill returns the fill value if xarray masks elements of the type, and otherwise
// nil. xarray never masks datetime64 and timedelta64.
func missingFill(doc *metadata.Array, t dtype.Type) []byte {
	if !missing.Coded(t) && !missing.IsText(t) && t.Kind() != dtype.KindTerminated && !t.Variable() {
		return nil
	}
	elem, err := t.ParseFill(doc.FillValue)
	if err != nil {
		return nil
	}
	return elem
}

// valuesOf yields the elements of a JSON list, and any other value itself. A list of
// two that contains a string is one complex number, such as ["NaN", 0].
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

// Refused returns the reason why the attribute _FillValue of an array keeps xarray
// 2026.9 from opening its group. reason is "" if xarray opens the group. wanted is a
// value of _FillValue with the same meaning that xarray accepts, or nil if there is
// none.
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
// format 2. It masks the fill value instead (open_store_variable in backends/zarr.py) if
// filled is set; see [MasksFill]. Ignored returns false if both are the same element.
func Ignored(a *zarr.Array, filled bool) bool {
	raw, ok := attributeIn(a.Metadata().Attributes, FillValue)
	if !filled || !ok {
		return false
	}
	elem, err := missing.Parse(a.Type(), raw)
	return err != nil || !bytes.Equal(elem, FillOf(a))
}

// withoutZero returns a copy of the mask in which zero is not missing.
func (m mask) withoutZero() mask {
	if isZero(m.filled) {
		m.filled = nil
	}
	m.absent = slices.DeleteFunc(slices.Clone(m.absent), isZero)
	return m
}
