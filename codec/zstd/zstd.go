// Package zstd is the codec that stores chunks as Zstandard frames (zarr-extensions,
// codec "zstd"; RFC 8878). Importing the package registers it as "zstd".
//
// It writes one frame that states its decoded size, and reads any number of frames with
// or without one.
package zstd

import (
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/config"
	"varve.dev/zarr/metadata"
)

const (
	minLevel     = -(1 << 17)
	maxLevel     = 22
	defaultLevel = 3 // what level 0 stands for
)

func init() { codec.Register("zstd", New) }

// Extension returns the metadata of the codec. Level goes from -131072, the fastest, to
// 22, the smallest, and 0 is the default, 3; [New] refuses others. The library has four
// efforts that levels are mapped to: up to 2, 3 to 5, 6 to 9, and above. With checksum,
// each chunk ends with 4 bytes that its content is checked against.
func Extension(level int, checksum bool) metadata.Extension {
	return metadata.Extension{
		Name:          "zstd",
		Configuration: fmt.Appendf(nil, `{"level":%d,"checksum":%t}`, level, checksum),
	}
}

// New is the codec's [codec.Factory]. It returns a [codec.BytesBytes]. Missing members
// mean level 0, no checksum.
func New(configuration []byte) (any, error) {
	var c struct {
		Level    config.Int `json:"level"`
		Checksum bool       `json:"checksum"`
	}
	if err := config.Decode(configuration, &c); err != nil {
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
	level    int // as it is configured
}

// Complete implements [codec.Completer].
func (c coder) Complete(e metadata.Extension) metadata.Extension {
	return metadata.Extension{Name: e.Name, Configuration: Extension(c.level, c.checksum).Configuration}
}

// MaxEncoded implements [codec.BytesBytes]. Blocks that do not shrink are stored with 3
// bytes each; the rest allows for small blocks, several frames, and frames that are to be
// skipped.
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
	if len(src) == 0 {
		return dst, fmt.Errorf("%w: zstd: no frame", codec.ErrCorrupt)
	}
	out, err := appendDecoded(dst, src, int(most))
	switch {
	case errors.Is(err, zstd.ErrCRCMismatch):
		return dst, fmt.Errorf("%w: zstd: content of a frame", codec.ErrChecksum)
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		if n, ok := claim(src); ok && n/mostRatio > uint64(len(src)) { // or a caller would get it more and more memory
			return dst, fmt.Errorf("%w: zstd: a frame of %d bytes claims to hold %d", codec.ErrCorrupt, len(src), n)
		}
		return dst, fmt.Errorf("%w: zstd: decodes to more than %d bytes", codec.ErrTooLong, most)
	case err != nil:
		return dst, fmt.Errorf("%w: zstd: %w", codec.ErrCorrupt, err)
	}
	return out, nil
}

// mostRatio is how many bytes one byte of a frame decodes to at most: a block of one
// byte, repeated, takes 4 bytes for 128 KiB.
const mostRatio = 32 << 10

// Claim implements [codec.Claimer]: a frame may say how long its content is. Others may
// follow it.
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
