// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"encoding/binary"
	"math"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
)

// Decoding converts the stored numbers of an array to the values that they encode. The
// results have the same types as in xarray 2026.9:
//
//   - Numbers that count from an epoch ("days since 1950-01-01") become datetime64, and
//     strings if datetime64 lacks days of their calendar.
//   - Numbers with a unit of time ("hours") become timedelta64.
//   - Scaled numbers become float64.
//   - Other numbers with a missing value become floating-point numbers of the narrowest
//     type that holds them all. Missing elements become NaN.
//   - The attribute dtype "bool" makes booleans, and _Unsigned changes the sign.
//
// A Decoding is immutable. Several goroutines may use it at once.
type Decoding struct {
	*Packing
	units  Units
	typ    dtype.Type
	put    func(dst, elem []byte, value float64)
	word   func(elem []byte, value float64) string // instead of put, if the result is text
	format func(made []byte) string                // nil for the format of typ

	fits func(elem []byte) bool // whether datetime64 has the time of an element
	text *Decoding              // converts to text if it does not
}

// DecodingOf returns the decoding of an array, or nil if its elements need none. If an
// attribute is malformed, the error wraps [zarr.ErrInvalidArgument]. DecodingOf may
// open the other arrays of the group: bounds have the units of their coordinate
// ([UnitsIn]).
func DecodingOf(ctx context.Context, a *zarr.Array) (*Decoding, error) {
	u, err := UnitsIn(ctx, a)
	if err != nil {
		return nil, err
	}
	return NewDecoding(ctx, a, u)
}

// NewDecoding is like [DecodingOf] for numbers with the given units.
func NewDecoding(ctx context.Context, a *zarr.Array, u Units) (*Decoding, error) {
	if !isNumeric(a.Type()) {
		return nil, nil
	}
	p, err := packingOf(ctx, a, u)
	if err != nil {
		return nil, err
	}
	d := &Decoding{Packing: p, units: u}
	if textAttribute(a, "dtype") == "bool" {
		d.booleans()
		return d, nil
	}
	if t, ok := u.Times(); ok {
		return d, d.times(t)
	}
	if unit, ok := timeUnits[u.Units]; ok {
		return d, d.durations(unit)
	}
	switch {
	case d.scaled || d.masked:
		d.floats()
	case d.stored != a.Type():
		// Only _Unsigned applies, so the bytes are copied as they are.
		d.typ = d.stored
		d.put = func(dst, elem []byte, _ float64) { copy(dst, elem) }
	default:
		return nil, nil
	}
	return d, nil
}

// booleans makes d convert numbers to booleans. xarray stores booleans as int8 and sets
// the attribute dtype to "bool".
func (d *Decoding) booleans() {
	p := *d.Packing
	p.absent, p.filled = nil, nil // no boolean is missing
	d.Packing, d.typ = &p, dtype.Bool
	d.put = func(dst, _ []byte, value float64) {
		dst[0] = 0
		if d.value(value) != 0 {
			dst[0] = 1
		}
	}
}

// floats makes d convert numbers to floating-point numbers.
func (d *Decoding) floats() {
	d.typ = d.floatType()
	put := putFloat(d.typ)
	d.put = func(dst, _ []byte, value float64) { put(dst, d.value(value)) }
	if d.scaled && (d.scale != 1 || d.offset != 0) {
		d.format = func(made []byte) string {
			elem := make([]byte, 8)
			put(elem, rounded(math.Float64frombits(binary.NativeEndian.Uint64(made))))
			return string(d.typ.AppendText(nil, elem))
		}
	}
}

// floatType returns the narrowest floating-point type that holds all stored numbers.
// Scaled numbers become float64.
func (d *Decoding) floatType() dtype.Type {
	switch t := d.stored; {
	case d.scaled:
	case t == dtype.Float32, t == dtype.Of[dtype.Float16]():
		return t
	// float32 holds every integer of 16 bits exactly.
	case !d.isFloat() && t.Size() <= 2:
		return dtype.Float32
	}
	return dtype.Float64
}

// Type returns the data type of decoded elements.
func (d *Decoding) Type() dtype.Type { return d.typ }

// Units returns the units of the numbers.
func (d *Decoding) Units() Units { return d.units }

// Decode decodes the stored elements in src to elements of Type in dst. Both are in
// host byte order. Decode panics if dst has room for fewer elements than src, or if
// Type is a string.
func (d *Decoding) Decode(dst, src []byte) {
	from, to := d.stored.Size(), d.typ.Size()
	for ; len(src) > 0; src, dst = src[from:], dst[to:] {
		elem := src[:from:from]
		d.put(dst[:to:to], elem, d.numberOrNaN(elem))
	}
}

// DecodeText decodes a stored element, if Type is a string.
func (d *Decoding) DecodeText(elem []byte) string { return d.word(elem, d.numberOrNaN(elem)) }

// numberOrNaN returns the stored number of an element, or NaN if it is missing.
func (d *Decoding) numberOrNaN(elem []byte) float64 {
	value := d.number(elem)
	if d.isAbsent(elem, value) {
		return math.NaN()
	}
	return value
}

// Format returns a decoded element as text for people: times as ISO 8601, durations as
// 1d12h. Scaled numbers are rounded to 15 digits where that changes the last bit only: 34
// times 0.0001 is 0.0034, not 0.0034000000000000002.
func (d *Decoding) Format(made []byte) string {
	if d.format == nil {
		return string(d.typ.AppendText(nil, made))
	}
	return d.format(made)
}

// MayOverflow reports whether datetime64 may lack the time of an element, such as 30
// February. Decode turns such a time into NaT. Fits detects it, and AsText returns a
// decoding that keeps it.
func (d *Decoding) MayOverflow() bool { return d.fits != nil }

// Fits reports whether Decode converts all stored elements in src without losing a time.
func (d *Decoding) Fits(src []byte) bool {
	if d.fits == nil {
		return true
	}
	for n := d.stored.Size(); len(src) > 0; src = src[n:] {
		if !d.fits(src[:n:n]) {
			return false
		}
	}
	return true
}

// AsText returns a decoding of times to strings, which can represent the days of every
// calendar. For anything but times it returns d itself.
func (d *Decoding) AsText() *Decoding {
	if d.text == nil {
		return d
	}
	return d.text
}
