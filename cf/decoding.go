// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	inner "varve.dev/zarr/internal/cf"
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
