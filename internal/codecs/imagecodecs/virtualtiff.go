// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strided"
)

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
	if err := codec.DecodeConfiguration(codec.WithoutNulls(configuration), &c); err != nil {
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
	if spec.Type.Small() {
		return fmt.Errorf("%w: %s: it does not take elements of %s", codec.ErrConfiguration, chunkyName, spec.Type)
	}
	c.typ = spec.Type
	c.swaps = c.typ.Ordered() && dtype.LittleEndian() != (c.endian == "little")
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
		return fmt.Errorf("%w: %s: %d bytes, but the shape %d needs %d", codec.ErrCorrupt, chunkyName, len(src), dst.Shape, len(dst.Data))
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
