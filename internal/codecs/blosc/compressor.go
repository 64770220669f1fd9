// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/quantity"
)

// lz4Streams decompresses LZ4 blocks.
type lz4Streams struct{}

func (lz4Streams) decompress(dst, src []byte) error {
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return err
	}
	return filled(dst, n)
}

// filled returns an error unless n is the length of dst.
func filled(dst []byte, n int) error {
	if n != len(dst) {
		return fmt.Errorf("%s instead of %d", quantity.Count(n, "bytes"), len(dst))
	}
	return nil
}

// lz4Writer is the fast compressor.
type lz4Writer struct{ c lz4.CompressorCCompat }

// newLZ4Writer returns a compressor with the acceleration of c-blosc.
func newLZ4Writer(level int) *lz4Writer {
	return &lz4Writer{lz4.CompressorCCompat{Acceleration: 10 - level}}
}

func (w *lz4Writer) compress(dst, src []byte) int {
	n, err := w.c.CompressBlock(src, dst)
	if err != nil {
		return 0 // no room
	}
	return n
}

// lz4HCWriter is the high-compression compressor.
type lz4HCWriter struct{ c lz4.CompressorHC }

func newLZ4HCWriter(level int) *lz4HCWriter {
	return &lz4HCWriter{lz4.CompressorHC{Level: lz4.CompressionLevel(1 << max(level-1, 1))}} // candidates for each match
}

func (w *lz4HCWriter) compress(dst, src []byte) int {
	n, err := w.c.CompressBlock(src, dst)
	if err != nil {
		return 0 // no room
	}
	return n
}

// snappyStreams decompresses Snappy blocks.
type snappyStreams struct{}

func (snappyStreams) decompress(dst, src []byte) error {
	n, err := s2.DecodedLen(src) // check before decoding allocates
	if err != nil {
		return err
	}
	if err := filled(dst, n); err != nil {
		return err
	}
	_, err = s2.Decode(dst, src)
	return err
}

func (snappyStreams) compress(dst, src []byte) int {
	most := s2.MaxEncodedLen(len(src))
	b := budget.Get(int64(most))
	defer b.Put()
	return fit(dst, s2.EncodeSnappy(b.Bytes(int64(most)), src))
}

// fit copies src to dst. It returns the length of src, 0 if dst is too short.
func fit(dst, src []byte) int {
	if len(src) > len(dst) {
		return 0
	}
	return copy(dst, src)
}

// zlibReader decompresses zlib streams. It takes 40 KiB of memory.
type zlibReader struct {
	src bytes.Reader
	r   io.ReadCloser
	one [1]byte // for a byte after the last, which should not come
}

func (z *zlibReader) decompress(dst, src []byte) error {
	z.src.Reset(src)
	defer z.src.Reset(nil)
	if err := z.reset(); err != nil {
		return err
	}
	n, err := io.ReadFull(z.r, dst)
	if err == nil {
		n, err = z.r.Read(z.one[:]) // checks the checksum
	}
	switch {
	case errors.Is(err, zlib.ErrChecksum):
		return fmt.Errorf("%w: zlib", codec.ErrChecksum)
	case n > 0 && (err == nil || err == io.EOF):
		return fmt.Errorf("more than %s", quantity.Count(len(dst), "bytes"))
	case err != io.EOF:
		return err
	case z.src.Len() > 0:
		return fmt.Errorf("%s too many", quantity.Count(z.src.Len(), "bytes"))
	}
	return nil
}

// reset begins again at the source.
func (z *zlibReader) reset() (err error) {
	if z.r == nil {
		z.r, err = zlib.NewReader(&z.src)
		return err
	}
	return z.r.(zlib.Resetter).Reset(&z.src, nil)
}

// zlibWriter makes zlib streams.
type zlibWriter struct {
	w   *zlib.Writer
	dst []byte
	n   int
}

func newZlibWriter(level int) *zlibWriter {
	z := new(zlibWriter)
	w, err := zlib.NewWriterLevel(z, level)
	if err != nil {
		panic(err) // impossible: the level is valid
	}
	z.w = w
	return z
}

// Write implements [io.Writer]. It fails if the destination is too short.
func (z *zlibWriter) Write(p []byte) (int, error) {
	n := copy(z.dst[z.n:], p)
	z.n += n
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func (z *zlibWriter) compress(dst, src []byte) int {
	z.dst, z.n = dst, 0
	defer func() { z.dst = nil }()
	z.w.Reset(z)
	if _, err := z.w.Write(src); err != nil {
		return 0
	}
	if err := z.w.Close(); err != nil {
		return 0
	}
	return z.n
}

// zstdReader decompresses Zstandard frames.
type zstdReader struct{ d *zstd.Decoder }

func newZstdReader() any {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxWindow(math.MaxInt32), // a window takes no memory, because the destination is the history
	)
	if err != nil {
		panic(err) // options that the library refuses
	}
	return &zstdReader{d}
}

func (z *zstdReader) decompress(dst, src []byte) error {
	out, err := z.d.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return err
	}
	return filled(dst, len(out))
}

// zstdLevels are the levels of libzstd that c-blosc takes.
var zstdLevels = [10]int{1, 1, 3, 5, 7, 9, 11, 13, 15, 22}

// An encoder takes memory for its window. A window no larger than the source saves
// memory.
const (
	minWindowLog = 17
	maxWindowLog = 23
)

// zstdWriter writes Zstandard frames. It has an encoder for every window size.
type zstdWriter struct {
	effort   zstd.EncoderLevel
	encoders [maxWindowLog - minWindowLog + 2]*zstd.Encoder
}

func newZstdWriter(level int) *zstdWriter {
	return &zstdWriter{effort: zstd.EncoderLevelFromZstd(zstdLevels[level])}
}

// encoder returns the encoder with the least memory for n bytes.
func (z *zstdWriter) encoder(n int) *zstd.Encoder {
	log := min(max(bits.Len(uint(max(n-1, 0))), minWindowLog), maxWindowLog)
	whole, i := n <= 1<<log, log-minWindowLog
	if !whole {
		i++
	}
	if z.encoders[i] == nil {
		e, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(z.effort),
			zstd.WithEncoderCRC(false),
			zstd.WithEncoderConcurrency(1), // chunks are encoded in parallel instead
			zstd.WithWindowSize(1<<log),
			zstd.WithAllLitEntropyCompression(true), // shuffled numbers have few matches, but entropy coding shrinks them
			zstd.WithSingleSegment(whole),
			zstd.WithLowerEncoderMem(whole),
		)
		if err != nil {
			panic(err) // options that the library refuses
		}
		z.encoders[i] = e
	}
	return z.encoders[i]
}

func (z *zstdWriter) compress(dst, src []byte) int {
	e := z.encoder(len(src))
	most := int64(e.MaxEncodedSize(len(src)))
	b := budget.Get(most)
	defer b.Put()
	return fit(dst, e.EncodeAll(src, b.Bytes(most)[:0]))
}
