// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/binary"
	"fmt"

	"varve.dev/zarr/internal/byteorder"
)

// Swap copies src, elements of a type of fixed width, to dst and reverses the bytes of
// every number. These are the numbers of [Type.Unit] bytes, in a struct those of every
// field. dst must be at least as long as src, and must be src itself or not overlap it.
func (t Type) Swap(dst, src []byte) {
	if t.unit != 0 {
		byteorder.Bytes(dst, src, t.unit)
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
		for f := range t.eachField() {
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
	// Many numbers side by side are swapped by vector instructions. A few are faster one
	// number at a time, through all structs.
	if n.count >= manyNumbers {
		for at := 0; at+n.end() <= len(b); at += size {
			byteorder.Bytes(b[at+n.offset:at+n.end()], b[at+n.offset:at+n.end()], n.unit)
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
			byteorder.Bytes(b[at:at+unit], b[at:at+unit], unit)
		}
	}
}

// Ordered reports whether the elements of t depend on the byte order.
func (t Type) Ordered() bool { return t.unit > 1 || t.unit == 0 && t.anyField(Type.Ordered) }

// small reports whether the bytes of an element have unused bits; see [Type.Normalize].
func (t Type) small() bool {
	if t.kind != KindStruct {
		return t.Bits() > 0 && t.Bits() < 8
	}
	return t.anyField(Type.small)
}

// Normalize sets the unused bits of consecutive elements to the values that they have in
// memory: they repeat the sign of an integer and are 0 in a float. Integers and floats of
// fewer than 8 bits have such bits, and structs with such fields.
func (t Type) Normalize(elems []byte) {
	switch {
	case t.kind == KindStruct:
		for f := range t.eachField() {
			for at := f.Offset; f.Type.small() && at < len(elems); at += t.size {
				f.Type.Normalize(elems[at : at+f.Type.size])
			}
		}
	case t.small():
		unused := 8 - t.Bits()
		if t.kind == KindInt {
			for i, b := range elems {
				// The arithmetic shift repeats the sign.
				elems[i] = byte(int8(b<<unused) >> unused)
			}
			return
		}
		for i, b := range elems {
			elems[i] = b << unused >> unused
		}
	}
}

// checkSmall returns an error for bytes that Normalize would change.
func (t Type) checkSmall(elems []byte) error {
	for _, b := range elems {
		one := [1]byte{b}
		if t.Normalize(one[:]); one[0] != b {
			if t.kind == KindInt {
				return fmt.Errorf("%w: %d does not fit %s", ErrInvalid, int8(b), t)
			}
			return fmt.Errorf("%w: %d does not fit %s", ErrInvalid, b, t)
		}
	}
	return nil
}
