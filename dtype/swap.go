// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/binary"

	"varve.dev/zarr/internal/byteorder"
)

// LittleEndian reports whether the host stores the least significant byte of a number
// first.
func LittleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}

// SwapBytes copies src to dst and reverses the bytes of every number of unit bytes. A
// unit of 1 or less only copies. dst must be at least as long as src, and must be src
// itself or not overlap it. The length of src must be a multiple of unit.
func SwapBytes(dst, src []byte, unit int) { byteorder.Bytes(dst, src, unit) }

// Swap copies src, elements of a type of fixed width, to dst and reverses the bytes of
// every number. These are the numbers of [Type.Unit] bytes, in a struct those of every
// field. dst must be at least as long as src, and must be src itself or not overlap it.
func (t Type) Swap(dst, src []byte) {
	if t.unit != 0 {
		SwapBytes(dst, src, t.unit)
		return
	}
	// Most structs need no allocation.
	var room [16]numbers
	list := t.numbers(room[:0], 0)
	// step is a whole number of structs.
	step := max(1, nearby/t.size) * t.size
	for at := 0; at < len(src); at += step {
		piece := dst[at:min(at+step, len(src))]
		copy(piece, src[at:])
		for _, n := range list {
			n.swap(piece, t.size)
		}
	}
}

// nearby is the number of bytes of structs that are swapped together. They stay in the
// first-level cache while one number after another is swapped.
const nearby = 8 << 10

// numbers are adjacent numbers of a struct with the same width of more than one byte.
type numbers struct{ offset, count, unit int }

// numbers appends to list the numbers of a type that begins at offset within a struct.
func (t Type) numbers(list []numbers, offset int) []numbers {
	if t.unit == 0 {
		for h := t.fields; h != noFields; h = h.Value().next {
			f := h.Value().Field
			list = f.Type.numbers(list, offset+f.Offset)
		}
		return list
	}
	n, last := numbers{offset, t.size / t.unit, t.unit}, len(list)-1
	switch {
	// Single bytes have no order.
	case t.unit == 1:
	case last >= 0 && list[last].unit == n.unit && list[last].end() == offset:
		list[last].count += n.count
	default:
		list = append(list, n)
	}
	return list
}

func (n numbers) end() int { return n.offset + n.count*n.unit }

// manyNumbers is the count from which on the numbers of each struct are swapped together.
const manyNumbers = 8

// swap swaps the numbers in all structs of size bytes in b.
func (n numbers) swap(b []byte, size int) {
	if n.count >= manyNumbers {
		for at := 0; at+n.end() <= len(b); at += size {
			SwapBytes(b[at+n.offset:at+n.end()], b[at+n.offset:at+n.end()], n.unit)
		}
		return
	}
	for k := n.offset; k < n.end(); k += n.unit {
		swapEvery(b[min(k, len(b)):], n.unit, size)
	}
}

// swapEvery swaps the number of unit bytes at the start of b and every step bytes after
// it.
func swapEvery(b []byte, unit, step int) {
	switch unit {
	case 2:
		for at := 0; at+2 <= len(b); at += step {
			binary.LittleEndian.PutUint16(b[at:], binary.BigEndian.Uint16(b[at:]))
		}
	case 4:
		for at := 0; at+4 <= len(b); at += step {
			binary.LittleEndian.PutUint32(b[at:], binary.BigEndian.Uint32(b[at:]))
		}
	case 8:
		for at := 0; at+8 <= len(b); at += step {
			binary.LittleEndian.PutUint64(b[at:], binary.BigEndian.Uint64(b[at:]))
		}
	default:
		for at := 0; at+unit <= len(b); at += step {
			SwapBytes(b[at:at+unit], b[at:at+unit], unit)
		}
	}
}

// Ordered reports whether the elements of t depend on the byte order.
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
