// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// WriteFloats packs numbers as the attributes of an array describe, and stores them. A
// stored number is (value - add_offset) / scale_factor, rounded to the nearest integer
// if elements are integers. NaN becomes the missing value. src holds the selected
// elements in C order.
//
// WriteFloats stores nothing if a number does not fit the type of the elements, if a
// number would be stored as the missing value, or if an integer array has no missing
// value for a NaN. Then the error wraps [zarr.ErrInvalidArgument].
func WriteFloats(ctx context.Context, to zarr.Elements, sel selection.Selection, src []float64) error {
	v, n, err := numbers(to, sel)
	if err != nil {
		return err
	}
	if len(src) != n {
		return invalid("%d numbers for a selection of %d elements", len(src), n)
	}
	p, err := PackingOf(ctx, v.Array())
	if err != nil {
		return err
	}
	data := make([]byte, n*v.Type().Size())
	if err := p.Pack(data, src); err != nil {
		return fmt.Errorf("array %s: %w", v.Array().Path(), err)
	}
	return v.Array().WriteBytes(ctx, v.Selection(), data)
}

// Pack packs the numbers in src into the elements in dst, as [WriteFloats] describes.
// It panics if dst is shorter than src. After an error the contents of dst are
// undefined.
func (p *Packing) Pack(dst []byte, src []float64) error {
	put, err := putNumber(p.stored)
	if err != nil {
		return err
	}
	size := p.stored.Size()
	for i, value := range src {
		elem := dst[i*size:][:size:size]
		if math.IsNaN(value) {
			if err = p.putMissing(elem); err != nil {
				return fmt.Errorf("number %d: %w", i, err)
			}
			continue
		}
		number := value
		if p.scaled {
			number = (value - p.offset) / p.scale
		}
		switch {
		case !put(elem, number):
			return invalid("number %d: %v is stored as %v, which %s does not have", i, value, number, p.stored)
		case p.IsMissing(elem):
			return invalid("number %d: %v would be stored as the missing value %s", i, value, p.stored.AppendText(nil, elem))
		}
	}
	return nil
}

// putMissing sets an element to the missing value.
func (p *Packing) putMissing(elem []byte) error {
	switch {
	case p.filled != nil:
		copy(elem, p.filled)
	case len(p.absent) > 0:
		copy(elem, p.absent[0])
	case p.isFloat():
		putFloat(p.stored)(elem, math.NaN())
	default:
		return invalid("NaN has no missing value to be stored as; set the attribute _FillValue")
	}
	return nil
}

// putNumber returns a function that sets an element of a numeric type to a number. It
// rounds to the nearest number of the type, and ties to even. The function returns
// false if the number is out of range.
func putNumber(t dtype.Type) (func(elem []byte, number float64) bool, error) {
	bits := 8 * t.Size()
	var least, limit float64
	switch t.Kind() {
	case dtype.KindFloat:
		put, number := putFloat(t), numberOf(t)
		return func(elem []byte, n float64) bool {
			put(elem, n)
			return !math.IsInf(number(elem), 0) || math.IsInf(n, 0)
		}, nil
	case dtype.KindInt:
		least, limit = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	case dtype.KindUint:
		least, limit = 0, math.Ldexp(1, bits)
	default:
		return nil, invalid("elements of type %s are not numbers", t)
	}
	signed := t.Kind() == dtype.KindInt
	return func(elem []byte, n float64) bool {
		n = math.RoundToEven(n)
		if !(n >= least && n < limit) {
			return false
		}
		whole := uint64(n)
		if signed {
			whole = uint64(int64(n))
		}
		switch len(elem) {
		case 1:
			elem[0] = byte(whole)
		case 2:
			binary.NativeEndian.PutUint16(elem, uint16(whole))
		case 4:
			binary.NativeEndian.PutUint32(elem, uint32(whole))
		default:
			binary.NativeEndian.PutUint64(elem, whole)
		}
		return true
	}, nil
}
