// SPDX-License-Identifier: Apache-2.0

package byteorder

import (
	"encoding/binary"
	"math/bits"
)

// Bytes copies src to dst and reverses the bytes of every number of unit bytes. A unit of
// 1 or less only copies. dst must be at least as long as src, and must be src or not
// overlap it. The length of src must be a multiple of unit.
func Bytes(dst, src []byte, unit int) {
	if unit <= 1 {
		copy(dst, src)
		return
	}
	dst = dst[:len(src)]
	n := bytesFast(dst, src, unit)
	bytesPlain(dst[n:], src[n:], unit)
}

// bytesPlain is Bytes without assembly.
func bytesPlain(dst, src []byte, unit int) {
	n := 0
	switch unit {
	case 2:
		n = pairs(dst, src)
	case 4:
		n = words(dst, src, 32)
	case 8:
		n = words(dst, src, 0)
	}
	each(dst[n:], src[n:], unit)
}

// piece is the number of bytes that are reversed at a time.
const piece = 32

// pairs reverses whole pieces of two-byte numbers and returns the number of bytes done.
func pairs(dst, src []byte) int {
	n := len(src) / piece * piece
	for i := 0; i < n; i += piece {
		// Arrays need one bounds check for each piece.
		d, s := (*[piece]byte)(dst[i:]), (*[piece]byte)(src[i:])
		binary.LittleEndian.PutUint64(d[0:], four(binary.LittleEndian.Uint64(s[0:])))
		binary.LittleEndian.PutUint64(d[8:], four(binary.LittleEndian.Uint64(s[8:])))
		binary.LittleEndian.PutUint64(d[16:], four(binary.LittleEndian.Uint64(s[16:])))
		binary.LittleEndian.PutUint64(d[24:], four(binary.LittleEndian.Uint64(s[24:])))
	}
	return n
}

// four reverses four two-byte numbers.
func four(x uint64) uint64 {
	const low = 0x00ff00ff00ff00ff
	return x&low<<8 | x>>8&low
}

// words is pairs for numbers of eight bytes, or of four if the reversed eight are rotated
// by 32 bits.
func words(dst, src []byte, turn int) int {
	n := len(src) / piece * piece
	for i := 0; i < n; i += piece {
		d, s := (*[piece]byte)(dst[i:]), (*[piece]byte)(src[i:])
		binary.LittleEndian.PutUint64(d[0:], bits.RotateLeft64(binary.BigEndian.Uint64(s[0:]), turn))
		binary.LittleEndian.PutUint64(d[8:], bits.RotateLeft64(binary.BigEndian.Uint64(s[8:]), turn))
		binary.LittleEndian.PutUint64(d[16:], bits.RotateLeft64(binary.BigEndian.Uint64(s[16:]), turn))
		binary.LittleEndian.PutUint64(d[24:], bits.RotateLeft64(binary.BigEndian.Uint64(s[24:]), turn))
	}
	return n
}

// each reverses numbers of any size byte by byte.
func each(dst, src []byte, unit int) {
	for ; len(src) >= unit; dst, src = dst[unit:], src[unit:] {
		for i, j := 0, unit-1; i <= j; i, j = i+1, j-1 {
			dst[i], dst[j] = src[j], src[i]
		}
	}
}

// Load returns the number that b holds in host byte order. b has 1, 2, 4 or 8 bytes.
func Load(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// Store stores the low bits of x in b in host byte order. b has 1, 2, 4 or 8 bytes.
func Store(b []byte, x uint64) {
	switch len(b) {
	case 1:
		b[0] = byte(x)
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(x))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(x))
	case 8:
		binary.NativeEndian.PutUint64(b, x)
	}
}
