// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"errors"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/metadata"
)

func init() { registerFilter[delta]("delta") }

// Delta returns the metadata of numcodecs.delta. It stores the first element, and then
// the difference of each to the one before it, in C order, as the type encoded. The zero
// Type for encoded means decoded, the type of the array.
func Delta(decoded, encoded dtype.Type) metadata.Extension {
	return filterExtension("delta", struct {
		Decoded string `json:"dtype"`
		Encoded string `json:"astype,omitempty"`
	}{numPyName(decoded), numPyName(encoded)})
}

type delta struct {
	retyped
	sums arithmetic // of the sums of floats; 0 for integers
}

func (d *delta) parse(configuration []byte) error {
	var m struct {
		Decoded string `json:"dtype"`
		Encoded string `json:"astype"`
	}
	err := members(configuration, &m)
	if err == nil {
		d.decoded, err = parseNumPy("dtype", m.Decoded)
	}
	if err == nil {
		d.encoded, err = parseNumPy("astype", m.Encoded)
	}
	if err == nil && d.decoded.IsZero() {
		err = errors.New("dtype is missing")
	}
	return err
}

// Bind implements [codec.ArrayArray]. Bools wrap [codec.ErrUnsupported]: numcodecs does
// not get them back either.
func (d *delta) Bind(spec codec.Spec) (codec.Spec, error) {
	spec, err := d.bind("numcodecs.delta", spec)
	if err != nil {
		return codec.Spec{}, err
	}
	if d.from.Kind() == dtype.KindBool || d.to.Kind() == dtype.KindBool {
		return codec.Spec{}, fmt.Errorf("%w: numcodecs.delta: differences of bools do not determine the bools; use numcodecs.packbits", codec.ErrUnsupported)
	}
	d.sums = promote(d.from.format, d.to.format)
	return spec, nil
}

// promote returns the arithmetic in which NumPy computes with operands of two types, 0
// for integers.
func promote(a, b *number.Format) arithmetic {
	if a.Carrier != number.Float && b.Carrier != number.Float {
		return 0
	}
	size := func(f *number.Format) int {
		if f.Carrier == number.Float {
			return f.Bytes
		}
		return min(2*f.Bytes, 8) // the shortest float for integers of up to 32 bits
	}
	return arithmetic(max(size(a), size(b)))
}

// Encode implements [codec.ArrayArray].
func (d *delta) Encode(dst *codec.Block, src codec.Block) error {
	var last [2]running
	blockwise(dst.Data, src.Data, d.from, d.to, func(b *number.Block, n int) {
		for lane := range d.from.lanes {
			last[lane] = d.differences(b, lane, n, last[lane])
		}
		// Differences wrap around in the type of the array.
		wrap(b, n, d.from.format)
		if d.from.format.Carrier == number.Float {
			arithmetic(d.from.format.Bytes).round(b.F[:n])
		}
		cast(b, n, d.from.format.Carrier, d.to)
	})
	return nil
}

// running is the last number before a block, or the sum up to it, in the type in use.
type running struct {
	i int64
	u uint64
	f float64
}

// differences replaces every number of a lane by its difference from the one before it.
// It returns the last number.
func (d *delta) differences(b *number.Block, lane, n int, last running) running {
	switch step := d.from.lanes; d.from.format.Carrier {
	case number.Signed:
		last.i = differences(b.I[:n], lane, step, last.i)
	case number.Unsigned:
		last.u = differences(b.U[:n], lane, step, last.u)
	case number.Float:
		last.f = differences(b.F[:n], lane, step, last.f)
	}
	return last
}

func differences[T int64 | uint64 | float64](x []T, first, step int, last T) T {
	for i := first; i < len(x); i += step {
		x[i], last = x[i]-last, x[i]
	}
	return last
}

// Decode implements [codec.ArrayArray].
func (d *delta) Decode(dst *codec.Block, src codec.Block) error {
	var sum [2]running
	blockwise(dst.Data, src.Data, d.to, d.from, func(b *number.Block, n int) {
		carrier := d.to.format.Carrier
		// As in NumPy, sums with floats are computed in floats.
		if d.sums != 0 && carrier != number.Float {
			cast(b, n, carrier, filterType{format: widest, lanes: d.to.lanes})
			carrier = number.Float
		}
		for lane := range d.from.lanes {
			sum[lane] = d.accumulate(b, carrier, lane, n, sum[lane])
		}
		cast(b, n, carrier, d.from)
	})
	return nil
}

var widest, _ = number.Of(dtype.Float64)

// accumulate replaces every number of a lane by the sum up to it. It returns the last
// sum.
func (d *delta) accumulate(b *number.Block, carrier number.Carrier, lane, n int, sum running) running {
	step := d.from.lanes
	switch {
	case carrier == number.Signed:
		sum.i = accumulate(b.I[:n], lane, step, sum.i)
	case carrier == number.Unsigned:
		sum.u = accumulate(b.U[:n], lane, step, sum.u)
	// The block has float64 numbers, so these sums need no rounding.
	case d.sums == 8:
		sum.f = accumulate(b.F[:n], lane, step, sum.f)
	default:
		// As in NumPy, the running sum has the float type: round it at every step.
		for i := lane; i < n; i += step {
			sum.f = d.sums.one(sum.f + b.F[i])
			b.F[i] = sum.f
		}
	}
	return sum
}

func accumulate[T int64 | uint64 | float64](x []T, first, step int, sum T) T {
	for i := first; i < len(x); i += step {
		sum += x[i]
		x[i] = sum
	}
	return sum
}
