// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net/http"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/element"
)

// scale makes numbers of the elements of an array.
type scale struct {
	size           int
	fill           []byte
	packing        *cf.Packing // nil if number is set
	factor, offset float64
	number         func(elem []byte) float64
}

// scaleOf returns how elements become numbers, or an error for those that have none.
func (a *array) scaleOf(ctx context.Context, q *query) (*scale, error) {
	t := a.state.Type
	s := &scale{size: t.Size(), fill: a.state.Fill, factor: 1}
	if !cf.IsNumeric(t) {
		var err error
		s.number, err = numberOf(t, q.field, q.part)
		return s, err
	}
	packing, err := cf.PackingOf(ctx, a.Array)
	switch {
	case err == nil && q.decode:
		s.packing = packing
		s.factor, s.offset = packing.Scale()
	case err == nil:
		s.packing = packing.Unscaled()
	case q.decode && errors.Is(err, zarr.ErrInvalidArgument):
		return nil, refuse(http.StatusNotAcceptable, "an attribute that says how elements are decoded is malformed: ask with decode=0")
	case errors.Is(err, zarr.ErrInvalidArgument):
		s.number, err = numberOf(t, "", "")
	}
	return s, err
}

// numberOf returns the number of an element of any type that has one.
func numberOf(t dtype.Type, field, part string) (func(elem []byte) float64, error) {
	nan, native := math.NaN(), binary.NativeEndian
	switch k := t.Kind(); k {
	case dtype.KindBool:
		return func(elem []byte) float64 { return float64(elem[0]) }, nil
	case dtype.KindDatetime, dtype.KindTimedelta:
		return func(elem []byte) float64 {
			if n := int64(native.Uint64(elem)); n != dtype.NaT {
				return float64(n)
			}
			return nan
		}, nil
	case dtype.KindComplex:
		return complexNumber(t, part)
	case dtype.KindStruct:
		f, ok := t.Field(field)
		if !ok {
			var names []string
			for _, f := range t.Fields() {
				names = append(names, f.Name)
			}
			return nil, refuse(http.StatusNotAcceptable, "elements have fields: give one of them with field=, such as %s", strings.Join(names[:min(len(names), 20)], ", "))
		}
		number, err := numberOf(f.Type, "", part)
		if err != nil {
			return nil, err
		}
		return func(elem []byte) float64 { return number(elem[f.Offset:][:f.Type.Size()]) }, nil
	case dtype.KindInt, dtype.KindUint, dtype.KindFloat:
		convert, err := element.Conversion(t, dtype.Float64)
		if err != nil {
			return nil, err
		}
		return func(elem []byte) float64 {
			var made [8]byte
			convert(made[:], elem)
			return math.Float64frombits(native.Uint64(made[:]))
		}, nil
	}
	return nil, refuse(http.StatusNotAcceptable, "elements are %s, which are no numbers: ask for rows", t)
}

// complexNumber returns a part of a complex number.
func complexNumber(t dtype.Type, part string) (func(elem []byte) float64, error) {
	native := binary.NativeEndian
	half := func(b []byte) float64 { return math.Float64frombits(native.Uint64(b)) }
	switch t.Size() {
	case 16:
	case 8:
		half = func(b []byte) float64 { return float64(math.Float32frombits(native.Uint32(b))) }
	default: // short floats
		of, err := dtype.Parse(strings.TrimPrefix(t.Name(), "complex_"), nil)
		if err == nil {
			half, err = numberOf(of, "", "")
		}
		if err != nil {
			return nil, err
		}
	}
	of := func(re, im float64) float64 { return math.Hypot(re, im) }
	switch part {
	case "real":
		of = func(re, _ float64) float64 { return re }
	case "imaginary":
		of = func(_, im float64) float64 { return im }
	case "phase":
		of = func(re, im float64) float64 { return math.Atan2(im, re) }
	}
	return func(elem []byte) float64 { return of(half(elem[:len(elem)/2]), half(elem[len(elem)/2:])) }, nil
}

// convert makes numbers and states of elements, and returns the least and the greatest
// number of state 0.
func (s *scale) convert(numbers []float32, states, elems []byte) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	var made [512]float64
	for len(numbers) > 0 {
		n := min(len(made), len(numbers))
		if s.packing != nil {
			s.packing.Floats(made[:n], elems[:n*s.size])
		} else {
			for i := range n {
				made[i] = s.number(elems[i*s.size:][:s.size])
			}
		}
		for i, x := range made[:n] {
			elem, state := elems[i*s.size:][:s.size], byte(stateValue)
			switch {
			case !math.IsNaN(x):
				if bytes.Equal(elem, s.fill) {
					state = stateFill
				}
			case s.packing != nil && s.packing.IsMissing(elem):
				x, state = s.packing.Stored(elem)*s.factor+s.offset, stateAbsent
			default:
				state = stateNaN
			}
			single := float32(x)
			if states[i], numbers[i] = state, single; state == stateValue && !math.IsInf(float64(single), 0) {
				low, high = min(low, float64(single)), max(high, float64(single))
			}
		}
		numbers, states, elems = numbers[n:], states[n:], elems[n*s.size:]
	}
	return low, high
}

// fillNumber returns the number of the fill value, and its state.
func (s *scale) fillNumber() (float32, byte) {
	var number [1]float32
	var state [1]byte
	s.convert(number[:], state[:], s.fill)
	return number[0], state[0]
}
