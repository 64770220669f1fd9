// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"math"
	"math/bits"

	"github.com/klauspost/compress/zstd"

	"varve.dev/zarr/internal/budget"
)

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
