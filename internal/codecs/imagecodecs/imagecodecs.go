// SPDX-License-Identifier: Apache-2.0

// Package imagecodecs has the codecs of the Python package imagecodecs that TIFF files
// need, under the names that references to such files have (kerchunk, tifffile and
// virtual-tiff): imagecodecs_lzw, imagecodecs_packbits, and the predictors
// imagecodecs_delta and imagecodecs_floatpred. Importing the package registers them.
//
// HorizontalDeltaCodec and ChunkyCodec are those of virtual-tiff. imagecodecs_zlib,
// imagecodecs_deflate and imagecodecs_zstd are other names of numcodecs.zlib and zstd.
// Codecs of whole images, such as JPEG, are registered too, but refuse with what helps.
//
// Section numbers in comments are those of "TIFF Revision 6.0" (Adobe, 1992).
package imagecodecs

import (
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// prefix is the prefix of names in the metadata of both formats.
const prefix = "imagecodecs_"

// corrupt returns a [codec.ErrCorrupt] of a codec with a reason.
func corrupt(id, format string, args ...any) error {
	return fmt.Errorf("%w: %s%s: %s", codec.ErrCorrupt, prefix, id, fmt.Sprintf(format, args...))
}

// misfit returns a [codec.ErrConfiguration] of a codec with a reason.
func misfit(id, format string, args ...any) error {
	return fmt.Errorf("%w: %s%s: %s", codec.ErrConfiguration, prefix, id, fmt.Sprintf(format, args...))
}

// decode decodes a configuration into dst. imagecodecs writes every option that is not
// set as null.
func decode(id string, configuration []byte, dst any) error {
	if err := codec.DecodeConfiguration(numcodecs.WithoutNulls(configuration), dst); err != nil {
		return fmt.Errorf("%w: %s%s: %w", codec.ErrConfiguration, prefix, id, err)
	}
	return nil
}

// effort is that of imagecodecs if none is given.
const effort = 6

func init() {
	alias("zlib", numcodecs.Zlib(effort))
	alias("deflate", numcodecs.Zlib(effort))
	alias("zstd", codec.ZstdChecksum(0, false))
	// These are the ones that references to TIFF files have.
	for _, id := range []string{"jetraw", "jpeg", "jpeg2k", "jpeg8", "jpegxl", "jpegxr", "lerc", "png", "webp"} {
		codec.Register(prefix+id, func([]byte) (any, error) {
			return nil, fmt.Errorf("%w: %q stores whole images, and is not read here; %s", codec.ErrUnsupported, prefix+id, Remedy)
		})
	}
}

// Remedy says what to do with TIFF files whose compression no codec decodes.
const Remedy = "write the file again, as with gdal_translate -co COMPRESS=DEFLATE"

// alias registers a codec of imagecodecs that has the same encoded form as another. Its
// configuration has at most a level, which only encoders need.
func alias(id string, same metadata.Extension) {
	codec.Register(prefix+id, func(configuration []byte) (any, error) {
		var m struct {
			Level float64 `json:"level"`
			Raw   bool    `json:"raw"`
		}
		if err := decode(id, configuration, &m); err != nil {
			return nil, err
		}
		if m.Raw {
			return nil, fmt.Errorf("%w: %s%s: raw streams, which have no checksum", codec.ErrUnsupported, prefix, id)
		}
		return codec.Default.New(same)
	})
}

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
		// Runs of two bytes are no shorter than the bytes, so others continue over them.
		n := 1
		for n < len(src) && n < mostPacked && runOf(src[n:]) < 3 {
			n++
		}
		dst = append(append(dst, byte(n-1)), src[:n]...)
		src = src[n:]
	}
	return dst, nil
}

// runOf returns how many bytes at the start are equal, at most those of one run.
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
			return dst, corrupt(packBitsID, "the run at byte %d lacks %s", all-len(src)-1, quantity.Count(need-len(src), "bytes"))
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

