// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"encoding/binary"
	"math"

	"varve.dev/zarr/dtype"
)

// floatOf returns a float in host byte order.
func floatOf(b []byte) float64 {
	switch len(b) {
	case 2:
		return float64(dtype.Float16(binary.NativeEndian.Uint16(b)).Float32())
	case 4:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.NativeEndian.Uint64(b))
}

// setFloat stores a float.
func setFloat(b []byte, v float64) {
	switch len(b) {
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(dtype.FromFloat32(float32(v))))
	case 4:
		binary.NativeEndian.PutUint32(b, math.Float32bits(float32(v)))
	default:
		binary.NativeEndian.PutUint64(b, math.Float64bits(v))
	}
}

// integerOf returns an integer in host byte order.
func integerOf(b []byte, unsigned bool) int64 {
	switch len(b) {
	case 2:
		v := binary.NativeEndian.Uint16(b)
		if unsigned {
			return int64(v)
		}
		return int64(int16(v))
	case 4:
		v := binary.NativeEndian.Uint32(b)
		if unsigned {
			return int64(v)
		}
		return int64(int32(v))
	}
	return int64(binary.NativeEndian.Uint64(b))
}

// setInteger stores an integer, and reports whether it fits.
func setInteger(b []byte, v int64, unsigned bool) bool {
	switch len(b) {
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(v))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(v))
	default:
		binary.NativeEndian.PutUint64(b, uint64(v))
	}
	return integerOf(b, unsigned) == v && (v >= 0 || !unsigned)
}
