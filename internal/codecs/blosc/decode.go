// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/shuffle"
)

// Decode implements [codec.BytesBytes]. It reads frames of any compressor, filter,
// element and block size, regardless of the configuration.
func (coder) Decode(dst, src []byte, most int64) ([]byte, error) {
	h, err := parse(src, most)
	if err != nil || h.content == 0 {
		return dst, err
	}
	n := len(dst)
	out := slices.Grow(dst, h.content)[:n+h.content]
	if err := h.decode(out[n:], src, 0); err != nil {
		return dst, err
	}
	return out, nil
}

// DecodeRange implements [codec.RangeDecoder]. It decodes only the blocks that overlap
// the range, with memory for one or two blocks.
func (coder) DecodeRange(dst, src []byte, off, size int64) error {
	h, err := parse(src, size)
	switch {
	case err != nil:
		return err
	case int64(h.content) != size:
		return corrupt("decodes to %s instead of %d", quantity.Count(h.content, "bytes"), size)
	case len(dst) == 0:
		return nil
	}
	return h.decode(dst, src, int(off))
}

// decode fills dst with the content from byte off on.
func (h header) decode(dst, src []byte, off int) error {
	if h.copied {
		copy(dst, src[headerSize+off:])
		return nil
	}
	d := decompressors[h.format].Get().(decompressor)
	defer decompressors[h.format].Put(d)
	u := unpacker{header: h, src: src, decompressor: d}
	defer u.release()
	for i := off / h.block; i*h.block < off+len(dst); i++ {
		if err := u.part(dst, i, off); err != nil {
			return err
		}
	}
	return nil
}

// decompressor undoes a compressor. One goroutine uses it at a time.
type decompressor interface {
	// decompress decodes src into dst. It fails unless that fills dst exactly.
	decompress(dst, src []byte) error
}

// unpacker decodes the blocks of one frame.
type unpacker struct {
	header
	src []byte
	decompressor
	filtered, partial *budget.Buffer // a block before its filter is undone, and one of which a part is wanted
}

func (u *unpacker) release() {
	u.filtered.Put()
	u.partial.Put()
}

// room returns memory for n bytes, kept in b.
func room(b **budget.Buffer, n int) []byte {
	if *b == nil {
		*b = budget.Get(int64(n))
	}
	return (*b).Bytes(int64(n))
}

// part decodes block i and copies what overlaps out, whose first byte is byte off of the
// content.
func (u *unpacker) part(out []byte, i, off int) error {
	from, to := u.span(i)
	// A block that is wanted as a whole is decoded to its place.
	if from >= off && to <= off+len(out) {
		return u.block(out[from-off:to-off:to-off], i)
	}
	whole := room(&u.partial, u.header.block)[:to-from]
	if err := u.block(whole, i); err != nil {
		return err
	}
	if from < off {
		copy(out, whole[off-from:])
	} else {
		copy(out[from-off:], whole)
	}
	return nil
}

// block fills dst with the content of block i.
func (u *unpacker) block(dst []byte, i int) error {
	streams := dst
	// Filtered bytes need memory of their own before the filter is undone.
	if u.filter != noFilter {
		streams = room(&u.filtered, u.header.block)[:len(dst)]
	}
	if err := u.decompressBlock(streams, number(u.src[headerSize+4*i:])); err != nil {
		if errors.Is(err, codec.ErrChecksum) {
			return fmt.Errorf("blosc: block %d: %w", i, err)
		}
		return corrupt("block %d: %w", i, err)
	}
	switch u.filter {
	case byBytes:
		shuffle.Unshuffle(dst, streams, u.element)
	case byBits:
		shuffle.Bitunshuffle(dst, streams, u.element)
	}
	return nil
}

// decompressBlock fills dst from the streams that begin at byte at of the frame.
func (u *unpacker) decompressBlock(dst []byte, at int64) error {
	streams := u.streams(len(dst))
	n := len(dst) / streams
	if n*streams != len(dst) {
		return fmt.Errorf("%s be divided into %s of one length", quantity.Count(len(dst), "bytes cannot"), quantity.Count(streams, "streams"))
	}
	if at < int64(headerSize+4*u.blocks()) {
		return fmt.Errorf("it begins at byte %d, within the header", at)
	}
	for j := range streams {
		// The frame must contain the length of the stream.
		if at > int64(len(u.src))-4 {
			return fmt.Errorf("stream %d begins at byte %d of %d", j, at, len(u.src))
		}
		length := number(u.src[at:])
		if at += 4; length > int64(len(u.src))-at {
			return fmt.Errorf("stream %d has %s from byte %d on, but the frame has %d", j, quantity.Count(length, "bytes"), at, len(u.src))
		}
		if err := u.stream(dst[j*n:(j+1)*n:(j+1)*n], u.src[at:at+length]); err != nil {
			return fmt.Errorf("stream %d: %w", j, err)
		}
		at += length
	}
	return nil
}

// stream decodes the stream src into dst.
func (u *unpacker) stream(dst, src []byte) error {
	// A stream as long as its content is not compressed.
	if len(src) == len(dst) {
		copy(dst, src)
		return nil
	}
	return u.decompress(dst, src)
}

