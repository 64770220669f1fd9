// SPDX-License-Identifier: Apache-2.0

package arrow

import (
	"bytes"
	"encoding/binary"
	"io"
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
	case n > d.room:
		d.err = d.r.exceeds()
		return nil
	case n == 0:
		return nil
	}
	d.spend(n)
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
	out, src := make([]byte, n), lz4.NewReader(bytes.NewReader(raw))
	if _, err := io.ReadFull(src, out); err != nil {
		return nil, err
	}
	if m, _ := src.Read(make([]byte, 1)); m != 0 {
		return nil, io.ErrShortBuffer
	}
	return out, nil
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
		b := bytes.NewBuffer(out)
		z := lz4.NewWriter(b)
		if _, err := z.Write(raw); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		out = b.Bytes()
	}
	if len(out) < 8+len(raw) {
		return out, nil
	}
	out = binary.LittleEndian.AppendUint64(out[:0], ^uint64(0))
	return append(out, raw...), nil
}
