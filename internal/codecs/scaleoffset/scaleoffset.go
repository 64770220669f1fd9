// SPDX-License-Identifier: Apache-2.0

// Package scaleoffset is the codec "scale_offset" (zarr-extensions), which stores
// (value - offset) * scale.
//
// It computes in the data type of the array, integer or floating-point. An integer
// overflow at any step is an error, and so is a stored integer that the scale does not
// divide. Floats are rounded after each step. On overflow they become infinite, or are an
// error if the type has no infinities.
//
// Importing the package registers it.
package scaleoffset

import (
	"encoding/json"
	"fmt"
	"math/bits"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
)

// Name is the name of the codec in metadata.
const Name = "scale_offset"

func init() { codec.Register(Name, New) }

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayArray].
func New(configuration []byte) (any, error) {
	var m struct {
		Offset json.RawMessage `json:"offset"`
		Scale  json.RawMessage `json:"scale"`
	}
	if err := codec.DecodeConfiguration(configuration, &m); err != nil {
		return nil, fmt.Errorf("%w: scale_offset: %w", codec.ErrConfiguration, err)
	}
	return &coder{offsetText: m.Offset, scaleText: m.Scale}, nil
}

// coder is the codec of one chain.
type coder struct {
	offsetText, scaleText json.RawMessage // nil for none

	typ           dtype.Type
	format        *number.Format
	offset, scale operand
	half          bool  // the type is float16
	low           int64 // limits of integers
	high          uint64
}

// operand is a number as each of the types that computations use.
type operand struct {
	given bool
	i     int64
	u     uint64
	f     float64
}

// Bind implements [codec.ArrayArray].
func (c *coder) Bind(spec codec.Spec) (codec.Spec, error) {
	out, err := c.bind(spec)
	if err != nil {
		return codec.Spec{}, fmt.Errorf("%w: scale_offset: %w", codec.ErrConfiguration, err)
	}
	return out, nil
}

func (c *coder) bind(spec codec.Spec) (codec.Spec, error) {
	c.typ, c.half = spec.Type, spec.Type == dtype.Of[dtype.Float16]()
	known := false
	if c.format, known = number.Of(spec.Type); !known {
		return spec, fmt.Errorf("%s is neither an integer nor a floating-point type", spec.Type)
	}
	if c.format.Carrier != number.Float {
		c.low, c.high = c.format.Limits()
	}
	var err error
	if c.offset, err = c.operand(c.offsetText); err != nil {
		return spec, fmt.Errorf("offset: %w", err)
	}
	if c.scale, err = c.operand(c.scaleText); err != nil {
		return spec, fmt.Errorf("scale: %w", err)
	}
	if s := c.scale; s.given && s.i == 0 && s.u == 0 && s.f == 0 {
		return spec, fmt.Errorf("scale is 0, which loses all values")
	}
	return c.encodeFill(spec)
}

// operand reads a number of the configuration.
func (c *coder) operand(text []byte) (operand, error) {
	if text == nil {
		return operand{}, nil
	}
	elem, err := c.typ.ParseFill(text)
	if err != nil {
		return operand{}, err
	}
	b := number.NewBlock()
	defer b.Free()
	b.I[0], b.U[0], b.F[0] = 0, 0, 0
	c.format.Load(b, elem)
	if f := b.F[0]; f-f != 0 {
		return operand{}, fmt.Errorf("%s is not finite, which loses all values", text)
	}
	return operand{true, b.I[0], b.U[0], b.F[0]}, nil
}

func (c *coder) encodeFill(spec codec.Spec) (codec.Spec, error) {
	if spec.Fill == nil {
		return spec, nil
	}
	fill := make([]byte, len(spec.Fill))
	if at := c.run(fill, spec.Fill, c.encodeBlock); at >= 0 {
		return spec, fmt.Errorf("fill value: %s", c.reason(spec.Fill, "(%s - offset) * scale"))
	}
	spec.Fill = fill
	return spec, nil
}

// EncodedShape implements [codec.ArrayArray].
func (c *coder) EncodedShape(dst, shape []int64) ([]int64, error) { return append(dst, shape...), nil }

// Encode implements [codec.ArrayArray]. A value without an encoded form in the data type
// wraps [dtype.ErrInvalid].
func (c *coder) Encode(dst *codec.Block, src codec.Block) error {
	if at := c.run(dst.Data, src.Data, c.encodeBlock); at >= 0 {
		elem := src.Data[at*c.format.Bytes:][:c.format.Bytes]
		return fmt.Errorf("%w: scale_offset: element %d: %s", dtype.ErrInvalid, number.Index(src.Shape, at), c.reason(elem, "(%s - offset) * scale"))
	}
	return nil
}

// Decode implements [codec.ArrayArray]. A stored value that no value of the array has
// wraps [codec.ErrCorrupt].
func (c *coder) Decode(dst *codec.Block, src codec.Block) error {
	if at := c.run(dst.Data, src.Data, c.decodeBlock); at >= 0 {
		elem := src.Data[at*c.format.Bytes:][:c.format.Bytes]
		return fmt.Errorf("%w: scale_offset: element %d: %s", codec.ErrCorrupt, number.Index(src.Shape, at), c.reason(elem, "%s / scale + offset"))
	}
	return nil
}

// reason says which computation failed.
func (c *coder) reason(elem []byte, formula string) string {
	return fmt.Sprintf(formula+", with offset %s and scale %s, is not in %s at every step",
		c.typ.AppendText(nil, elem), orElse(c.offsetText, "0"), orElse(c.scaleText, "1"), c.typ)
}

