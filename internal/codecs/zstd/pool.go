// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// An encoder takes memory for its window, up to 8 MiB, and for tables. Windows no larger
// than the data keep encoders of small chunks small. All arrays share pools of encoders
// and decoders.
const (
	minWindowLog = 17 // a block: with less, encoders do not shrink further
	maxWindowLog = 23 // the largest that every decoder must support
)

var (
	encoders [zstd.SpeedBestCompression + 1][2][maxWindowLog - minWindowLog + 2]sync.Pool // of *zstd.Encoder, by kind
	decoders sync.Pool                                                                    // of *zstd.Decoder
)

// kind selects an encoder.
type kind struct {
	effort    zstd.EncoderLevel
	checksum  bool
	windowLog int  // bits of the window's size in bytes
	whole     bool // all data fit into the window
}

// kindFor returns the kind of encoder with the least memory for n bytes.
func kindFor(effort zstd.EncoderLevel, checksum bool, n int) kind {
	log := min(max(bits.Len(uint(max(n-1, 0))), minWindowLog), maxWindowLog)
	return kind{effort, checksum, log, n <= 1<<log}
}

func (k kind) pool() *sync.Pool {
	sum, size := 0, k.windowLog-minWindowLog
	if k.checksum {
		sum = 1
	}
	if !k.whole {
		size++
	}
	return &encoders[k.effort][sum][size]
}

func (k kind) take() (*zstd.Encoder, error) {
	if e, ok := k.pool().Get().(*zstd.Encoder); ok {
		return e, nil
	}
	return zstd.NewWriter(nil,
		zstd.WithEncoderLevel(k.effort),
		zstd.WithEncoderCRC(k.checksum),
		zstd.WithEncoderConcurrency(1), // chunks are encoded in parallel instead
		zstd.WithWindowSize(1<<k.windowLog),
		zstd.WithAllLitEntropyCompression(true), // shuffled numbers have few matches, but entropy coding shrinks them
		zstd.WithSingleSegment(k.whole),         // states the decoded size also of tiny data
		zstd.WithLowerEncoderMem(k.whole),       // a window that never moves needs no history buffer
		zstd.WithZeroFrames(true),
	)
}

func (k kind) release(e *zstd.Encoder) { k.pool().Put(e) }

// appendDecoded appends the decoded src, at most most bytes. The capacity of dst bounds
// the decoder, not its memory limit, which would refuse valid frames whose window is
// larger than their content.
func appendDecoded(dst, src []byte, most int) ([]byte, error) {
	d, ok := decoders.Get().(*zstd.Decoder)
	if !ok {
		var err error
		d, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxWindow(math.MaxInt32), // a window takes no memory: dst is the history
		)
		if err != nil {
			return dst, err
		}
	}
	defer decoders.Put(d)
	n := len(dst)
	dst = slices.Grow(dst, most)
	out, err := d.DecodeAll(src, dst[n:n:n+most])
	if err != nil {
		return dst, err
	}
	return dst[:n+len(out)], nil
}
