// SPDX-License-Identifier: Apache-2.0

// Package zstd is the codec "zstd" (zarr-extensions; RFC 8878), which stores chunks as
// Zstandard frames. Importing the package registers it.
//
// It writes one frame, which states its decoded size. It reads any number of frames,
// which need not state it.
package zstd

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
)

const (
	minLevel     = -(1 << 17)
	maxLevel     = 22
	defaultLevel = 3 // level 0 means it
)

func init() { codec.Register("zstd", New) }

// New is the [codec.Factory] of the codec. It returns a [codec.BytesBytes]. Missing
// members mean level 0, no checksum.
func New(configuration []byte) (any, error) {
	var c struct {
		Level    codec.Int `json:"level"`
		Checksum bool      `json:"checksum"`
	}
	if err := codec.DecodeConfiguration(configuration, &c); err != nil {
		return nil, fmt.Errorf("%w: zstd: %w", codec.ErrConfiguration, err)
	}
	if c.Level < minLevel || c.Level > maxLevel {
		return nil, fmt.Errorf("%w: zstd level %d is not within %d to %d", codec.ErrConfiguration, c.Level, minLevel, maxLevel)
	}
	level := c.Level
	if level == 0 {
		level = defaultLevel
	}
	return coder{zstd.EncoderLevelFromZstd(int(level)), c.Checksum, int(c.Level)}, nil
}

type coder struct {
	effort   zstd.EncoderLevel
	checksum bool
	level    int // in the configuration
}

// Guarded implements [codec.Guarded].
func (c coder) Guarded() bool { return c.checksum }

// Complete implements [coding.Completer].
func (c coder) Complete(e metadata.Extension) metadata.Extension {
	return metadata.Extension{Name: e.Name, Configuration: codec.ZstdChecksum(c.level, c.checksum).Configuration}
}

// MaxEncoded implements [codec.BytesBytes]. A block that does not shrink takes 3 more
// bytes. The rest allows for small blocks, several frames, and skippable frames.
func (coder) MaxEncoded(n int64) int64 {
	const frames = 1 << 10
	return min(n, math.MaxInt64/2) + min(n, math.MaxInt64/2)/64 + frames
}

// Encode implements [codec.BytesBytes].
func (c coder) Encode(dst, src []byte) ([]byte, error) {
	k := kindFor(c.effort, c.checksum, len(src))
	e, err := k.take()
	if err != nil {
		return dst, fmt.Errorf("zstd: %w", err)
	}
	defer k.release(e)
	return e.EncodeAll(src, dst), nil
}

// Decode implements [codec.BytesBytes].
func (coder) Decode(dst, src []byte, most int64) ([]byte, error) {
	// The library decodes an empty source without an error.
	if len(src) == 0 {
		return dst, fmt.Errorf("%w: zstd: no frame", codec.ErrCorrupt)
	}
	out, err := appendDecoded(dst, src, int(most))
	switch {
	case errors.Is(err, zstd.ErrCRCMismatch):
		return dst, fmt.Errorf("%w: zstd: content of a frame", codec.ErrChecksum)
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		if n, ok := claim(src); ok && n/mostRatio > uint64(len(src)) { // the caller would retry with more and more memory
			return dst, fmt.Errorf("%w: zstd: a frame of %s claims to hold %d", codec.ErrCorrupt, quantity.Count(len(src), "bytes"), n)
		}
		return dst, fmt.Errorf("%w: zstd: decodes to more than %s", codec.ErrTooLong, quantity.Count(most, "bytes"))
	case err != nil:
		return dst, fmt.Errorf("%w: zstd: %w", codec.ErrCorrupt, err)
	}
	return out, nil
}

// mostRatio is the largest number of bytes that one byte of a frame decodes to: a block
// of 4 bytes can repeat one byte 128 Ki times.
const mostRatio = 32 << 10

// Claim implements [codec.Claimer]. A frame may state the length of its content. Further
// frames may follow it.
func (coder) Claim(src []byte) (int64, bool) {
	n, ok := claim(src)
	return int64(n), ok && n <= math.MaxInt64 && n/mostRatio <= uint64(len(src))
}

func claim(src []byte) (uint64, bool) {
	var h zstd.Header
	if err := h.Decode(src[:min(len(src), zstd.HeaderMaxSize)]); err != nil || h.Skippable {
		return 0, false
	}
	return h.FrameContentSize, h.HasFCS
}

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
