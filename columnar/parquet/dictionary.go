// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"math/bits"
)

const (
	// mostDictionary bounds the values of a dictionary in bytes, and mostIndices their
	// number.
	mostDictionary = 1 << 20
	mostIndices    = 1 << 17
	// trialRows are those after which at most half of the values may be new ones.
	trialRows = 1 << 13
)

// numbered has the different values of a column and the number of each of its values.
type numbered struct {
	plain   []byte // the values
	count   int
	numbers []uint32
}

// bitsOf returns the width of the numbers in bits.
func (n *numbered) bitsOf() int { return max(1, bits.Len(uint(max(n.count, 1)-1))) }

// smaller reports whether the dictionary is clearly smaller than plain values.
func (n *numbered) smaller(plain int) bool {
	return len(n.plain)+len(n.numbers)*n.bitsOf()/8 < plain-plain/4
}

// full reports whether a dictionary of count values after i rows is not worth it.
func (n *numbered) full(i int) bool {
	return len(n.plain) > mostDictionary || n.count > mostIndices || i >= trialRows && n.count > i/2
}

// numberFixed numbers the values of 2, 4 or 8 bytes. It returns nil if a dictionary is
// not worth it.
func numberFixed(values []byte, width int) *numbered {
	rows := len(values) / width
	n := &numbered{numbers: make([]uint32, rows)}
	// An open hash table with the number of each value after its key.
	size := 1 << 10
	keys, slots := make([]uint64, size), make([]uint32, size)
	shift := 64 - bits.TrailingZeros(uint(size))
	for i := range rows {
		var x uint64
		switch width {
		case 2:
			x = uint64(binary.LittleEndian.Uint16(values[2*i:]))
		case 4:
			x = uint64(binary.LittleEndian.Uint32(values[4*i:]))
		default:
			x = binary.LittleEndian.Uint64(values[8*i:])
		}
		at := spread(x) >> shift
		for slots[at] != 0 && keys[at] != x {
			at = (at + 1) & uint64(size-1)
		}
		if slots[at] != 0 {
			n.numbers[i] = slots[at] - 1
			continue
		}
		n.numbers[i] = uint32(n.count)
		n.count++
		n.plain = append(n.plain, values[i*width:(i+1)*width]...)
		keys[at], slots[at] = x, uint32(n.count)
		if n.full(i) {
			return nil
		}
		if n.count*2 > size {
			size, shift = 2*size, shift-1
			keys, slots = rehash(keys, slots, size, shift)
		}
	}
	if !n.smaller(len(values)) {
		return nil
	}
	return n
}

// spread mixes the bits of a key into the upper ones. Floats differ in their upper bits,
// and integers in their lower ones.
func spread(x uint64) uint64 {
	x ^= x >> 32
	return x * 0x9e3779b97f4a7c15
}

func rehash(keys []uint64, slots []uint32, size, shift int) ([]uint64, []uint32) {
	k, s := make([]uint64, size), make([]uint32, size)
	for i, slot := range slots {
		if slot == 0 {
			continue
		}
		at := spread(keys[i]) >> shift
		for s[at] != 0 {
			at = (at + 1) & uint64(size-1)
		}
		k[at], s[at] = keys[i], slot
	}
	return k, s
}

// numberTexts numbers byte arrays, or values of another fixed size. It returns nil if a
// dictionary is not worth it.
func numberTexts(count int, fixed bool, at func(i int) []byte) *numbered {
	n := &numbered{numbers: make([]uint32, count)}
	seen := map[string]uint32{}
	plain := 0
	for i := range count {
		text := at(i)
		plain += len(text)
		if !fixed {
			plain += 4
		}
		number, ok := seen[string(text)]
		if !ok {
			number = uint32(n.count)
			seen[string(text)] = number
			n.count++
			if !fixed {
				n.plain = binary.LittleEndian.AppendUint32(n.plain, uint32(len(text)))
			}
			n.plain = append(n.plain, text...)
			if n.full(i) {
				return nil
			}
		}
		n.numbers[i] = number
	}
	if !n.smaller(plain) {
		return nil
	}
	return n
}
