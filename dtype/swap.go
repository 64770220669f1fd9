package dtype

import (
	"encoding/binary"
	"math/bits"
)

// LittleEndian reports whether the host keeps the least significant byte of a number first.
func LittleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}

// SwapBytes copies src to dst with the bytes of every number of unit bytes in reverse order; a unit of 1 or less just copies.
// dst has to be at least as long as src, and is src itself or does not overlap it; len(src) has to be a multiple of unit.
func SwapBytes(dst, src []byte, unit int) {
	n := 0
	switch unit {
	case 2:
		n = swapPairs(dst, src)
	case 4:
		n = swapWords(dst, src, 32)
	case 8:
		n = swapWords(dst, src, 0)
	}
	swapPlain(dst[n:], src[n:], unit)
}

// Swap copies src, elements of a type of fixed width, to dst with the bytes of every number in reverse order: of all numbers that
// [Type.Unit] is about, and of those of every field of a struct. dst is src itself or does not overlap it, and is at least as long.
func (t Type) Swap(dst, src []byte) {
	if t.unit != 0 {
		SwapBytes(dst, src, t.unit)
		return
	}
	for h := t.fields; h != noFields; h = h.Value().next {
		f := h.Value().Field
		for at := f.Offset; at+f.Type.size <= len(src); at += t.size {
			f.Type.Swap(dst[at:at+f.Type.size], src[at:at+f.Type.size])
		}
	}
}

// Ordered reports whether byte order makes a difference to elements of t.
func (t Type) Ordered() bool { return t.unit != 1 && t.unit != 0 || t.unit == 0 && t.hasOrdered() }

func (t Type) hasOrdered() bool {
	for h := t.fields; h != noFields; h = h.Value().next {
		f := h.Value().Field
		if f.Type.Ordered() {
			return true
		}
	}
	return false
}

// block is the number of bytes that the fast paths swap at a time.
const block = 32

// swapPairs swaps whole blocks of two-byte numbers and returns the number of bytes done.
func swapPairs(dst, src []byte) int {
	n := len(src) / block * block
	for i := 0; i < n; i += block {
		d, s := (*[block]byte)(dst[i:]), (*[block]byte)(src[i:])
		binary.LittleEndian.PutUint64(d[0:], pairs(binary.LittleEndian.Uint64(s[0:])))
		binary.LittleEndian.PutUint64(d[8:], pairs(binary.LittleEndian.Uint64(s[8:])))
		binary.LittleEndian.PutUint64(d[16:], pairs(binary.LittleEndian.Uint64(s[16:])))
		binary.LittleEndian.PutUint64(d[24:], pairs(binary.LittleEndian.Uint64(s[24:])))
	}
	return n
}

// pairs swaps the bytes of four two-byte numbers.
func pairs(x uint64) uint64 {
	const low = 0x00ff00ff00ff00ff
	return x&low<<8 | x>>8&low
}

// swapWords is swapPairs for numbers of eight bytes, or of four where the reversed eight are turned by 32 bits.
func swapWords(dst, src []byte, turn int) int {
	n := len(src) / block * block
	for i := 0; i < n; i += block {
		d, s := (*[block]byte)(dst[i:]), (*[block]byte)(src[i:])
		binary.LittleEndian.PutUint64(d[0:], bits.RotateLeft64(binary.BigEndian.Uint64(s[0:]), turn))
		binary.LittleEndian.PutUint64(d[8:], bits.RotateLeft64(binary.BigEndian.Uint64(s[8:]), turn))
		binary.LittleEndian.PutUint64(d[16:], bits.RotateLeft64(binary.BigEndian.Uint64(s[16:]), turn))
		binary.LittleEndian.PutUint64(d[24:], bits.RotateLeft64(binary.BigEndian.Uint64(s[24:]), turn))
	}
	return n
}

// swapPlain swaps numbers of any size byte by byte.
func swapPlain(dst, src []byte, unit int) {
	if unit <= 1 {
		copy(dst, src)
		return
	}
	for ; len(src) >= unit; dst, src = dst[unit:], src[unit:] {
		for i, j := 0, unit-1; i <= j; i, j = i+1, j-1 {
			dst[i], dst[j] = src[j], src[i]
		}
	}
}
