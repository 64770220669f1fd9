// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"

	"varve.dev/zarr/virtual/scan"
)

// hybrid reads numbers of a few bits in Parquet's hybrid of runs and packed groups, one
// after the other. It needs no memory for them, however many a run claims to be.
type hybrid struct {
	data   []byte
	width  int    // of a number, in bits
	left   uint64 // numbers of the present run
	packed bool   // whether each of the run has bits of its own
	value  uint32 // that of an unpacked run
	bits   uint64 // that were read, the next ones lowest
	have   int    // the number of them
}

// newHybrid returns a reader of numbers with a width in bits.
func newHybrid(data []byte, width int) (*hybrid, error) {
	if width > 32 {
		return nil, scan.Corruptf("numbers of %d bits", width)
	}
	return &hybrid{data: data, width: width}, nil
}

// next returns the next number.
func (h *hybrid) next() (uint32, error) {
	for h.left == 0 {
		if err := h.begin(); err != nil {
			return 0, err
		}
	}
	h.left--
	if !h.packed {
		return h.value, nil
	}
	for h.have < h.width {
		if len(h.data) == 0 {
			return 0, errShort("packed numbers")
		}
		h.bits |= uint64(h.data[0]) << h.have
		h.data = h.data[1:]
		h.have += 8
	}
	x := uint32(h.bits & (1<<h.width - 1))
	h.bits >>= h.width
	h.have -= h.width
	return x, nil
}

// begin reads the head of a run.
func (h *hybrid) begin() error {
	head, n := binary.Uvarint(h.data)
	if n <= 0 {
		return errShort("runs")
	}
	h.data = h.data[n:]
	h.left, h.packed, h.bits, h.have = head>>1, head&1 != 0, 0, 0
	if h.packed { // in groups of eight
		if h.left > 1<<32 {
			return scan.Corruptf("a run of %d groups", h.left)
		}
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

// errShort is the error for a page that ends within what it has.
func errShort(what string) error { return scan.Corruptf("a page ends within its %s", what) }
