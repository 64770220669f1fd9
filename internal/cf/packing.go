// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
)

// Packing describes how numbers are packed in the elements of an array: scale and
// offset (CF conventions, section 8.1), missing values (section 2.5.1), and the
// attribute _Unsigned (NetCDF user guide). All methods take elements in host byte
// order.
type Packing struct {
	stored        dtype.Type // the type that the stored bytes are read as
	number        func(elem []byte) float64
	scale, offset float64
	scaled        bool // there is a scale or an offset
	mask
}

// PackingOf returns the packing of an array. If an attribute is malformed,
// the error wraps [zarr.ErrInvalidArgument]. Elements that are not numbers have missing
// values only. PackingOf may read the groups above the array; see [MasksFill].
func PackingOf(ctx context.Context, a *zarr.Array) (*Packing, error) {
	return packingOf(ctx, a, UnitsOf(a))
}

func packingOf(ctx context.Context, a *zarr.Array, u Units) (*Packing, error) {
	// _Unsigned applies before scale and offset.
	p := &Packing{stored: signOf(a), scale: 1}
	p.number = numberOf(p.stored)
	scale, scaled, err := numberAttribute(a, ScaleFactor)
	if err != nil {
		return nil, err
	}
	offset, moved, err := numberAttribute(a, AddOffset)
	if err != nil {
		return nil, err
	}
	if scaled {
		p.scale = scale
	}
	p.offset, p.scaled = offset, scaled || moved
	filled, err := MasksFill(ctx, a)
	if err != nil {
		return nil, err
	}
	p.mask = p.maskOf(a, u, filled)
	return p, nil
}

// signs pairs the signed and unsigned integer types of the same size.
var signs = [][2]dtype.Type{
	{dtype.Int8, dtype.Uint8}, {dtype.Int16, dtype.Uint16},
	{dtype.Int32, dtype.Uint32}, {dtype.Int64, dtype.Uint64},
}

// signOf returns the type of an array, with the signedness that the attribute _Unsigned
// gives it. Like xarray, it accepts only the strings "true" and "false".
func signOf(a *zarr.Array) dtype.Type {
	unsigned := TextAttribute(a, Unsigned)
	// Types without a counterpart, and "true" for an unsigned type, change nothing.
	for _, s := range signs {
		switch {
		case a.Type() == s[0] && unsigned == "true":
			return s[1]
		case a.Type() == s[1] && unsigned == "false":
			return s[0]
		}
	}
	return a.Type()
}

// Type returns the data type that the stored bytes are read as. It differs from the
// type of the array if the attribute _Unsigned changes the sign.
func (p *Packing) Type() dtype.Type { return p.stored }

// Scale returns scale_factor and add_offset. They default to 1 and 0.
func (p *Packing) Scale() (factor, offset float64) { return p.scale, p.offset }

// Unscaled returns a copy without scale and offset. It has the same missing values.
func (p *Packing) Unscaled() *Packing {
	c := *p
	c.scale, c.offset, c.scaled = 1, 0, false
	return &c
}

// IsScaled reports whether the array has the attribute scale_factor or add_offset.
func (p *Packing) IsScaled() bool { return p.scaled }

// IsMasked reports whether the array has a missing value.
func (p *Packing) IsMasked() bool { return p.masked }

// Missing returns the stored elements that are missing.
func (p *Packing) Missing() [][]byte {
	list := slices.Clone(p.absent)
	if p.filled != nil {
		list = append(list, p.filled)
	}
	return list
}

// Unmet returns the declared missing values that no element can equal, such as
// "_FillValue -1" in an array of unsigned integers.
func (p *Packing) Unmet() []string { return slices.Clone(p.unmet) }

// IsMissing reports whether an element is missing. NaN is missing only if an attribute
// says so.
func (p *Packing) IsMissing(elem []byte) bool { return p.isAbsent(elem, p.number(elem)) }

// HasValue reports whether an element is neither missing nor NaN.
func (p *Packing) HasValue(elem []byte) bool {
	value := p.number(elem)
	return !math.IsNaN(value) && !p.isAbsent(elem, value)
}

