// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/pierrec/lz4/v4"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

func init() { register("lz4", newLZ4) }

// LZ4 returns the metadata of numcodecs.lz4. It stores the number of bytes as 32 bits in
// little-endian order, and an LZ4 block. A higher acceleration is faster and compresses
// less; less than 1 means 1.
func LZ4(acceleration int) metadata.Extension {
	return extension("lz4", `{"acceleration":%d}`, acceleration)
}

const (
	lz4Header = 4          // bytes of the size
	lz4Most   = 0x7E000000 // bytes of a block, at most
	lz4Times  = 255        // decoded bytes for each byte of a block, at most
)

func newLZ4(configuration []byte) (any, error) {
	c := struct {
		Acceleration codec.Int `json:"acceleration"`
	}{1}
	if err := decode("lz4", configuration, &c); err != nil {
		return nil, err
	}
	if c.Acceleration > math.MaxInt32 {
		return nil, fmt.Errorf("%w: lz4: acceleration %d does not fit 32 bits", codec.ErrConfiguration, c.Acceleration)
	}
	return lz4Coder{int(max(1, c.Acceleration))}, nil
}

type lz4Coder struct{ acceleration int }

// MaxEncoded implements [codec.BytesBytes]. A literal takes a byte, and 255 of them one
// more.
func (lz4Coder) MaxEncoded(n int64) int64 {
	const ends = 64
	n = min(n, math.MaxInt64/2)
	return lz4Header + n + n/255 + ends
}

// compressors have tables of 16 KiB each. Their output equals that of the C library.
var compressors = sync.Pool{New: func() any { return new(lz4.CompressorCCompat) }}

// Encode implements [codec.BytesBytes].
func (c lz4Coder) Encode(dst, src []byte) ([]byte, error) {
	if len(src) > lz4Most {
		return dst, fmt.Errorf("%w: lz4: %d bytes, one block has at most %d; use shorter chunks", codec.ErrUnsupported, len(src), lz4Most)
	}
	n := len(dst)
	bound := lz4.CompressBlockBound(len(src))
	dst = slices.Grow(dst, lz4Header+bound)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	// The C library stores an empty source as one zero byte.
	if len(src) == 0 {
		return append(dst, 0), nil
	}
	z := compressors.Get().(*lz4.CompressorCCompat)
	defer compressors.Put(z)
	z.Acceleration = c.acceleration
	k, err := z.CompressBlock(src, dst[n+lz4Header:][:bound])
	if err != nil || k == 0 {
		return dst[:n], fmt.Errorf("lz4: %d bytes do not fit %d: %w", len(src), bound, err)
	}
	return dst[:n+lz4Header+k], nil
}

// Decode implements [codec.BytesBytes].
func (lz4Coder) Decode(dst, src []byte, most int64) ([]byte, error) {
	if len(src) <= lz4Header {
		return dst, fmt.Errorf("%w: lz4: %d bytes are too few for a size and a block", codec.ErrCorrupt, len(src))
	}
	size := int64(binary.LittleEndian.Uint32(src))
	src = src[lz4Header:]
	switch {
	case size/lz4Times > int64(len(src)): // check before the caller allocates them
		return dst, fmt.Errorf("%w: lz4: claims to have %d bytes, which %d cannot be", codec.ErrCorrupt, size, len(src))
	case size > most:
		return dst, fmt.Errorf("%w: lz4: claims to have %d bytes, want at most %d", codec.ErrTooLong, size, most)
	case size == 0:
		if len(src) != 1 || src[0] != 0 {
			return dst, fmt.Errorf("%w: lz4: %d bytes encode nothing", codec.ErrCorrupt, len(src))
		}
		return dst, nil
	}
	n := len(dst)
	dst = slices.Grow(dst, int(size))
	k, err := lz4.UncompressBlock(src, dst[n:n+int(size):n+int(size)])
	if err != nil || int64(k) != size {
		return dst[:n], fmt.Errorf("%w: lz4: the block does not have the %d bytes that it claims (error: %v)", codec.ErrCorrupt, size, err)
	}
	return dst[:n+k], nil
}
