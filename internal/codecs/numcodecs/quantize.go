// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"errors"
	"fmt"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/metadata"
)

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
	sameShape
	decoded, encoded dtype.Type
	scale            float64 // a power of two
	from, to         filterType
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
	var err error
	if q.from, q.to, err = bindTypes("numcodecs.quantize", spec.Type, q.decoded, q.encoded); err != nil {
		return codec.Spec{}, err
	}
	if q.from.Kind() != dtype.KindFloat || q.to.Kind() != dtype.KindFloat {
		return codec.Spec{}, fmt.Errorf("%w: numcodecs.quantize: %s and %s must be floats", codec.ErrConfiguration, q.from, q.to)
	}
	return encodedSpec(spec, q.from, q.to), nil
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

// Decode implements [codec.ArrayArray].
func (q *quantize) Decode(dst *codec.Block, src codec.Block) error {
	convert(dst.Data, src.Data, q.to, q.from)
	return nil
}
