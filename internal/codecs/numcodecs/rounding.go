// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
)

func init() { registerFilter[bitRound]("bitround") }

// BitRound returns the metadata of numcodecs.bitround, which rounds floats to the given
// number of bits of the fraction, ties to even. For new arrays use the codec "bitround"
// instead, of which this is the old name. zarrs also wrote integers under this name.
// Varve reads them if that codec is registered.
func BitRound(keepbits int) metadata.Extension {
	return filterExtension("bitround", struct {
		Keep int `json:"keepbits"`
	}{keepbits})
}

type bitRound struct {
	sameShape
	keep   int64
	format *number.Format   // nil if other is set
	other  codec.ArrayArray // the codec "bitround", for all but NumPy floats
}

func (r *bitRound) parse(configuration []byte) error {
	var m struct {
		Keep *codec.Int `json:"keepbits"`
	}
	err := members(configuration, &m)
	switch {
	case err != nil:
		return err
	case m.Keep == nil:
		return errors.New("keepbits is missing")
	case *m.Keep < 0:
		return fmt.Errorf("keepbits is %d, want 0 or more", *m.Keep)
	}
	r.keep = int64(*m.Keep)
	return nil
}

// Bind implements [codec.ArrayArray].
func (r *bitRound) Bind(spec codec.Spec) (codec.Spec, error) {
	f, ok := number.Of(spec.Type)
	if !ok || spec.Type.Kind() != dtype.KindFloat || numPyName(spec.Type) == "" {
		// zarrs wrote other data types under this name.
		return r.bindOther(spec)
	}
	if most := int64(f.Layout.Fraction); r.keep > most {
		return codec.Spec{}, fmt.Errorf("%w: numcodecs.bitround: keepbits is %d, %s has %s of fraction", codec.ErrConfiguration, r.keep, spec.Type, quantity.Count(most, "bits"))
	}
	r.format = f
	return spec, nil
}

func (r *bitRound) bindOther(spec codec.Spec) (codec.Spec, error) {
	made, err := codec.Default.New(metadata.Extension{Name: "bitround", Configuration: fmt.Appendf(nil, `{"keepbits":%d}`, r.keep)})
	if err != nil {
		return codec.Spec{}, fmt.Errorf("numcodecs.bitround: of %s: %w", spec.Type, err)
	}
	other, ok := made.(codec.ArrayArray)
	if !ok {
		return codec.Spec{}, fmt.Errorf("%w: numcodecs.bitround: %s is not float16, float32 or float64", codec.ErrConfiguration, spec.Type)
	}
	if spec, err = other.Bind(spec); err != nil {
		return spec, fmt.Errorf("numcodecs.bitround: %w", err)
	}
	r.other = other
	return spec, nil
}

// Encode implements [codec.ArrayArray].
func (r *bitRound) Encode(dst *codec.Block, src codec.Block) error {
	if r.other != nil {
		return r.other.Encode(dst, src)
	}
	r.format.RoundFraction(dst.Data, src.Data, int(r.keep))
	return nil
}

// Decode implements [codec.ArrayArray].
func (r *bitRound) Decode(dst *codec.Block, src codec.Block) error {
	copy(dst.Data, src.Data)
	return nil
}

func init() { registerFilter[quantize]("quantize") }

// Quantize returns the metadata of numcodecs.quantize. It rounds floats to multiples of a
// power of two that keep the given number of decimal digits after the point, and stores
// them as the type encoded. The zero Type for encoded means decoded, the type of the
// array.
func Quantize(digits int, decoded, encoded dtype.Type) metadata.Extension {
	return filterExtension("quantize", struct {
		Digits  int    `json:"digits"`
		Decoded string `json:"dtype"`
		Encoded string `json:"astype,omitempty"`
	}{digits, numPyName(decoded), numPyName(encoded)})
}

// maxDigits bounds the digits, so that the power of two is a float64.
const maxDigits = 307

type quantize struct {
	retyped
	scale float64 // a power of two
}

