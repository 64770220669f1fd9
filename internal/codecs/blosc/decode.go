// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
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
		return corrupt("decodes to %d bytes instead of %d", h.content, size)
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
		return fmt.Errorf("%d bytes cannot be divided into %d streams of one length", len(dst), streams)
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
			return fmt.Errorf("stream %d has %d bytes from byte %d on, but the frame has %d", j, length, at, len(u.src))
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