// Stored returns the stored number of an element, without scale and offset.
func (p *Packing) Stored(elem []byte) float64 { return p.number(elem) }

// Value returns the unpacked number of an element, and NaN for a missing element.
// Integers beyond 2^53 are rounded.
func (p *Packing) Value(elem []byte) float64 {
	number := p.number(elem)
	if p.isAbsent(elem, number) {
		return math.NaN()
	}
	return p.value(number)
}

// value applies scale and offset to a stored number.
func (p *Packing) value(number float64) float64 {
	if !p.scaled {
		return number
	}
	return float64(number*p.scale) + p.offset // the conversion forbids a fused multiply-add
}

// Text returns the unpacked number of an element as text. Integers are not rounded, and
// missing values are treated as numbers. The error of a product is left out: 34 times
// 0.0001 is 0.0034, not 0.0034000000000000002.
func (p *Packing) Text(elem []byte) string {
	if !p.scaled {
		return string(p.stored.AppendText(nil, elem))
	}
	number := p.number(elem)
	x := p.value(number)
	if x != number { // it was multiplied or moved
		x = rounded(x)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// rounded returns the number of at most 15 decimal digits next to a product of decimal
// factors. If that is more than one bit away, it returns the product itself.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
	if err == nil && math.Nextafter(x, y) == y {
		return y
	}
	return x
}

// OfCoordinate returns a copy of the packing for a coordinate, in which zero is never
// missing. Zero is the default fill value of format 2, and a conversion to format 3
// stores it as the attribute _FillValue. In a coordinate it is usually a real latitude
// or time. xarray masks it, so it cannot be selected there.
func (p *Packing) OfCoordinate() *Packing {
	c := *p
	c.mask = p.withoutZero()
	return &c
}

func (p *Packing) isFloat() bool { return p.stored.Kind() == dtype.KindFloat }

// IsNumeric reports whether elements are integers or floating-point numbers.
func IsNumeric(t dtype.Type) bool {
	k := t.Kind()
	return k == dtype.KindInt || k == dtype.KindUint || k == dtype.KindFloat
}

// numberOf returns the function that converts elements of a numeric type to float64.
func numberOf(t dtype.Type) func(elem []byte) float64 {
	switch t {
	case dtype.Int8:
		return func(e []byte) float64 { return float64(int8(e[0])) }
	case dtype.Uint8:
		return func(e []byte) float64 { return float64(e[0]) }
	case dtype.Int16:
		return func(e []byte) float64 { return float64(int16(binary.NativeEndian.Uint16(e))) }
	case dtype.Uint16:
		return func(e []byte) float64 { return float64(binary.NativeEndian.Uint16(e)) }
	case dtype.Int32:
		return func(e []byte) float64 { return float64(int32(binary.NativeEndian.Uint32(e))) }
	case dtype.Uint32:
		return func(e []byte) float64 { return float64(binary.NativeEndian.Uint32(e)) }
	case dtype.Int64:
		return func(e []byte) float64 { return float64(int64(binary.NativeEndian.Uint64(e))) }
	case dtype.Uint64:
		return func(e []byte) float64 { return float64(binary.NativeEndian.Uint64(e)) }
	case dtype.Float32:
		return func(e []byte) float64 { return float64(math.Float32frombits(binary.NativeEndian.Uint32(e))) }
	case dtype.Float64:
		return func(e []byte) float64 { return math.Float64frombits(binary.NativeEndian.Uint64(e)) }
	}
	// Their text has only as many digits as tell them apart, and another value.
	if t.Kind() == dtype.KindFloat && t.Size() < 4 {
		return func(e []byte) float64 {
			var value [1]float32
			t.Float32s(value[:], e)
			return float64(value[0])
		}
	}
	return func(elem []byte) float64 {
		v, err := strconv.ParseFloat(string(t.AppendText(nil, elem)), 64)
		// ParseFloat returns an infinity together with a range error.
		if err != nil && !math.IsInf(v, 0) {
			return math.NaN()
		}
		return v
	}
}

// The bits of the NaN that NumPy and metadata documents call "NaN".
const (
	quietNaN   = 0x7ff8000000000000
	quietNaN32 = 0x7fc00000
)

// putFloat returns the function that sets an element of a floating-point type. It
// stores every NaN with the same bits.
func putFloat(t dtype.Type) func(dst []byte, value float64) {
	switch t {
	case dtype.Of[dtype.Float16]():
		return func(dst []byte, value float64) {
			binary.NativeEndian.PutUint16(dst, uint16(dtype.FromFloat32(float32(value))))
		}
	case dtype.Float32:
		return func(dst []byte, value float64) {
			bits := math.Float32bits(float32(value))
			if math.IsNaN(value) {
				bits = quietNaN32
			}
			binary.NativeEndian.PutUint32(dst, bits)
		}
	}
	return func(dst []byte, value float64) {
		bits := math.Float64bits(value)
		if math.IsNaN(value) {
			bits = quietNaN
		}
		binary.NativeEndian.PutUint64(dst, bits)
	}
}

// stripe is the count of numbers that are converted at a time. They stay in the
// processor's cache between loading and unpacking.
const stripe = 2048

// Floats unpacks the stored elements in src into dst. Missing elements become NaN. It
// panics if dst is shorter than src.
func (p *Packing) Floats(dst []float64, src []byte) {
	size := p.stored.Size()
	missing, exact := p.missingNumbers()
	for len(src) > 0 {
		n := min(stripe, len(src)/size)
		// The fast path compares missing values as float64. That is right only if no two
		// numbers of the type become equal.
		if exact && loadNumbers(p.stored, dst[:n], src) {
			p.unpack(dst[:n], missing)
		} else {
			for i := range n {
				dst[i] = p.Value(src[i*size:][:size:size])
			}
		}
		dst, src = dst[n:], src[n*size:]
	}
}

// missingNumbers returns the missing values as numbers. exact is false if float64
// cannot hold all numbers of the type, because then two different numbers could compare
// equal.
func (p *Packing) missingNumbers() (list []float64, exact bool) {
	if !p.isFloat() && p.stored.Size() == 8 {
		return nil, false
	}
	for _, elem := range p.absent {
		list = append(list, p.number(elem))
	}
	if p.filled != nil {
		list = append(list, p.number(p.filled))
	}
	return list, true
}

// unpack replaces stored numbers by unpacked ones. NaN stays NaN.
func (p *Packing) unpack(numbers, missing []float64) {
	nan := math.NaN()
	// NaN never equals m, so a NaN that is missing needs no comparison.
	for _, m := range missing {
		for i, x := range numbers {
			if x == m {
				numbers[i] = nan
			}
		}
	}
	if !p.scaled {
		return
	}
	scale, offset := p.scale, p.offset
	for i, x := range numbers {
		numbers[i] = float64(x*scale) + offset
	}
}

// loadNumbers sets dst to the stored numbers in src. It returns false for types that are
// too rare to have a loop of their own.
func loadNumbers(t dtype.Type, dst []float64, src []byte) bool {
	switch t {
	case dtype.Int8:
		for i := range dst {
			dst[i] = float64(int8(src[i]))
		}
	case dtype.Uint8:
		for i := range dst {
			dst[i] = float64(src[i])
		}
	case dtype.Int16:
		for i := range dst {
			dst[i] = float64(int16(binary.NativeEndian.Uint16(src[2*i:])))
		}
	case dtype.Uint16:
		for i := range dst {
			dst[i] = float64(binary.NativeEndian.Uint16(src[2*i:]))
		}
	case dtype.Int32:
		for i := range dst {
			dst[i] = float64(int32(binary.NativeEndian.Uint32(src[4*i:])))
		}
	case dtype.Float32:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(src[4*i:])))
		}
	case dtype.Float64:
		for i := range dst {
			dst[i] = math.Float64frombits(binary.NativeEndian.Uint64(src[8*i:]))
		}
	default:
		return false
	}
	return true
}