// A frame is a header of 16 bytes, a table that says where each block begins, and the
// blocks. All numbers are little endian.
//
//	0  version of the format, 2
//	1  version of the compressor's format, 1
//	2  flags: the bits below, and the format of the compressed streams in the upper three
//	3  bytes of an element, 1 to 255
//	4  bytes of the decoded content (uint32)
//	8  bytes of a block, but for the last (uint32)
//	12 bytes of the frame (uint32)
//
// A block is one stream, or one for each byte of an element. A stream is its length
// (uint32) and that many bytes. If it is as long as its content, it is not compressed. In
// a frame that is a copy, the content follows the header.
const (
	headerSize     = 16
	formatVersion  = 2
	streamVersion  = 1
	maxContent     = math.MaxInt32 - headerSize
	mostTimes      = 1 << 16 // decoded bytes for each byte of a frame, at most: zstd has 128 KiB in 4
	maxElement     = 255
	maxSplit       = 16  // elements with more bytes are not split into streams
	minStream      = 128 // blocks of fewer elements are not split, shorter content not compressed
	flagShuffle    = 0x01
	flagCopy       = 0x02
	flagBitshuffle = 0x04
	flagReserved   = 0x08
	flagWhole      = 0x10 // blocks are one stream
	formatShift    = 5
)

// format is the compression of streams.
type format uint8

const (
	formatBloscLZ format = iota
	formatLZ4
	formatSnappy
	formatZlib
	formatZstd
	formats
)

// filter is how a block is shuffled before it is compressed.
type filter uint8

const (
	noFilter filter = iota
	byBytes
	byBits
)

// header is the header of a frame.
type header struct {
	format  format
	filter  filter
	copied  bool // the content is not compressed
	split   bool // blocks other than a short last one have a stream for each byte of an element
	element int  // bytes of an element
	content int  // bytes of the decoded content
	block   int  // bytes of a block
	encoded int  // bytes of the frame
}

// parse reads and checks the header of a frame whose content has at most most bytes.
func parse(src []byte, most int64) (header, error) {
	if len(src) < headerSize {
		return header{}, corrupt("%s too few for a header", quantity.Count(len(src), "bytes are"))
	}
	if v := src[0]; v != formatVersion {
		return header{}, corrupt("%w: version %d of the format; c-blosc 1 writes %d", codec.ErrUnsupported, v, formatVersion)
	}
	content, block, encoded := number(src[4:]), number(src[8:]), number(src[12:])
	switch {
	case encoded != int64(len(src)):
		return header{}, corrupt("the header says %s, but there are %d", quantity.Count(encoded, "bytes"), len(src))
	case content > maxContent || content/mostTimes > encoded: // check before anything is allocated
		return header{}, corrupt("the header says a content of %s, which %s decode to", quantity.Count(content, "bytes"), quantity.Count(encoded, "bytes cannot"))
	case content > most:
		return header{}, fmt.Errorf("%w: blosc: decodes to %s, at most %d are possible", codec.ErrTooLong, quantity.Count(content, "bytes"), most)
	case content == 0 && encoded > headerSize:
		return header{}, corrupt("%s the header of an empty frame", quantity.Count(encoded-headerSize, "bytes follow"))
	case content == 0:
		return header{copied: true, encoded: headerSize}, nil
	case block == 0 || block > content:
		return header{}, corrupt("blocks of %s in a content of %d", quantity.Count(block, "bytes"), content)
	case src[3] == 0:
		return header{}, corrupt("elements of 0 bytes")
	}
	h := header{element: int(src[3]), content: int(content), block: int(block), encoded: int(encoded)}
	return h, h.setFlags(src[2], src[1])
}

// setFlags reads the flags and the version of the compressor's format.
func (h *header) setFlags(flags, version byte) error {
	h.format, h.copied = format(flags>>formatShift), flags&flagCopy != 0
	switch {
	case flags&flagReserved != 0:
		return corrupt("%w: flags %#x of a later version", codec.ErrUnsupported, flags)
	case h.copied && h.content != h.encoded-headerSize:
		return corrupt("%s stored for a content of %d", quantity.Count(h.encoded-headerSize, "bytes are"), h.content)
	case h.copied:
		return nil
	case h.format >= formats:
		return corrupt("%w: compressor number %d", codec.ErrUnsupported, h.format)
	case version != streamVersion:
		return corrupt("%w: version %d of the format of compressor number %d", codec.ErrUnsupported, version, h.format)
	case h.blocks() > (h.encoded-headerSize)/4:
		return corrupt("no room for the table of %s in %s", quantity.Count(h.blocks(), "blocks"), quantity.Count(h.encoded, "bytes"))
	}
	switch {
	// Shuffling elements of one byte changes nothing.
	case flags&flagShuffle != 0 && h.element > 1:
		h.filter = byBytes
	case flags&flagBitshuffle != 0:
		h.filter = byBits
	}
	h.split = flags&flagWhole == 0 && splits(h.element, h.block) // old writers lack the flag and split by size
	return nil
}

// splits reports whether blocks are large enough, and elements small enough, to split.
func splits(element, block int) bool { return element <= maxSplit && block/element >= minStream }

// blocks returns how many blocks there are.
func (h header) blocks() int { return (h.content + h.block - 1) / h.block }

// span returns the range of block i in the content.
func (h header) span(i int) (from, to int) {
	return i * h.block, min((i+1)*h.block, h.content)
}

// streams returns the number of streams of a block with n bytes of content.
func (h header) streams(n int) int {
	if h.split && n == h.block {
		return h.element
	}
	return 1
}

// number reads an unsigned number of four bytes.
func number(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) }

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: blosc: %w", codec.ErrCorrupt, fmt.Errorf(format, args...))
}
