// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

const packBitsID = "packbits"

func init() { codec.Register(prefix+packBitsID, newPackBits) }

// PackBits returns the metadata of imagecodecs_packbits: runs of equal bytes, as the
// Macintosh and TIFF have them (section 9).
func PackBits() metadata.Extension { return metadata.Extension{Name: prefix + packBitsID} }

func newPackBits(configuration []byte) (any, error) {
	// The axis says where an encoder of imagecodecs begins new runs. Decoders need not
	// know.
	var m struct {
		Axis codec.Int `json:"axis"`
	}
	if err := decode(packBitsID, configuration, &m); err != nil {
		return nil, err
	}
	return packBits{}, nil
}

// packBits implements [codec.BytesBytes].
type packBits struct{}

// A byte of 0 to 127 says that one more than that many bytes follow as they are. One of
// 129 to 255 says that the next byte stands for 257 less that many. 128 is nothing.
const (
	mostPacked = 128
	noRun      = 128
	runBase    = 257
)

// MaxEncoded implements [codec.BytesBytes]. The worst choice is a count for each byte.
func (packBits) MaxEncoded(n int64) int64 {
	const header = 1 << 10
	return 2*min(n, math.MaxInt64/4) + header
}

// Encode implements [codec.BytesBytes].
func (packBits) Encode(dst, src []byte) ([]byte, error) {
	for len(src) > 0 {
		if n := runOf(src); n > 1 {
			dst = append(dst, byte(runBase-n), src[0])
			src = src[n:]
			continue
		}
		// Runs of two bytes are no shorter than the bytes, so others go on over them.
		n := 1
		for n < len(src) && n < mostPacked && runOf(src[n:]) < 3 {
			n++
		}
		dst = append(append(dst, byte(n-1)), src[:n]...)
		src = src[n:]
	}
	return dst, nil
}

// runOf returns how many bytes at the start are equal, as far as one run goes.
func runOf(b []byte) int {
	n := 1
	for n < len(b) && n < mostPacked && b[n] == b[0] {
		n++
	}
	return n
}

// Decode implements [codec.BytesBytes].
func (packBits) Decode(dst, src []byte, most int64) ([]byte, error) {
	from, all := len(dst), len(src)
	for len(src) > 0 {
		n, equal := int(src[0])+1, false
		src = src[1:]
		if n-1 == noRun {
			continue
		}
		if n > mostPacked {
			n, equal = runBase+1-n, true
		}
		need := n
		if equal {
			need = 1
		}
		if need > len(src) {
			return dst, corrupt(packBitsID, "the run at byte %d lacks %d bytes", all-len(src)-1, need-len(src))
		}
		if len(dst)-from+n > int(most) {
			return dst, tooLong(packBitsID, int(most))
		}
		if equal {
			for range n {
				dst = append(dst, src[0])
			}
		} else {
			dst = append(dst, src[:n]...)
		}
		src = src[need:]
	}
	return dst, nil
}