func (q *quantize) parse(configuration []byte) error {
	var m struct {
		Digits  *codec.Int `json:"digits"`
		Decoded string     `json:"dtype"`
		Encoded string     `json:"astype"`
	}
	err := members(configuration, &m)
	switch {
	case err != nil:
		return err
	case m.Digits == nil:
		return errors.New("digits is missing")
	case *m.Digits < -maxDigits || *m.Digits > maxDigits:
		return fmt.Errorf("digits is %d, want %d to %d", *m.Digits, -maxDigits, maxDigits)
	}
	q.scale = scaleOf(int(*m.Digits))
	if q.decoded, err = parseNumPy("dtype", m.Decoded); err == nil {
		q.encoded, err = parseNumPy("astype", m.Encoded)
	}
	return err
}

// scaleOf returns the least power of two that is at least 10 to the power of digits.
func scaleOf(digits int) float64 {
	fraction, exponent := math.Frexp(math.Pow10(digits))
	// With a fraction of one half, the power of ten is a power of two itself.
	if fraction == 0.5 {
		exponent--
	}
	return math.Ldexp(1, exponent)
}

// Bind implements [codec.ArrayArray].
func (q *quantize) Bind(spec codec.Spec) (codec.Spec, error) {
	spec, err := q.bind("numcodecs.quantize", spec)
	if err != nil {
		return codec.Spec{}, err
	}
	if q.from.Kind() != dtype.KindFloat || q.to.Kind() != dtype.KindFloat {
		return codec.Spec{}, fmt.Errorf("%w: numcodecs.quantize: %s and %s must be floats", codec.ErrConfiguration, q.from, q.to)
	}
	return spec, nil
}

// Encode implements [codec.ArrayArray].
func (q *quantize) Encode(dst *codec.Block, src codec.Block) error {
	a := arithmetic(q.from.format.Bytes)
	scale := a.one(q.scale)
	blockwise(dst.Data, src.Data, q.from, q.to, func(b *number.Block, n int) {
		for i, x := range b.F[:n] {
			b.F[i] = x * scale
		}
		// NumPy computes in the type of the array, so round after every step.
		a.round(b.F[:n])
		number.NearestEven.Integral(b.F[:n])
		for i, x := range b.F[:n] {
			b.F[i] = x / scale
		}
		a.round(b.F[:n])
	})
	return nil
}

func init() {
	registerFilter[fixedScaleOffset]("fixedscaleoffset", "https://codec.zarrs.dev/array_to_array/fixedscaleoffset")
}

// FixedScaleOffset returns the metadata of numcodecs.fixedscaleoffset. It stores
// (value - offset) * scale, rounded to integers with ties to even, as the type encoded.
// The zero Type for encoded means decoded, the type of the array.
func FixedScaleOffset(offset, scale float64, decoded, encoded dtype.Type) metadata.Extension {
	return filterExtension("fixedscaleoffset", struct {
		Offset  float64 `json:"offset"`
		Scale   float64 `json:"scale"`
		Decoded string  `json:"dtype"`
		Encoded string  `json:"astype,omitempty"`
	}{offset, scale, numPyName(decoded), numPyName(encoded)})
}

type fixedScaleOffset struct {
	retyped
	offset, scale operand
}

// operand is a number of the configuration. Integers computed with an operand that is
// written as an integer stay integers.
type operand struct {
	integer bool
	i       int64
	f       float64
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *operand) UnmarshalJSON(text []byte) (err error) {
	if o.f, err = strconv.ParseFloat(string(text), 64); err != nil {
		return fmt.Errorf("%s is not a number", text)
	}
	// JSON has one kind of number. Python distinguishes them by their spelling.
	if !strings.ContainsAny(string(text), ".eE") {
		o.i, err = strconv.ParseInt(string(text), 10, 64)
		o.integer = err == nil
	}
	return nil
}

