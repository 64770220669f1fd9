// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"encoding/binary"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/shuffle"
)

// Encode implements [codec.BytesBytes]. It stores a copy if the content does not shrink.
// It returns [codec.ErrLimit] for more than 2^31-17 bytes, the most that a frame holds.
func (c coder) Encode(dst, src []byte) ([]byte, error) {
	if len(src) > maxContent {
		return dst, fmt.Errorf("%w: blosc: %d bytes, a frame has at most %d; use smaller chunks", codec.ErrLimit, len(src), maxContent)
	}
	dst = slices.Grow(dst, headerSize+len(src))
	frame := dst[len(dst) : len(dst)+headerSize+len(src)]
	block, split := c.blockFor(len(src))
	n := 0
	if c.level > 0 && len(src) >= minStream {
		n = c.pack(frame, src, block, split)
	}
	flags := c.flags(split)
	// Store a copy if the content does not shrink.
	if n == 0 {
		flags |= flagCopy
		n = headerSize + copy(frame[headerSize:], src)
	}
	frame[0], frame[1], frame[2], frame[3] = formatVersion, streamVersion, flags, byte(c.element)
	putNumber(frame[4:], len(src))
	putNumber(frame[8:], block)
	putNumber(frame[12:], n)
	return dst[:len(dst)+n], nil
}

// flags returns the flags of a frame whose blocks are split or not.
func (c coder) flags(split bool) byte {
	flags := byte(c.kind.format()) << formatShift
	switch c.filter {
	case byBytes:
		flags |= flagShuffle
	case byBits:
		flags |= flagBitshuffle
	}
	if !split {
		flags |= flagWhole
	}
	return flags
}

// compressor makes streams. One goroutine uses it at a time.
type compressor interface {
	// compress encodes src into dst. It returns the number of bytes, 0 if dst is too
	// short.
	compress(dst, src []byte) int
}

// pack writes the table and the blocks of a frame. It returns the bytes of the frame, 0
// if dst is too short.
func (c coder) pack(frame, src []byte, block int, split bool) int {
	blocks := (len(src) + block - 1) / block
	at := headerSize + 4*blocks
	if at > len(frame) {
		return 0
	}
	pool := c.kind.pool(c.level)
	comp := pool.Get().(compressor)
	defer pool.Put(comp)
	var filtered *budget.Buffer
	if c.filter != noFilter {
		filtered = budget.Get(int64(block))
		defer filtered.Put()
	}
	for i := range blocks {
		putNumber(frame[headerSize+4*i:], at)
		b := src[i*block : min((i+1)*block, len(src))]
		streams := 1
		// A last block that is shorter is not split.
		if split && len(b) == block {
			streams = c.element
		}
		if at = packBlock(frame, at, c.filtered(filtered, b), streams, comp); at == 0 {
			return 0
		}
	}
	return at
}

// filtered returns the shuffled bytes of a block, in buf.
func (c coder) filtered(buf *budget.Buffer, b []byte) []byte {
	switch c.filter {
	case byBytes:
		out := buf.Bytes(int64(len(b)))
		shuffle.Shuffle(out, b, c.element)
		return out
	case byBits:
		out := buf.Bytes(int64(len(b)))
		shuffle.Bitshuffle(out, b, c.element)
		return out
	}
	return b
}

// packBlock writes a block at byte at of the frame. It returns where the block ends, 0 if
// dst is too short.
func packBlock(frame []byte, at int, b []byte, streams int, c compressor) int {
	n := len(b) / streams
	for j := range streams {
		src := b[j*n : (j+1)*n]
		room := len(frame) - at - 4
		if room <= 0 {
			return 0
		}
		length := c.compress(frame[at+4:at+4+min(room, n)], src)
		// Store the content if it does not shrink.
		if length == 0 || length >= n {
			if room < n {
				return 0
			}
			length = copy(frame[at+4:], src)
		}
		putNumber(frame[at:], length)
		at += 4 + length
	}
	return at
}

func putNumber(b []byte, n int) { binary.LittleEndian.PutUint32(b, uint32(n)) }
