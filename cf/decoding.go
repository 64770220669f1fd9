// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	inner "varve.dev/zarr/internal/cf"
	"varve.dev/zarr/selection"
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
type Decoding struct{ d *inner.Decoding }

// DecodingOf returns the decoding of an array, or nil if its elements need none. If an
// attribute is malformed, the error wraps [zarr.ErrInvalidArgument]. DecodingOf may open
// the other arrays of the group: bounds have the units of their coordinate (CF
// conventions, section 7.1).
func DecodingOf(ctx context.Context, a *zarr.Array) (*Decoding, error) {
	d, err := inner.DecodingOf(ctx, a)
	if d == nil {
		return nil, err
	}
	return &Decoding{d}, err
}

// Type returns the data type of decoded elements.
func (d *Decoding) Type() dtype.Type { return d.d.Type() }

// Decode decodes the stored elements in src to elements of Type in dst. Both are in host
// byte order. Decode panics if dst has room for fewer elements than src, or if Type is a
// string. A time that datetime64 lacks, such as 30 February, becomes NaT; see Fits.
func (d *Decoding) Decode(dst, src []byte) { d.d.Decode(dst, src) }

// DecodeText decodes a stored element, if Type is a string.
func (d *Decoding) DecodeText(elem []byte) string { return d.d.DecodeText(elem) }

// Fits reports whether Decode converts all stored elements in src without losing a time.
func (d *Decoding) Fits(src []byte) bool { return d.d.Fits(src) }

// AsText returns a decoding of times to strings, which can represent the days of every
// calendar. For anything but times it returns d itself.
func (d *Decoding) AsText() *Decoding {
	if text := d.d.AsText(); text != d.d {
		return &Decoding{text}
	}
	return d
}

// Format returns a decoded element as text for people: times as ISO 8601, durations as
// 1d12h. Scaled numbers are rounded to 15 digits where that changes the last bit only:
// 34 times 0.0001 is 0.0034, not 0.0034000000000000002.
func (d *Decoding) Format(decoded []byte) string { return d.d.Format(decoded) }

// Packing describes how numbers are packed in the elements of an array: scale and offset
// (CF conventions, section 8.1), missing values (section 2.5.1), and the attribute
// _Unsigned (NetCDF user guide). All methods take elements in host byte order.
type Packing struct{ p *inner.Packing }

// PackingOf returns the packing of an array. If an attribute is malformed, the error
// wraps [zarr.ErrInvalidArgument]. Elements that are not numbers have missing values
// only. The fill value is missing in format 2, where xarray reads it so, unless it is
// null or the dimensions have no names; in an image of OME-Zarr it never is. PackingOf
// may read the groups above an array of format 2 to find out.
func PackingOf(ctx context.Context, a *zarr.Array) (*Packing, error) {
	p, err := inner.PackingOf(ctx, a)
	if err != nil {
		return nil, err
	}
	return &Packing{p}, nil
}

// Type returns the data type that the stored bytes are read as. It differs from the type
// of the array if the attribute _Unsigned changes the sign.
func (p *Packing) Type() dtype.Type { return p.p.Type() }

// Scale returns scale_factor and add_offset. They default to 1 and 0.
func (p *Packing) Scale() (factor, offset float64) { return p.p.Scale() }

// Missing returns the stored elements that are missing.
func (p *Packing) Missing() [][]byte { return p.p.Missing() }

// IsMissing reports whether an element is missing. NaN is missing only if an attribute
// says so.
func (p *Packing) IsMissing(elem []byte) bool { return p.p.IsMissing(elem) }

// Floats unpacks the stored elements in src into dst. Missing elements become NaN, and
// integers beyond 2^53 are rounded. Floats panics if dst is shorter than src.
func (p *Packing) Floats(dst []float64, src []byte) { p.p.Floats(dst, src) }

// Pack packs the numbers in src into the elements in dst, as [WriteFloats] describes. It
// panics if dst is shorter than src. After an error the contents of dst are undefined.
func (p *Packing) Pack(dst []byte, src []float64) error { return p.p.Pack(dst, src) }

// Units are the attributes units and calendar of an array (CF conventions, section 4.4).
// Each is "" if it is not set or not a string. Package calendar parses them.
type Units struct{ Units, Calendar string }

// UnitsOf returns the attributes of an array.
func UnitsOf(a *zarr.Array) Units { return Units(inner.UnitsOf(a)) }

// ReadFloats reads the selected elements and unpacks them. Missing elements are NaN. If
// elements are not numbers, or an attribute is malformed, the error wraps
// [zarr.ErrInvalidArgument]. ReadFloats allocates memory for both the stored elements
// and the result.
func ReadFloats(ctx context.Context, from zarr.Elements, sel selection.Selection) (zarr.Block[float64], error) {
	return inner.ReadFloats(ctx, from, sel)
}

// ReadTimes reads the selected elements of an array of times: numbers whose units count
// from an epoch, or datetime64. Missing elements are the zero Time. The error wraps
// [zarr.ErrInvalidArgument] if the elements are not times, or if [time.Time] lacks the
// days of their calendar or the year of an element.
func ReadTimes(ctx context.Context, from zarr.Elements, sel selection.Selection) (zarr.Block[time.Time], error) {
	return inner.ReadTimes(ctx, from, sel)
}

// WriteFloats packs numbers as the attributes of an array describe, and stores them. A
// stored number is (value - add_offset) / scale_factor, rounded to the nearest integer
// if elements are integers. NaN becomes the missing value. src holds the selected
// elements in C order.
//
// WriteFloats stores nothing if a number does not fit the type of the elements, if a
// number would be stored as the missing value, or if an integer array has no missing
// value for a NaN. Then the error wraps [zarr.ErrInvalidArgument].
func WriteFloats(ctx context.Context, to zarr.Elements, sel selection.Selection, src []float64) error {
	return inner.WriteFloats(ctx, to, sel, src)
}