func orElse(text []byte, other string) string {
	if text == nil {
		return other
	}
	return string(text)
}

// run computes dst from src. It returns the index of the first element without a result,
// or -1.
func (c *coder) run(dst, src []byte, compute func(b *number.Block, n int) int) int {
	b := number.NewBlock()
	defer b.Free()
	for done := 0; len(src) > 0; {
		size := min(len(src), number.Size*c.format.Bytes)
		n := c.format.Load(b, src[:size])
		if at := compute(b, n); at >= 0 {
			return done + at
		}
		c.format.Store(dst[:size], b)
		dst, src, done = dst[size:], src[size:], done+n
	}
	return -1
}

func (c *coder) encodeBlock(b *number.Block, n int) int {
	switch c.format.Carrier {
	case number.Signed:
		return c.encodeSigned(b.I[:n])
	case number.Unsigned:
		return c.encodeUnsigned(b.U[:n])
	}
	return c.encodeFloats(b.F[:n])
}

func (c *coder) decodeBlock(b *number.Block, n int) int {
	switch c.format.Carrier {
	case number.Signed:
		return c.decodeSigned(b.I[:n])
	case number.Unsigned:
		return c.decodeUnsigned(b.U[:n])
	}
	return c.decodeFloats(b.F[:n])
}

func (c *coder) encodeFloats(x []float64) int {
	if c.offset.given {
		offset := c.offset.f
		for i, v := range x {
			x[i] = v - offset
		}
		// Each operation is rounded to the data type.
		if at := c.round(x); at >= 0 {
			return at
		}
	}
	if !c.scale.given {
		return -1
	}
	scale := c.scale.f
	for i, v := range x {
		x[i] = v * scale
	}
	return c.round(x)
}

func (c *coder) decodeFloats(x []float64) int {
	if c.scale.given {
		scale := c.scale.f
		for i, v := range x {
			x[i] = v / scale
		}
		if at := c.round(x); at >= 0 {
			return at
		}
	}
	if !c.offset.given {
		return -1
	}
	offset := c.offset.f
	for i, v := range x {
		x[i] = v + offset
	}
	return c.round(x)
}

// round rounds results to the data type. Rounding the result of one operation to float64
// first does not change it for types with a significand of at most 25 bits, nor does
// rounding to float32 for float16. It returns the index of the first result that the type
// does not have, or -1.
func (c *coder) round(x []float64) int {
	switch c.format.Bytes {
	case 8:
		return -1
	case 4:
		for i, v := range x {
			x[i] = float64(float32(v))
		}
		return -1
	}
	// Fast path for float16.
	if c.half {
		for i, v := range x {
			x[i] = float64(dtype.FromFloat32(float32(v)).Float32())
		}
		return -1
	}
	return c.roundSlowly(x)
}

// roundSlowly is round for any format.
func (c *coder) roundSlowly(x []float64) int {
	l := c.format.Layout
	for i, v := range x {
		bits, verdict := l.Round(v, number.NearestEven)
		if verdict != number.Fits && (verdict != number.Beyond || l.Special != number.IEEE) {
			return i
		}
		x[i] = l.Float64(bits)
	}
	return -1
}

// one returns the scale, 1 by default.
func (o operand) one() (int64, uint64) {
	if !o.given {
		return 1, 1
	}
	return o.i, o.u
}

func (c *coder) encodeSigned(x []int64) int {
	offset, low, high := c.offset.i, c.low, int64(c.high)
	scale, _ := c.scale.one()
	for i, v := range x {
		d := v - offset
		// The difference has overflowed if v and offset have different signs, and d does
		// not have the sign of v.
		overflow := (v^offset)&(v^d) < 0
		p, ok := multiply(d, scale)
		if overflow || !ok || d < low || d > high || p < low || p > high {
			return i
		}
		x[i] = p
	}
	return -1
}

// multiply returns a*b. ok is false if that overflows.
func multiply(a, b int64) (int64, bool) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	upper := int64(high) - a>>63&b - b>>63&a // of the signed product
	return int64(low), upper == int64(low)>>63
}

func (c *coder) encodeUnsigned(x []uint64) int {
	offset, most := c.offset.u, c.high
	_, scale := c.scale.one()
	for i, v := range x {
		// If v is less than offset, the difference wraps around, and the next check
		// refuses it.
		over, p := bits.Mul64(v-offset, scale)
		if v < offset || over != 0 || p > most {
			return i
		}
		x[i] = p
	}
	return -1
}

func (c *coder) decodeSigned(x []int64) int {
	offset, low, high := c.offset.i, c.low, int64(c.high)
	scale, _ := c.scale.one()
	for i, v := range x {
		q := v
		if scale != 1 {
			// The smallest integer divided by -1 overflows.
			if q = v / scale; q*scale != v || v == low && scale == -1 {
				return i
			}
		}
		s := q + offset
		// The sum has overflowed if its sign differs from those of both operands.
		if (s^q)&(s^offset) < 0 || s < low || s > high {
			return i
		}
		x[i] = s
	}
	return -1
}

func (c *coder) decodeUnsigned(x []uint64) int {
	offset, most := c.offset.u, c.high
	_, scale := c.scale.one()
	for i, v := range x {
		q := v
		if scale != 1 {
			if q = v / scale; q*scale != v {
				return i
			}
		}
		// Compare with a difference: a sum could overflow.
		if q > most-offset {
			return i
		}
		x[i] = q + offset
	}
	return -1
}
