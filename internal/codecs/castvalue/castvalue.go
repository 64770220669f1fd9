// SPDX-License-Identifier: Apache-2.0

// Package castvalue is the codec "cast_value" (zarr-extensions). It stores the values of
// an array in another data type, for all integer and floating-point types.
//
// A value in the scalar map becomes the mapped one. A value that the other type can
// represent is kept. Any other value is rounded. If it is out of range, it is clamped or
// wrapped if the configuration asks for it. Otherwise it is an error that names the value
// and its position.
package castvalue

import (
	"encoding/json"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/metadata"
)

// Name is the name of the codec in metadata.
const Name = "cast_value"

func init() { codec.Register(Name, New) }

var modes = map[string]number.Mode{
	codec.NearestEven: number.NearestEven, codec.TowardsZero: number.TowardsZero, codec.TowardsPositive: number.TowardsPositive,
	codec.TowardsNegative: number.TowardsNegative, codec.NearestAway: number.NearestAway,
}

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayArray].
func New(configuration []byte) (any, error) {
	c := new(coder)
	if err := c.parse(configuration); err != nil {
		return nil, fmt.Errorf("%w: cast_value: %w", codec.ErrConfiguration, err)
	}
	return c, nil
}

func (c *coder) parse(configuration []byte) error {
	var m struct {
		DataType   json.RawMessage `json:"data_type"`
		Rounding   *string         `json:"rounding"`
		OutOfRange *string         `json:"out_of_range"`
		ScalarMap  json.RawMessage `json:"scalar_map"`
	}
	err := codec.DecodeConfiguration(configuration, &m)
	switch {
	case err != nil:
		return err
	case m.DataType == nil:
		return fmt.Errorf("data_type is missing")
	}
	if c.stored, err = parseType(m.DataType); err != nil {
		return fmt.Errorf("data_type: %w", err)
	}
	if m.Rounding != nil {
		known := false
		if c.mode, known = modes[*m.Rounding]; !known {
			return fmt.Errorf("rounding is %q, want nearest-even, towards-zero, towards-positive, towards-negative or nearest-away", *m.Rounding)
		}
	}
	if m.OutOfRange != nil {
		if c.beyond, err = parseBeyond(*m.OutOfRange); err != nil {
			return err
		}
	}
	if m.ScalarMap != nil {
		return c.parseMap(m.ScalarMap)
	}
	return nil
}

func parseType(raw []byte) (dtype.Type, error) {
	ext, err := metadata.ParseExtension(raw, metadata.Limits{})
	if err != nil {
		return dtype.Type{}, err
	}
	return dtype.Parse(ext.Name, ext.Configuration)
}

func parseBeyond(text string) (number.Overflow, error) {
	switch text {
	case codec.Clamp:
		return number.Clamps, nil
	case codec.Wrap:
		return number.Wraps, nil
	}
	return number.Fails, fmt.Errorf("out_of_range is %q, want %q, %q, or nothing", text, codec.Clamp, codec.Wrap)
}

func (c *coder) parseMap(raw []byte) error {
	var m struct {
		Encode []json.RawMessage `json:"encode"`
		Decode []json.RawMessage `json:"decode"`
	}
	if err := codec.DecodeConfiguration(raw, &m); err != nil {
		return fmt.Errorf("scalar_map: %w", err)
	}
	var err error
	if c.forward, err = parsePairs(m.Encode); err != nil {
		return fmt.Errorf("scalar_map: encode: %w", err)
	}
	if c.back, err = parsePairs(m.Decode); err != nil {
		return fmt.Errorf("scalar_map: decode: %w", err)
	}
	return nil
}

func parsePairs(list []json.RawMessage) ([]codec.CastPair, error) {
	pairs := make([]codec.CastPair, len(list))
	for i, raw := range list {
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil || len(parts) != 2 {
			return nil, fmt.Errorf("entry %d is not a pair [from, to]", i)
		}
		pairs[i] = codec.CastPair(parts)
	}
	return pairs, nil
}

// coder is the codec of one chain.
type coder struct {
	stored        dtype.Type
	mode          number.Mode
	beyond        number.Overflow
	forward, back []codec.CastPair

	encode, decode cast
}

// Bind implements [codec.ArrayArray].
func (c *coder) Bind(spec codec.Spec) (codec.Spec, error) {
	out, err := c.bind(spec)
	if err != nil {
		return codec.Spec{}, fmt.Errorf("%w: cast_value: %w", codec.ErrConfiguration, err)
	}
	return out, nil
}

func (c *coder) bind(spec codec.Spec) (codec.Spec, error) {
	if err := c.encode.bind(spec.Type, c.stored, c.mode, c.beyond); err != nil {
		return spec, err
	}
	if err := c.decode.bind(c.stored, spec.Type, c.mode, c.beyond); err != nil {
		return spec, err
	}
	// Only integers can wrap around.
	if c.beyond == number.Wraps && c.encode.To.Carrier == number.Float {
		return spec, fmt.Errorf("out_of_range is %q, which needs an integer data_type, not %s", codec.Wrap, c.stored)
	}
	var err error
	if c.encode.scalars, err = newScalars(c.forward, spec.Type, c.stored); err != nil {
		return spec, fmt.Errorf("scalar_map: encode: %w", err)
	}
	if c.decode.scalars, err = newScalars(c.back, c.stored, spec.Type); err != nil {
		return spec, fmt.Errorf("scalar_map: decode: %w", err)
	}
	spec.Fill, err = c.castFill(spec.Fill)
	spec.Type = c.stored
	return spec, err
}

// castFill returns the fill value of the encoded array. It must decode to the fill value
// of the array, because chunks that are not stored are read as fill value.
func (c *coder) castFill(fill []byte) ([]byte, error) {
	if fill == nil {
		return nil, nil
	}
	stored, again := make([]byte, c.encode.To.Bytes), make([]byte, c.encode.From.Bytes)
	if f := c.encode.run(stored, fill); f != nil {
		return nil, fmt.Errorf("fill value: %s", f.reason(&c.encode))
	}
	if f := c.decode.run(again, stored); f != nil {
		return nil, fmt.Errorf("fill value on its way back: %s", f.reason(&c.decode))
	}
	if !equal(c.encode.From, fill, again) {
		t := c.encode.source
		return nil, fmt.Errorf("fill value %s comes back as %s; map it in scalar_map, or use another one", t.AppendText(nil, fill), t.AppendText(nil, again))
	}
	return stored, nil
}

// EncodedShape implements [codec.ArrayArray].
func (c *coder) EncodedShape(dst, shape []int64) ([]int64, error) { return append(dst, shape...), nil }

// Encode implements [codec.ArrayArray]. A value that cannot be stored wraps
// [dtype.ErrInvalid].
func (c *coder) Encode(dst *codec.Block, src codec.Block) error {
	if f := c.encode.run(dst.Data, src.Data); f != nil {
		return fmt.Errorf("%w: cast_value: element %d: %s", dtype.ErrInvalid, number.Index(src.Shape, f.at), f.reason(&c.encode))
	}
	return nil
}

// Decode implements [codec.ArrayArray]. A stored value that the array cannot have wraps
// [codec.ErrCorrupt].
func (c *coder) Decode(dst *codec.Block, src codec.Block) error {
	if f := c.decode.run(dst.Data, src.Data); f != nil {
		return fmt.Errorf("%w: cast_value: element %d: %s", codec.ErrCorrupt, number.Index(src.Shape, f.at), f.reason(&c.decode))
	}
	return nil
}