func (s *fixedScaleOffset) parse(configuration []byte) error {
	var m struct {
		Offset  *json.RawMessage `json:"offset"`
		Scale   *json.RawMessage `json:"scale"`
		Decoded string           `json:"dtype"`
		Encoded string           `json:"astype"`
	}
	err := members(configuration, &m)
	for name, member := range map[string]struct {
		text *json.RawMessage
		to   *operand
	}{"offset": {m.Offset, &s.offset}, "scale": {m.Scale, &s.scale}} {
		switch {
		case err != nil:
		case member.text == nil:
			err = fmt.Errorf("%s is missing", name)
		default:
			err = json.Unmarshal(*member.text, member.to)
		}
	}
	if err == nil {
		s.decoded, err = parseNumPy("dtype", m.Decoded)
	}
	if err == nil {
		s.encoded, err = parseNumPy("astype", m.Encoded)
	}
	// Decoding would divide by it.
	if err == nil && s.scale.f == 0 {
		err = fmt.Errorf("scale is 0, which loses all values")
	}
	return err
}

// Bind implements [codec.ArrayArray].
func (s *fixedScaleOffset) Bind(spec codec.Spec) (codec.Spec, error) {
	spec, err := s.bind("numcodecs.fixedscaleoffset", spec)
	if err != nil {
		return codec.Spec{}, err
	}
	if s.from.lanes > 1 {
		return codec.Spec{}, fmt.Errorf("%w: numcodecs.fixedscaleoffset: complex numbers are not rounded", codec.ErrUnsupported)
	}
	return spec, nil
}

// Encode implements [codec.ArrayArray].
func (s *fixedScaleOffset) Encode(dst *codec.Block, src codec.Block) error {
	blockwise(dst.Data, src.Data, s.from, s.to, func(b *number.Block, n int) {
		carrier, a := s.from.format.Carrier, arithmetic(s.from.format.Bytes)
		carrier, a = s.apply(b, n, carrier, a, s.offset, minus)
		carrier, _ = s.apply(b, n, carrier, a, s.scale, times)
		if carrier == number.Float {
			number.NearestEven.Integral(b.F[:n])
		}
		cast(b, n, carrier, s.to)
	})
	return nil
}

type operation uint8

const (
	minus operation = iota
	times
)

// apply computes with an operand in the type of the array, or in float64 if one of them
// is an integer and the other a float.
func (s *fixedScaleOffset) apply(b *number.Block, n int, carrier number.Carrier, a arithmetic, o operand, op operation) (number.Carrier, arithmetic) {
	if carrier != number.Float && o.integer {
		if carrier == number.Signed {
			integers(b.I[:n], o.i, op)
		} else {
			integers(b.U[:n], uint64(o.i), op)
		}
		if s.from.Kind() != dtype.KindBool { // which NumPy turns into 64-bit integers
			wrap(b, n, s.from.format)
		}
		return carrier, a
	}
	if carrier != number.Float {
		cast(b, n, carrier, filterType{format: widest, lanes: 1})
		// An integer and a float are computed in float64.
		a = 8
	}
	// As in NumPy, the operand has the type of the numbers.
	by := a.one(o.f)
	for i, x := range b.F[:n] {
		if op == minus {
			b.F[i] = x - by
		} else {
			b.F[i] = x * by
		}
	}
	a.round(b.F[:n])
	return number.Float, a
}

func integers[T int64 | uint64](x []T, by T, op operation) {
	for i, v := range x {
		if op == minus {
			x[i] = v - by
		} else {
			x[i] = v * by
		}
	}
}

// Decode implements [codec.ArrayArray].
func (s *fixedScaleOffset) Decode(dst *codec.Block, src codec.Block) error {
	blockwise(dst.Data, src.Data, s.to, s.from, func(b *number.Block, n int) {
		a := arithmetic(s.to.format.Bytes)
		// As in NumPy, integers divided by a float are float64.
		if s.to.format.Carrier != number.Float {
			cast(b, n, s.to.format.Carrier, filterType{format: widest, lanes: 1})
			a = 8
		}
		scale, offset := a.one(s.scale.f), a.one(s.offset.f)
		for i, x := range b.F[:n] {
			b.F[i] = x / scale
		}
		a.round(b.F[:n])
		for i, x := range b.F[:n] {
			b.F[i] = x + offset
		}
		a.round(b.F[:n])
		cast(b, n, number.Float, s.from)
	})
	return nil
}
