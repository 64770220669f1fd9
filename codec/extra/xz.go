// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/crc64"

	"github.com/ulikunitz/xz/lzma"
	"varve.dev/zarr/codec"
)

// xzFile reads one or more consecutive .xz files (xz file format 1.2).
//
// The library's own reader allocates the dictionary that a block claims, however short
// the block is, and supports no filters. So xzFile reads the container, and the library
// only decodes its contents.
type xzFile struct {
	src     []byte // the rest
	out     []byte
	limit   int   // of the length of out
	allowed int64 // bytes of a dictionary, at most
}

const (
	xzMagic = "\xfd7zXZ\x00"
	xzHead  = len(xzMagic) + 2 + crc32.Size
	xzEnd   = "YZ"
)

// appendXZ decodes src and appends the result.
func appendXZ(dst, src []byte, most int, allowed int64) ([]byte, error) {
	x := xzFile{src, dst, len(dst) + most, allowed}
	for {
		if err := x.file(); err != nil {
			return dst, err
		}
		if len(x.src) == 0 {
			return x.out, nil
		}
	}
}

// take returns the next n bytes.
func (x *xzFile) take(n int) ([]byte, error) {
	if n > len(x.src) {
		return nil, corrupt("the file is truncated")
	}
	b := x.src[:n]
	x.src = x.src[n:]
	return b, nil
}

// file reads one file.
func (x *xzFile) file() error {
	head, err := x.take(xzHead)
	if err != nil {
		return err
	}
	if string(head[:len(xzMagic)]) != xzMagic {
		return corrupt("it does not begin like an .xz file")
	}
	flags := head[len(xzMagic):][:2]
	if err := matches(flags, head[xzHead-crc32.Size:]); err != nil {
		return err
	}
	if _, known := appendCheck(nil, flags[1], nil); flags[0] != 0 || !known {
		return fmt.Errorf("%w: checksum %d of an .xz file, with flags %#x", codec.ErrUnsupported, flags[1], flags[0])
	}
	var records []byte
	blocks := uint64(0)
	// The index begins with a zero byte, a block never does.
	for ; len(x.src) > 0 && x.src[0] != 0; blocks++ {
		if records, err = x.block(records, flags[1]); err != nil {
			return err
		}
	}
	end := appendEnd(nil, blocks, records, flags)
	if !bytes.HasPrefix(x.src, end) {
		return corrupt("the index does not match the blocks, or is truncated")
	}
	x.src = x.src[len(end):]
	return nil
}

// matches compares a stored CRC-32 with the CRC-32 of the data before it.
func matches(data, sum []byte) error {
	if crc32.ChecksumIEEE(data) != binary.LittleEndian.Uint32(sum) {
		return fmt.Errorf("%w: of a header", codec.ErrChecksum)
	}
	return nil
}

// appendEnd appends the index and footer that follow the blocks. The format allows only
// one form, so the reader compares bytes.
func appendEnd(dst []byte, blocks uint64, records, flags []byte) []byte {
	dst = append(binary.AppendUvarint(append(dst, 0), blocks), records...)
	// The index is padded to a multiple of four bytes.
	dst = append(dst, make([]byte, -len(dst)&3)...)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst))
	footer := append(binary.LittleEndian.AppendUint32(nil, uint32(len(dst)/4-1)), flags...)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(footer))
	return append(append(dst, footer...), xzEnd...)
}

// block reads a block and adds its record to the index.
func (x *xzFile) block(records []byte, check byte) ([]byte, error) {
	head, err := x.take((int(x.src[0]) + 1) * 4)
	if err != nil {
		return nil, err
	}
	h, err := readBlockHeader(head)
	if err != nil {
		return nil, err
	}
	// Refuse a false size before anything is allocated.
	if h.dictionary > x.allowed {
		return nil, tooLarge(h.dictionary, x.allowed)
	}
	before := len(x.out)
	out, used, err := appendChunks(x.out, x.src, x.limit-before, int(h.dictionary))
	if err != nil {
		return nil, err
	}
	data := out[before:]
	if h.stored != unknownSize && h.stored != uint64(used) || h.decoded != unknownSize && h.decoded != uint64(len(data)) {
		return nil, corrupt("the sizes of a block differ from its header")
	}
	for i := len(h.deltas) - 1; i >= 0; i-- {
		undelta(data, h.deltas[i])
	}
	x.src, x.out = x.src[used:], out
	padding := -used & 3
	want, _ := appendCheck(make([]byte, padding), check, data)
	got, err := x.take(len(want))
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(got, want) {
		return nil, fmt.Errorf("%w: of a block", codec.ErrChecksum)
	}
	size := len(head) + used + len(want) - padding
	return binary.AppendUvarint(binary.AppendUvarint(records, uint64(size)), uint64(len(data))), nil
}

// appendCheck appends the checksum of data, by its number in the format. It returns false
// if the number is unknown.
func appendCheck(dst []byte, check byte, data []byte) ([]byte, bool) {
	switch check {
	case checkNone:
		return dst, true
	case checkCRC32:
		return binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(data)), true
	case checkCRC64:
		return binary.LittleEndian.AppendUint64(dst, crc64.Checksum(data, crc64Table)), true
	case checkSHA256:
		sum := sha256.Sum256(data)
		return append(dst, sum[:]...), true
	}
	return dst, false
}

var crc64Table = crc64.MakeTable(crc64.ECMA)

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
