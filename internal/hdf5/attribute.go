// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve.dev/zarr/internal/quantity"
)

// Type is the datatype of elements.
type Type struct {
	Size    int // bytes of an element
	message []byte
}

// class returns a datatype message (IV.A.2.d): its head, and properties of the class.
func class(version, number byte, bits uint32, size int, properties ...byte) Type {
	b := binary.LittleEndian.AppendUint32(nil, bits<<8|uint32(version<<4|number))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	return Type{size, append(b, properties...)}
}

// The classes.
const (
	integers   = 0
	floats     = 1
	texts      = 3
	compounds  = 6
	references = 7
	sequences  = 9
)

// Integer returns the type of little-endian integers of some bytes.
func Integer(size int, signed bool) Type {
	bits := uint32(0)
	if signed {
		bits = 1 << 3
	}
	return class(1, integers, bits, size, 0, 0, byte(8*size), 0)
}

// Float returns the type of little-endian floats of 4 or 8 bytes (IEEE 754).
func Float(size int) Type {
	exponent, bias := byte(8), uint32(127)
	if size == 8 {
		exponent, bias = 11, 1023
	}
	width := byte(8 * size)
	mantissa := width - 1 - exponent
	const implied = 2 << 4 // the first bit of the mantissa
	p := []byte{0, 0, width, 0, mantissa, exponent, 0, mantissa}
	return class(1, floats, implied|uint32(width-1)<<8, size, binary.LittleEndian.AppendUint32(p, bias)...)
}

// Character is the type of text of one byte: NC_CHAR.
var Character = class(1, texts, 0, 1)

// Text is the type of text of variable length in UTF-8: NC_STRING. Its elements are
// references of a [Heap].
var Text = class(1, sequences, 1|1<<8, ReferenceBytes, Integer(1, false).message...)

// objects is the type of references to objects.
var objects = class(1, references, 0, wordBytes)

// Attribute is an attribute of an object.
type Attribute struct {
	name  string
	typ   Type
	space []byte
	data  func(*Heap) []byte
}

// Name returns the name.
func (a *Attribute) Name() string { return a.name }

// Values returns an attribute with elements as the file has them. A nil shape is a single
// element.
func Values(name string, t Type, shape []int64, data []byte) Attribute {
	space := dataspace(shape, nil)
	if len(data) == 0 {
		space = noElements()
	}
	return Attribute{name, t, space, func(*Heap) []byte { return data }}
}

// String returns an attribute that is text: of fixed length if it is short and in ASCII,
// as netCDF-C writes NC_CHAR, and else in the heap, as NC_STRING.
func String(name, text string) Attribute {
	const long = 32 << 10 // a message has at most 64 KiB
	if len(text) > long || !isASCII(text) {
		a := Strings(name, text)
		a.space = dataspace(nil, nil)
		return a
	}
	return Values(name, class(1, texts, 0, max(1, len(text))), nil, []byte(text))
}

// terminated returns an attribute that is text with a zero byte at its end. The library
// does not take a dataset for a scale without it.
func terminated(name, text string) Attribute {
	return Values(name, class(1, texts, 0, len(text)+1), nil, append([]byte(text), 0))
}

// Strings returns an attribute that is a list of texts.
func Strings(name string, list ...string) Attribute {
	space := dataspace([]int64{int64(len(list))}, nil)
	if len(list) == 0 {
		space = noElements()
	}
	return Attribute{name, Text, space, func(h *Heap) (b []byte) {
		for _, text := range list {
			b = h.AppendText(b, []byte(text))
		}
		return b
	}}
}

// message returns the attribute as a message of a header (IV.A.2.m).
func (a *Attribute) message(h *Heap) ([]byte, error) {
	const version, shared, utf8 = 3, 0, 1
	b := []byte{version, shared}
	for _, n := range []int{len(a.name) + 1, len(a.typ.message), len(a.space)} {
		if n > math.MaxUint16 {
			return nil, fmt.Errorf("hdf5: an attribute with a name of %s, at most %d are possible", quantity.Count(len(a.name), "bytes"), math.MaxUint16-1)
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
	}
	b = append(append(append(b, utf8), a.name...), 0)
	b = append(append(b, a.typ.message...), a.space...)
	if b = append(b, a.data(h)...); len(b) > MaxMessage {
		return nil, fmt.Errorf("hdf5: attribute %q takes %s, at most %d are possible", a.name, quantity.Count(len(b), "bytes"), MaxMessage)
	}
	return b, nil
}

// use is an axis of a dataset that has a scale.
type use struct {
	by   *Dataset
	axis int
}

// SetScales attaches dimension scales to the axes of a dataset ("HDF5 Dimension Scale
// Specification"). A scale is not attached to another one.
func (d *Dataset) SetScales(scales ...*Dataset) {
	d.scales = scales
	for axis, s := range scales {
		s.uses = append(s.uses, use{d, axis})
	}
}

// dimensionAttributes returns the attributes of dimension scales, whose values are
// addresses of other objects.
func (d *Dataset) dimensionAttributes() (list []Attribute) {
	if d.ScaleName != "" {
		list = append(list, terminated("CLASS", "DIMENSION_SCALE"), terminated("NAME", d.ScaleName))
	}
	if d.scales != nil {
		space := dataspace([]int64{int64(len(d.scales))}, nil)
		t := class(1, sequences, 0, ReferenceBytes, objects.message...)
		list = append(list, Attribute{"DIMENSION_LIST", t, space, func(h *Heap) (b []byte) {
			for _, s := range d.scales {
				b = h.append(b, words(nil, uint64(s.address)), 1)
			}
			return b
		}})
	}
	if d.uses != nil {
		space := dataspace([]int64{int64(len(d.uses))}, nil)
		list = append(list, Attribute{"REFERENCE_LIST", useType(), space, func(*Heap) (b []byte) {
			for _, u := range d.uses {
				b = words(b, uint64(u.by.address), uint64(u.axis))
			}
			return b
		}})
	}
	return list
}

// useBytes is the number of bytes of an entry in REFERENCE_LIST, with the padding that
// the library leaves.
const useBytes = 16

// MaxUses bounds the axes that have one scale.
const MaxUses = (MaxMessage - 1<<10) / useBytes

// useType returns the type of entries in REFERENCE_LIST.
func useType() Type {
	const version = 3
	p := append([]byte("dataset\x00"), 0)
	p = append(p, objects.message...)
	p = append(append(p, "dimension\x00"...), wordBytes)
	p = append(p, Integer(4, false).message...)
	return class(version, compounds, 2, useBytes, p...)
}
