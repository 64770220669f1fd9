// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"math"
	"slices"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// value returns the value of an attribute. An array of one element is that element, as
// for netCDF, which does not tell them apart.
func (r *reader) value(a *attribute) (any, error) {
	if a.refused != nil {
		return nil, a.refused
	}
	n := int64(len(a.data)) / a.typ.size
	switch {
	case n == 0 && (a.typ.class == classText || a.typ.class == classSequence && a.typ.text) && len(a.space.shape) <= 1:
		return "", nil
	case n == 0:
		return r.values(a.typ, nil, false)
	case n == 1 && len(a.space.shape) <= 1:
		return r.values(a.typ, a.data, true)
	}
	return r.nested(a.typ, a.space.shape, a.data)
}

// valueCost bounds the values of lists within lists. Fields of a record may overlap, so
// that a few bytes have many values.
const valueCost = 16

// nested returns elements as lists of lists. There is at least one element.
func (r *reader) nested(d *datatype, shape []int64, data []byte) (any, error) {
	if err := r.spend(valueCost); err != nil {
		return nil, err
	}
	if len(shape) <= 1 {
		return r.values(d, data, false)
	}
	if err := r.spend(valueCost * min(shape[0], int64(len(data)))); err != nil {
		return nil, err
	}
	list := make([]any, shape[0])
	row := len(data) / len(list)
	for i := range list {
		v, err := r.nested(d, shape[1:], data[i*row:][:row])
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// values returns elements as a list, or the first of them as it is.
func (r *reader) values(d *datatype, data []byte, single bool) (any, error) {
	if d.odd != "" {
		return nil, scan.Unsupportedf("%s", d.odd)
	}
	switch d.class {
	case classInteger, classEnum:
		return d.integers(data, single)
	case classFloat:
		return d.floats(data, single)
	case classText:
		return convert(data, d.size, single, d.trim), nil
	case classSequence:
		return r.sequences(d, data, single)
	case classArray:
		return each(data, d.size, single, func(b []byte) (any, error) { return r.nested(d.base, d.shape, b) })
	case classCompound:
		return each(data, d.size, single, func(b []byte) (any, error) { return r.record(d, b) })
	case classComplex:
		return each(data, d.size, single, func(b []byte) (any, error) { return r.values(d.base, b, false) })
	}
	return nil, scan.Unsupportedf("values of the class %s", d.class)
}

// convert converts elements of a size.
func convert[T any](data []byte, size int64, single bool, f func([]byte) T) any {
	list := make([]T, 0, int64(len(data))/size)
	for b := range slices.Chunk(data, int(size)) {
		list = append(list, f(b))
	}
	if single {
		return list[0]
	}
	return list
}

// each converts elements of a size that may fail.
func each(data []byte, size int64, single bool, f func([]byte) (any, error)) (any, error) {
	list := make([]any, 0, int64(len(data))/size)
	for b := range slices.Chunk(data, int(size)) {
		v, err := f(b)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if single {
		return list[0], nil
	}
	return list, nil
}

// number returns the bits of a number.
func (d *datatype) number(b []byte) (v uint64) {
	if !d.big {
		return little(b)
	}
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	return v
}

// numbers converts numbers from their bits.
func numbers[T any](d *datatype, data []byte, single bool, f func(uint64) T) any {
	return convert(data, d.size, single, func(b []byte) T { return f(d.number(b)) })
}

func (d *datatype) integers(data []byte, single bool) (any, error) {
	if d.isBool() {
		return numbers(d, data, single, func(v uint64) bool { return v != 0 }), nil
	}
	if d.signed {
		switch d.size {
		case 1:
			return numbers(d, data, single, func(v uint64) int8 { return int8(v) }), nil
		case 2:
			return numbers(d, data, single, func(v uint64) int16 { return int16(v) }), nil
		case 4:
			return numbers(d, data, single, func(v uint64) int32 { return int32(v) }), nil
		case 8:
			return numbers(d, data, single, func(v uint64) int64 { return int64(v) }), nil
		}
	}
	switch d.size {
	case 1:
		return numbers(d, data, single, func(v uint64) uint8 { return uint8(v) }), nil
	case 2:
		return numbers(d, data, single, func(v uint64) uint16 { return uint16(v) }), nil
	case 4:
		return numbers(d, data, single, func(v uint64) uint32 { return uint32(v) }), nil
	case 8:
		return numbers(d, data, single, func(v uint64) uint64 { return v }), nil
	}
	return nil, scan.Unsupportedf("integers of %s", quantity.Count(d.size, "bytes"))
}

func (d *datatype) floats(data []byte, single bool) (any, error) {
	switch {
	case d.brain:
		// Attributes have no floats of 16 bits. A float32 holds each of them exactly.
		return numbers(d, data, single, func(v uint64) float32 { return dtype.BFloat16(v).Float32() }), nil
	case d.size == 2:
		return numbers(d, data, single, func(v uint64) float32 { return dtype.Float16(v).Float32() }), nil
	case d.size == 4:
		return numbers(d, data, single, func(v uint64) float32 { return math.Float32frombits(uint32(v)) }), nil
	}
	return numbers(d, data, single, math.Float64frombits), nil
}

// trim returns text without its padding.
func (d *datatype) trim(b []byte) string {
	s := trimZeros(b)
	if d.padding == padSpaces {
		s = strings.TrimRight(s, " ")
	}
	return s
}

// sequences returns texts, or lists, from the global heap.
func (r *reader) sequences(d *datatype, data []byte, single bool) (any, error) {
	if d.size != r.sequenceBytes() {
		return nil, scan.Corruptf("references of %s to the global heap", quantity.Count(d.size, "bytes"))
	}
	if !d.text {
		return each(data, d.size, single, func(b []byte) (any, error) {
			elements, err := r.sequence(r.over(b), d.base.size)
			if err != nil {
				return nil, err
			}
			return r.values(d.base, elements, false)
		})
	}
	list := []string{}
	for b := range slices.Chunk(data, int(d.size)) {
		text, err := r.sequence(r.over(b), 1)
		if err != nil {
			return nil, err
		}
		list = append(list, d.trim(text))
	}
	if single {
		return list[0], nil
	}
	return list, nil
}

// sequenceBytes returns the bytes of a reference to the global heap.
func (r *reader) sequenceBytes() int64 { return int64(4 + r.sizes.address + 4) }

// record returns the fields of a compound in their order.
func (r *reader) record(d *datatype, b []byte) (any, error) {
	if err := r.spend(valueCost * int64(len(d.fields))); err != nil {
		return nil, err
	}
	list := []any{}
	for _, f := range d.fields {
		v, err := r.values(f.typ, b[f.offset:][:f.typ.size], true)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}
