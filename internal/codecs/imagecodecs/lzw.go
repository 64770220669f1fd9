// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

const lzwID = "lzw"

func init() { codec.Register(prefix+lzwID, newLZW) }

// LZW returns the metadata of imagecodecs_lzw: LZW as TIFF has it (section 13), with
// codes of 9 to 12 bits, the highest bit first.
func LZW() metadata.Extension { return metadata.Extension{Name: prefix + lzwID} }

func newLZW(configuration []byte) (any, error) {
	if err := decode(lzwID, configuration, &struct{}{}); err != nil {
		return nil, err
	}
	return lzw{}, nil
}

// lzw implements [codec.BytesBytes].
type lzw struct{}

// The codes that are not strings, and the sizes of codes.
const (
	clearCode = 256 // forget all strings
	endCode   = 257
	firstCode = 258 // of a string that is not a single byte
	minWidth  = 9   // bits
	maxWidth  = 12
	codes     = 1 << maxWidth
)

// MaxEncoded implements [codec.BytesBytes]. The worst choice of a simple writer is a code
// of 12 bits for each byte.
func (lzw) MaxEncoded(n int64) int64 {
	const header = 1 << 10
	return min(n, math.MaxInt64/2) + min(n, math.MaxInt64/2)/2 + header
}

// Decode implements [codec.BytesBytes]. As other readers of TIFF do, it accepts a strip
// without an end code if all bytes are there, and ignores what follows an end code.
func (lzw) Decode(dst, src []byte, most int64) ([]byte, error) {
	if len(src) > 1 && src[0] == 0 && src[1]&1 != 0 {
		return dst, corrupt(lzwID, "codes begin with their lowest bit, as very old programs wrote them; write the file again with tiffcp or gdal_translate")
	}
	from := len(dst)
	dst = slices.Grow(dst, int(most))
	d := lzwDecoders.Get().(*lzwDecoder)
	n, err := d.decode(dst[from:from+int(most)], src)
	lzwDecoders.Put(d)
	return dst[:from+n], err
}

// Encode implements [codec.BytesBytes].
func (lzw) Encode(dst, src []byte) ([]byte, error) {
	e := lzwEncoders.Get().(*lzwEncoder)
	dst = e.encode(dst, src)
	lzwEncoders.Put(e)
	return dst, nil
}

// tooLong returns a [codec.ErrTooLong].
func tooLong(id string, most int) error {
	return fmt.Errorf("%s%s: %w: more than %d", prefix, id, codec.ErrTooLong, most)
}
