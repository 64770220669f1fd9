// SPDX-License-Identifier: Apache-2.0

package parquet

import "encoding/binary"

// hybrid reads numbers of a few bits in Parquet's hybrid of runs and packed groups. It
// needs no memory for them, however many a run claims to be.
type hybrid struct {
	data   []byte
	width  int    // of a number, in bits
	left   uint64 // numbers of the present run
	run    []byte // what is left of a packed run
	packed bool   // whether each of the run has bits of its own
	value  uint32 // that of an unpacked run
	bits   uint64 // that were read, the next ones lowest
	have   int    // the number of them
}

// newHybrid returns a reader of numbers with a width in bits.
func newHybrid(data []byte, width int) (*hybrid, error) {
	if width > 32 {
		return nil, corruptf("numbers of %d bits", width)
	}
	return &hybrid{data: data, width: width}, nil
}

// read reads the next numbers.
func (h *hybrid) read(dst []uint32) error {
	for len(dst) > 0 {
		for h.left == 0 {
			if err := h.begin(); err != nil {
				return err
			}
		}
		n := int(min(h.left, uint64(len(dst))))
		if !h.packed {
			for i := range dst[:n] {
				dst[i] = h.value
			}
		} else if err := h.unpack(dst[:n]); err != nil {
			return err
		}
		h.left -= uint64(n)
		dst = dst[n:]
	}
	return nil
}

// unpack reads numbers of a packed run, from the least significant bit of each byte on.
func (h *hybrid) unpack(dst []uint32) error {
	data, bits, have, width := h.run, h.bits, h.have, h.width
	mask := uint64(1)<<width - 1
	for i := range dst {
		for have < width {
			if len(data) >= 4 && have <= 32 {
				bits |= uint64(binary.LittleEndian.Uint32(data)) << have
				data = data[4:]
				have += 32
				continue
			}
			if len(data) == 0 {
				return errShort("packed numbers")
			}
			bits |= uint64(data[0]) << have
			data = data[1:]
			have += 8
		}
		dst[i] = uint32(bits & mask)
		bits >>= width
		have -= width
	}
	h.run, h.bits, h.have = data, bits, have
	return nil
}

// begin reads the head of a run.
func (h *hybrid) begin() error {
	// The lowest bit of the head tells groups of packed numbers from a repeated one.
	head, n := binary.Uvarint(h.data)
	if n <= 0 {
		return errShort("runs")
	}
	h.data = h.data[n:]
	h.left, h.packed, h.bits, h.have = head>>1, head&1 != 0, 0, 0
	if h.packed { // in groups of eight
		if h.left > 1<<32 {
			return corruptf("a run of %d groups", h.left)
		}
		// The last group may lack the bits of numbers that are not there.
		n := min(h.left*uint64(h.width), uint64(len(h.data)))
		h.run, h.data = h.data[:n], h.data[n:]
		h.left *= 8
		return nil
	}
	size := (h.width + 7) / 8
	if len(h.data) < size {
		return errShort("runs")
	}
	var b [4]byte
	copy(b[:], h.data[:size])
	h.value, h.data = binary.LittleEndian.Uint32(b[:]), h.data[size:]
	return nil
}

// appendHybrid appends numbers with a width in bits, at least 1.
func appendHybrid(dst []byte, numbers []uint32, width int) []byte {
	for i := 0; i < len(numbers); {
		end := i + 1
		for end < len(numbers) && numbers[end] == numbers[i] {
			end++
		}
		if end-i >= 8 {
			dst = binary.AppendUvarint(dst, uint64(end-i)<<1)
			for k := 0; k < width; k += 8 {
				dst = append(dst, byte(numbers[i]>>k))
			}
			i = end
			continue
		}
		// Pack groups of eight, until one of them is a run.
		end = i
		for end < len(numbers) && !sameEight(numbers[end:]) {
			end += 8
		}
		groups := (end - i) / 8
		dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
		dst = appendPacked(dst, numbers[i:min(end, len(numbers))], width)
		i = end
	}
	return dst
}

// sameEight reports whether the first eight numbers are equal.
func sameEight(x []uint32) bool {
	if len(x) < 8 || x[0] != x[7] {
		return false
	}
	for _, y := range x[1:7] {
		if y != x[0] {
			return false
		}
	}
	return true
}

// appendPacked appends the bits of numbers, with zeros up to a multiple of eight numbers.
func appendPacked(dst []byte, numbers []uint32, width int) []byte {
	var bits uint64
	have := 0
	for _, x := range numbers {
		bits |= uint64(x) << have
		have += width
		for have >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(bits))
			bits >>= 32
			have -= 32
		}
	}
	// The group ends with a byte: eight numbers have width bytes.
	have += (8 - len(numbers)%8) % 8 * width
	for ; have > 0; have -= 8 {
		dst = append(dst, byte(bits))
		bits >>= 8
	}
	return dst
}
