// SPDX-License-Identifier: Apache-2.0

// Package bitround is the codec "bitround" (zarr-extensions). It rounds numbers to some
// bits when it encodes them, so that they compress better. Decoding only copies.
//
// Of floats, and of both parts of complex numbers, it keeps bits of the fraction. Of
// integers it keeps bits from the highest one that is set. It rounds to the nearest, ties
// to even, and rounds negative integers by their magnitude. NaN stays unchanged.
//
// Importing the package registers it as "bitround". Package codec/numcodecs has the older
// "numcodecs.bitround".
package bitround

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
)

// Name is the name of the codec in metadata.
const Name = "bitround"

func init() {
	codec.Register(Name, New)
	codec.Register("https://codec.zarrs.dev/array_to_array/bitround", New) // the former name in zarrs
}

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayArray]. If it is to
// keep more bits than a data type has, it changes nothing.
func New(configuration []byte) (any, error) {
	var c struct {
		Keep *codec.Int `json:"keepbits"`
	}
	if err := codec.DecodeConfiguration(configuration, &c); err != nil {
		return nil, fmt.Errorf("%w: bitround: %w", codec.ErrConfiguration, err)
	}
	switch {
	case c.Keep == nil:
		return nil, fmt.Errorf("%w: bitround: keepbits is missing", codec.ErrConfiguration)
	case *c.Keep < 1:
		return nil, fmt.Errorf("%w: bitround: keepbits is %d, want 1 or more", codec.ErrConfiguration, *c.Keep)
	}
	// No number has more than 64 bits, and int may have only 32.
	return &coder{keep: int(min(*c.Keep, 64))}, nil
}

type coder struct {
	keep   int
	format *number.Format // of the numbers that elements are made of
}

// Bind implements [codec.ArrayArray].
func (c *coder) Bind(spec codec.Spec) (codec.Spec, error) {
	numbers, known := numbersOf(spec.Type)
	// Rounding up may carry to infinity, so floats without one are refused.
	if f, ok := number.Of(numbers); known && ok && (f.Carrier != number.Float || f.Layout.Special == number.IEEE) {
		c.format = f
		return spec, nil
	}
	return codec.Spec{}, fmt.Errorf("%w: bitround: %s is not a type of integers, floats with infinities, or complex numbers of these", codec.ErrConfiguration, spec.Type)
}

// numbersOf returns the type of the numbers that elements consist of. It is int64 for
// datetimes and timedeltas.
func numbersOf(t dtype.Type) (dtype.Type, bool) {
	switch t.Kind() {
	case dtype.KindDatetime, dtype.KindTimedelta:
		return dtype.Int64, true
	case dtype.KindComplex:
		// Both parts of a complex number are rounded separately.
		name := part(t.Name())
		numbers, err := dtype.Parse(name, nil)
		return numbers, err == nil
	}
	return t, true
}

// part returns the name of the type of both parts of complex numbers.
func part(name string) string {
	switch name {
	case "complex64":
		return "float32"
	case "complex128":
		return "float64"
	}
	return name[len("complex_"):]
}

// EncodedShape implements [codec.ArrayArray].
func (c *coder) EncodedShape(dst, shape []int64) ([]int64, error) { return append(dst, shape...), nil }

// Encode implements [codec.ArrayArray].
func (c *coder) Encode(dst *codec.Block, src codec.Block) error {
	if c.format.Carrier == number.Float {
		c.format.RoundFraction(dst.Data, src.Data, c.keep)
		return nil
	}
	b := number.NewBlock()
	defer b.Free()
	out, in := dst.Data, src.Data
	for len(in) > 0 {
		size := min(len(in), number.Size*c.format.Bytes)
		n := c.format.Load(b, in[:size])
		c.format.RoundMagnitude(b, n, c.keep)
		c.format.Store(out[:size], b)
		out, in = out[size:], in[size:]
	}
	return nil
}

// Decode implements [codec.ArrayArray].
func (c *coder) Decode(dst *codec.Block, src codec.Block) error {
	copy(dst.Data, src.Data)
	return nil
}
