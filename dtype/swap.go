package dtype

import (
	"encoding/binary"

	"varve.dev/zarr/internal/turn"
)

// LittleEndian reports whether the host keeps the least significant byte of a number first.
func LittleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}

// SwapBytes copies src to dst with the bytes of every number of unit bytes in reverse order; a unit of 1 or less just copies.
// dst has to be at least as long as src, and is src itself or does not overlap it; len(src) has to be a multiple of unit.
func SwapBytes(dst, src []byte, unit int) { turn.Bytes(dst, src, unit) }

// Swap copies src, elements of a type of fixed width, to dst with the bytes of every number in reverse order: of all numbers that
// [Type.Unit] is about, and of those of every field of a struct. dst is src itself or does not overlap it, and is at least as long.
func (t Type) Swap(dst, src []byte) {
	if t.unit != 0 {
		SwapBytes(dst, src, t.unit)
		return
	}
	var room [16]numbers
	list := t.numbers(room[:0], 0)
	step := max(1, nearby/t.size) * t.size
	for at := 0; at < len(src); at += step {
		piece := dst[at:min(at+step, len(src))]
		copy(piece, src[at:])
		for _, n := range list {
			n.swap(piece, t.size)
		}
	}
}

// nearby is how many bytes of structs are swapped number by number while they are in the first cache.
const nearby = 8 << 10

// numbers are members of a struct that follow each other and have the same width, more than one byte.
type numbers struct{ offset, count, unit int }

// numbers appends the numbers of a type that begins at an offset of a struct to list.
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
	case t.unit == 1:
	case last >= 0 && list[last].unit == n.unit && list[last].end() == offset:
		list[last].count += n.count
	default:
		list = append(list, n)
	}
	return list
}

func (n numbers) end() int { return n.offset + n.count*n.unit }

// manyNumbers are so many that they are swapped together.
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

// swapEvery swaps the first of the numbers in b, and those that are a multiple of step bytes behind it.
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
