// SPDX-License-Identifier: Apache-2.0

package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression is how the buffers of batches are compressed.
type Compression uint8

// The compressions of Arrow.
const (
	Uncompressed Compression = iota
	LZ4                      // frames of LZ4
	Zstd                     // Zstandard
)

// Zstandard is used by one goroutine at a time for each buffer, so that memory stays
// within limits.
var (
	zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	})
	zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	})
)

// decompress returns the bytes of a buffer, which begins with their number, or with -1 if
// it is not compressed.
func (d *decoder) decompress(raw []byte) []byte {
	if len(raw) < 8 {
		d.corrupt("a compressed buffer has fewer than 8 bytes")
		return nil
	}
	n := int64(binary.LittleEndian.Uint64(raw))
	raw = raw[8:]
	switch {
	case n == -1:
		return raw
	case n < 0:
		d.corrupt("the length of a compressed buffer is wrong")
		return nil
	case n == 0 || !d.spend(n):
		return nil
	}
	out, err := inflate(d.codec, raw, n)
	if err != nil || int64(len(out)) != n {
		d.corrupt("a buffer does not decompress to the length that it says")
		return nil
	}
	return out
}

func inflate(c Compression, raw []byte, n int64) ([]byte, error) {
	if c == Zstd {
		z, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		return z.DecodeAll(raw, make([]byte, 0, n))
	}
	return readFrame(raw, make([]byte, n))
}

// compress returns a buffer as it is stored: as it is if it does not become shorter.
func compress(c Compression, raw []byte) ([]byte, error) {
	if c == Uncompressed || len(raw) == 0 {
		return raw, nil
	}
	out := binary.LittleEndian.AppendUint64(make([]byte, 0, 64+len(raw)/2), uint64(len(raw)))
	if c == Zstd {
		z, err := zstdEncoder()
		if err != nil {
			return nil, err
		}
		out = z.EncodeAll(raw, out)
	} else {
		var err error
		if out, err = appendFrame(out, raw); err != nil {
			return nil, err
		}
	}
	if len(out) < 8+len(raw) {
		return out, nil
	}
	out = binary.LittleEndian.AppendUint64(out[:0], ^uint64(0))
	return append(out, raw...), nil
}

// The frames of LZ4 are read and written here, block by block: the type that reads them
// from streams would make programs 70 KB larger. The format is in
// https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md.

var (
	errFrame = errors.New("no frame of LZ4")
	// frameHead begins a frame of blocks that are on their own and have up to 4 MiB: the
	// magic, the flags, and their checksum. No other sums follow.
	frameHead = []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73}
)

const (
	frameBlock = 4 << 20
	// history is how far back a block refers to those before it.
	history = 64 << 10
)

// readFrame fills out with what a frame has, and returns it. Checksums are not compared.
func readFrame(raw, out []byte) ([]byte, error) {
	if len(raw) < len(frameHead) || !bytes.HasPrefix(raw, frameHead[:4]) || raw[4]>>6 != 1 {
		return nil, errFrame
	}
	flags, head := raw[4], len(frameHead)
	if flags&0x08 != 0 { // the length of the content
		head += 8
	}
	if flags&0x01 != 0 || len(raw) < head { // a dictionary, which Arrow lacks
		return nil, errFrame
	}
	at := 0
	for raw = raw[head:]; len(raw) >= 4; {
		word := binary.LittleEndian.Uint32(raw)
		n := int64(word &^ (1 << 31))
		if raw = raw[4:]; word == 0 {
			if at != len(out) {
				return nil, errFrame
			}
			return out, nil
		}
		if n > int64(len(raw)) {
			return nil, errFrame
		}
		m := 0
		if word>>31 != 0 {
			if m = copy(out[at:], raw[:n]); int64(m) < n {
				return nil, errFrame
			}
		} else {
			var err error
			if m, err = lz4.UncompressBlockWithDict(raw[:n], out[at:], out[max(0, at-history):at]); err != nil {
				return nil, err
			}
		}
		at += m
		if raw = raw[n:]; flags&0x10 != 0 {
			if len(raw) < 4 {
				return nil, errFrame
			}
			raw = raw[4:]
		}
	}
	return nil, errFrame
}

// appendFrame appends a frame.
func appendFrame(out, raw []byte) ([]byte, error) {
	out = append(out, frameHead...)
	block := make([]byte, lz4.CompressBlockBound(min(len(raw), frameBlock)))
	for len(raw) > 0 {
		part := raw[:min(len(raw), frameBlock)]
		raw = raw[len(part):]
		n, err := lz4.CompressBlock(part, block, nil)
		if err != nil {
			return nil, err
		}
		if n == 0 || n >= len(part) { // it cannot be compressed
			out = append(binary.LittleEndian.AppendUint32(out, uint32(len(part))|1<<31), part...)
			continue
		}
		out = append(binary.LittleEndian.AppendUint32(out, uint32(n)), block[:n]...)
	}
	return append(out, 0, 0, 0, 0), nil
}