// The codecs that virtual-tiff 0.5 has of its own, in format 3.
const (
	horizontalName = "HorizontalDeltaCodec"
	chunkyName     = "ChunkyCodec"
)

func init() {
	codec.Register(horizontalName, newHorizontal)
	codec.Register(chunkyName, newChunky)
}

// newHorizontal makes the codec that is imagecodecs_delta along the last axis.
func newHorizontal(configuration []byte) (any, error) {
	if err := codec.DecodeConfiguration(configuration, &struct{}{}); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", codec.ErrConfiguration, horizontalName, err)
	}
	return newDelta(nil)
}

// chunky is the codec of chunky pixels: it stores elements so that the index along the
// first axis, which is that of samples, varies fastest.
type chunky struct {
	endian string
	typ    dtype.Type
	swaps  bool // the stored byte order is not that of the host
}

func newChunky(configuration []byte) (any, error) {
	c := struct {
		Endian string `json:"endian"`
	}{"little"}
	if err := codec.DecodeConfiguration(numcodecs.WithoutNulls(configuration), &c); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", codec.ErrConfiguration, chunkyName, err)
	}
	if c.Endian != "little" && c.Endian != "big" {
		return nil, fmt.Errorf("%w: %s: endian is %q, want \"little\" or \"big\"", codec.ErrConfiguration, chunkyName, c.Endian)
	}
	return &chunky{endian: c.Endian}, nil
}

// Bind implements [codec.ArrayBytes]. It refuses what predictor 3 makes, whose rows would
// be those of one sample; virtual-tiff cannot read it either.
func (c *chunky) Bind(spec codec.Spec) error {
	switch spec.Type.Kind() {
	case dtype.KindInt, dtype.KindUint, dtype.KindFloat, dtype.KindComplex:
	default:
		return fmt.Errorf("%w: %s: it does not take elements of %s", codec.ErrConfiguration, chunkyName, spec.Type)
	}
	if packed.Small(spec.Type) {
		return fmt.Errorf("%w: %s: it does not take elements of %s", codec.ErrConfiguration, chunkyName, spec.Type)
	}
	c.typ = spec.Type
	c.swaps = c.typ.Ordered() && byteorder.Little() != (c.endian == "little")
	return nil
}

// EncodedSize implements [codec.ArrayBytes].
func (c *chunky) EncodedSize(_ []int64, n int64) (int64, bool) { return n, true }

// move copies elements between their stored order and that of memory.
func (c *chunky) move(stored, data []byte, shape []int64, decode bool) {
	var room, more [8]int64
	size := c.typ.Size()
	a := strided.View{Data: stored, Shape: shape, Strides: room[:0], Size: size}
	step := int64(size)
	for _, n := range shape {
		a.Strides = append(a.Strides, step)
		step *= n
	}
	b := strided.View{Data: data, Shape: shape, Strides: strided.AppendStrides(more[:0], shape, size), Size: size}
	if decode {
		a, b = b, a
	}
	strided.Copy(a, b)
}

// Encode implements [codec.ArrayBytes].
func (c *chunky) Encode(dst []byte, src codec.Block) ([]byte, error) {
	from := len(dst)
	dst = slices.Grow(dst, len(src.Data))[:from+len(src.Data)]
	if len(src.Data) == 0 {
		return dst, nil
	}
	c.move(dst[from:], src.Data, src.Shape, false)
	if c.swaps {
		c.typ.Swap(dst[from:], dst[from:])
	}
	return dst, nil
}

// Decode implements [codec.ArrayBytes].
func (c *chunky) Decode(dst *codec.Block, src []byte) error {
	if len(src) != len(dst.Data) {
		return fmt.Errorf("%w: %s: %s, but the shape %d needs %d", codec.ErrCorrupt, chunkyName, quantity.Count(len(src), "bytes"), dst.Shape, len(dst.Data))
	}
	if len(src) == 0 {
		return nil
	}
	c.move(src, dst.Data, dst.Shape, true)
	if c.swaps {
		c.typ.Swap(dst.Data, dst.Data)
	}
	return nil
}
