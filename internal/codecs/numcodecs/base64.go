// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
)

func init() { register("base64", newBase64) }

// Base64 returns the metadata of numcodecs.base64, which stores three bytes as four
// letters (RFC 4648), without line ends.
func Base64() metadata.Extension { return extension("base64", `{}`) }

func newBase64(configuration []byte) (any, error) {
	if err := decode("base64", configuration, &struct{}{}); err != nil {
		return nil, err
	}
	return base64Coder{}, nil
}

type base64Coder struct{}

// letters refuses bits that no encoder sets.
var letters = base64.StdEncoding.Strict()

// MaxEncoded implements [codec.BytesBytes].
func (base64Coder) MaxEncoded(n int64) int64 {
	groups := n/3 + min(n%3, 1)
	return min(groups, math.MaxInt64/4) * 4
}

// Encode implements [codec.BytesBytes].
func (base64Coder) Encode(dst, src []byte) ([]byte, error) {
	return letters.AppendEncode(dst, src), nil
}

// Decode implements [codec.BytesBytes]. The library skips line ends, so the length of the
// result is checked.
func (base64Coder) Decode(dst, src []byte, most int64) ([]byte, error) {
	size := len(src) / 4 * 3
	// Up to two letters '=' fill up the last group. They stand for no bytes.
	for i := len(src); i > max(0, len(src)-2) && src[i-1] == '='; i-- {
		size--
	}
	switch {
	case len(src)%4 != 0:
		return dst, fmt.Errorf("%w: base64: %s, want a multiple of 4", codec.ErrCorrupt, quantity.Count(len(src), "letters"))
	case int64(size) > most:
		return dst, fmt.Errorf("%w: base64: %s, want those of at most %s", codec.ErrTooLong, quantity.Count(len(src), "letters"), quantity.Count(most, "bytes"))
	}
	n := len(dst)
	dst = slices.Grow(dst, size)
	// The library writes whole groups of 8 bytes if dst has room for them, so limit dst.
	k, err := letters.Decode(dst[n:n+size:n+size], src)
	if err != nil || k != size {
		return dst[:n], fmt.Errorf("%w: base64: %s for %s, want %d (error: %v)", codec.ErrCorrupt, quantity.Count(len(src), "letters stand"), quantity.Count(k, "bytes"), size, err)
	}
	return dst[:n+k], nil
}
