// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
)

func init() { registerFilter[packBits]("packbits") }

// PackBits returns the metadata of numcodecs.packbits. It stores the number of unused
// bits of the last byte, and then eight bools per byte, the first in the highest bit. The
// encoded array has one axis.
func PackBits() metadata.Extension { return filterExtension("packbits", struct{}{}) }

type packBits struct{}

func (p *packBits) parse(configuration []byte) error {
	return codec.DecodeConfiguration(configuration, &struct{}{})
}

// Bind implements [codec.ArrayArray].
func (p *packBits) Bind(spec codec.Spec) (codec.Spec, error) {
	if spec.Type.Kind() != dtype.KindBool {
		return codec.Spec{}, fmt.Errorf("%w: numcodecs.packbits: %s is not bool", codec.ErrConfiguration, spec.Type)
	}
	return codec.Spec{Type: dtype.Uint8, Fill: spec.Fill, Rank: 1}, nil
}

// EncodedShape implements [codec.ArrayArray].
func (p *packBits) EncodedShape(dst, shape []int64) ([]int64, error) {
	n, ok := checked.Product(shape...)
	if !ok {
		return dst, fmt.Errorf("%w: numcodecs.packbits: no chunk can have the shape %d", codec.ErrConfiguration, shape)
	}
	return append(dst, 1+checked.CeilDiv(n, 8)), nil
}

// Encode implements [codec.ArrayArray].
func (p *packBits) Encode(dst *codec.Block, src codec.Block) error {
	// The first byte has the number of unused bits.
	dst.Data[0] = byte(-len(src.Data) & 7)
	out, in := dst.Data[1:], src.Data
	for ; len(in) >= 8; in, out = in[8:], out[1:] {
		out[0] = in[0]<<7 | in[1]<<6 | in[2]<<5 | in[3]<<4 | in[4]<<3 | in[5]<<2 | in[6]<<1 | in[7]
	}
	// The bits that the last byte does not use are zero.
	if len(in) > 0 {
		out[0] = 0
		for i, v := range in {
			out[0] |= v << (7 - i)
		}
	}
	return nil
}

// Decode implements [codec.ArrayArray]. Bits beyond the last element may have any value.
func (p *packBits) Decode(dst *codec.Block, src codec.Block) error {
	if want := byte(-len(dst.Data) & 7); src.Data[0] != want {
		return fmt.Errorf("%w: numcodecs.packbits: the first byte says that %s padding, %s %d", codec.ErrCorrupt, quantity.Count(src.Data[0], "bits are"), quantity.Count(len(dst.Data), "elements leave"), want)
	}
	out, in := dst.Data, src.Data[1:]
	for ; len(out) >= 8; in, out = in[1:], out[8:] {
		*(*[8]byte)(out) = spread[in[0]]
	}
	for i := range out {
		out[i] = in[0] >> (7 - i) & 1
	}
	return nil
}

// spread maps a byte to its eight bools.
var spread = func() (table [256][8]byte) {
	for b := range table {
		for i := range table[b] {
			table[b][i] = byte(b >> (7 - i) & 1)
		}
	}
	return table
}()
