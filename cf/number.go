// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"encoding/binary"
	"math"
	"strconv"

	"varve.dev/zarr/dtype"
)

// isNumeric reports whether elements are integers or floating-point numbers.
func isNumeric(t dtype.Type) bool {
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
