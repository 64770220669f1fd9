// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/ulikunitz/xz/lzma"

	"varve.dev/zarr/codec"
)

// blockHeader is the header of a block in an .xz file.
type blockHeader struct {
	stored, decoded uint64 // bytes of the LZMA2 stream and of its decoded data; may be unknownSize
	deltas          []int  // distances, in bytes
	dictionary      int64  // bytes
}

// readBlockHeader parses a whole header, including its first byte and checksum.
func readBlockHeader(b []byte) (blockHeader, error) {
	h := blockHeader{stored: unknownSize, decoded: unknownSize}
	n := len(b) - crc32.Size
	if err := matches(b[:n], b[n:]); err != nil {
		return h, err
	}
	const filters, reserved, hasStored, hasDecoded = 0x03, 0x3c, 0x40, 0x80
	flags, r := b[1], fields{b: b[2:n]}
	if flags&reserved != 0 {
		return h, fmt.Errorf("%w: flags %#x of a block", codec.ErrUnsupported, flags)
	}
	if flags&hasStored != 0 {
		h.stored = r.number()
	}
	if flags&hasDecoded != 0 {
		h.decoded = r.number()
	}
	// The flags have the number of filters minus one.
	for i := range flags&filters + 1 {
		if err := h.addFilter(&r, i == flags&filters); err != nil {
			return h, err
		}
	}
	if r.bad || len(bytes.Trim(r.b, "\x00")) > 0 {
		return h, corrupt("the header of a block is malformed")
	}
	return h, nil
}

// addFilter reads a filter. The last must be LZMA2, and all others deltas.
func (h *blockHeader) addFilter(r *fields, last bool) error {
	id := r.number()
	p := r.take(r.number())
	switch {
	case r.bad:
		return nil // the caller reports it
	case last && id == filterLZMA2 && len(p) == 1:
		size, err := lzma.DecodeDictCap(p[0])
		h.dictionary = size
		return err
	case !last && id == filterDelta && len(p) == 1:
		h.deltas = append(h.deltas, int(p[0])+1)
		return nil
	}
	return fmt.Errorf("%w: filter %#x of an .xz file with %d bytes of properties; only delta (0x3) is, followed by LZMA2 (0x21)",
		codec.ErrUnsupported, id, len(p))
}

// fields reads fields one after the other.
type fields struct {
	b   []byte // the rest
	bad bool   // a field was malformed
}

// number reads a number with seven bits in each byte, the lowest bits first.
func (r *fields) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// take reads n bytes.
func (r *fields) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}
