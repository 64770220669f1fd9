// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"fmt"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// class is the class of a datatype.
type class byte

const (
	classInteger class = iota
	classFloat
	classTime
	classText
	classBits
	classOpaque
	classCompound
	classReference
	classEnum
	classSequence // of variable length
	classArray
	classComplex
)

// String returns the name of a class for messages.
func (c class) String() string {
	names := [...]string{
		"integer", "float", "time", "text", "bit field", "opaque", "compound", "reference",
		"enumeration", "sequence of variable length", "array", "complex",
	}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("class %d", byte(c))
}

// datatype is the type of elements (specification, IV.A.2.d).
type datatype struct {
	class  class
	size   int64 // bytes of an element in the file
	big    bool  // the most significant byte comes first
	signed bool
	odd    string // why the bits are no plain number, or ""
	brain  bool   // a float of 16 bits with the exponent of one of 32
	// padding is how text that is too short is filled up.
	padding byte
	text    bool // a sequence is text
	base    *datatype
	shape   []int64 // of an array
	fields  []field // of a compound
	names   []string
	values  []byte // of names, in the order of names
}

// field is a field of a compound.
type field struct {
	name   string
	offset int64
	typ    *datatype
}

// The paddings of text.
const (
	padTerminated = iota
	padZeros
	padSpaces
)

const (
	// mostDepth bounds types within types.
	mostDepth = 16
	// mostBytes bounds an element. Types of Zarr end at 1 MiB.
	mostBytes = 1 << 30
)

// parseDatatype reads a datatype.
func parseDatatype(c *cursor, depth int) (*datatype, error) {
	if depth > mostDepth {
		return nil, scan.Unsupportedf("datatypes nested more than %d deep", mostDepth)
	}
	// The class decides what the 24 bits mean.
	mark, bits := c.byte(), uint32(c.uint(3))
	d := &datatype{class: class(mark & 15), size: int64(c.uint32())}
	version := mark >> 4
	if err := c.err(); err != nil {
		return nil, err
	}
	if version < 1 || version > 5 {
		return nil, scan.Unsupportedf("version %d of datatypes", version)
	}
	if d.size == 0 {
		return nil, scan.Corruptf("a datatype without bytes")
	}
	if d.size > mostBytes {
		return nil, scan.Unsupportedf("elements of %s", quantity.Count(d.size, "bytes"))
	}
	err := d.parse(c, version, bits, depth)
	if err == nil {
		err = c.err()
	}
	if err != nil {
		return nil, fmt.Errorf("datatype %s: %w", d.class, err)
	}
	return d, nil
}

// parse reads what follows the size.
func (d *datatype) parse(c *cursor, version byte, bits uint32, depth int) (err error) {
	switch d.class {
	case classInteger, classBits:
		d.parseInteger(c, bits)
	case classFloat:
		d.parseFloat(c, bits)
	case classTime:
		c.skip(2)
	case classText:
		// Bits 4 to 7 are the character set, ASCII or UTF-8. One is a part of the other.
		d.padding = byte(bits & 15)
	case classOpaque:
		c.skip(int(bits & 0xff)) // a tag
	case classCompound:
		return d.parseCompound(c, version, int(bits&0xffff), depth)
	case classReference:
		// The kind 0 is an object, whose address DIMENSION_LIST needs. Others refer to
		// regions, or have the form of HDF5 1.12.
		d.odd = "a reference to a region"
		if bits&15 == 0 {
			d.odd = ""
		}
	case classEnum:
		return d.parseEnum(c, version, int(bits&0xffff), depth)
	case classSequence:
		// Bits 0 to 3 are 0 for a list and 1 for text, 4 to 7 the padding of text.
		d.text, d.padding = bits&15 == 1, byte(bits>>4&15)
		d.base, err = parseDatatype(c, depth+1)
	case classArray:
		return d.parseArray(c, version, depth)
	case classComplex:
		d.base, err = parseDatatype(c, depth+1)
	default:
		err = scan.Unsupportedf("a datatype of this class")
	}
	return err
}

func (d *datatype) parseInteger(c *cursor, bits uint32) {
	d.big, d.signed = bits&1 != 0, bits&(1<<3) != 0
	offset, precision := c.uint16(), c.uint16()
	// As H5Tset_precision makes them. The other bits may have any value, and no codec
	// masks them.
	if offset != 0 || int64(precision) != 8*d.size {
		d.odd = fmt.Sprintf("%s from bit %d on, in %s", quantity.Count(precision, "bits"), offset, quantity.Count(d.size, "bytes"))
	}
}

// floatLayout is the layout of the bits of a float.
type floatLayout struct {
	sign, offset, precision, exponentAt, exponent, mantissaAt, mantissa, bias uint32
}

// The floats that have a type here.
var (
	half   = floatLayout{15, 0, 16, 10, 5, 0, 10, 15}
	brain  = floatLayout{15, 0, 16, 7, 8, 0, 7, 127}
	single = floatLayout{31, 0, 32, 23, 8, 0, 23, 127}
	double = floatLayout{63, 0, 64, 52, 11, 0, 52, 1023}
)

func (d *datatype) parseFloat(c *cursor, bits uint32) {
	// Bits 0 and 6 are 0 for little-endian, 1 for big-endian, and 3 for VAX.
	order := bits&1 | bits>>5&2
	d.big, d.signed = order == 1, true
	l := floatLayout{sign: bits >> 8 & 0xff, offset: uint32(c.uint16()), precision: uint32(c.uint16())}
	l.exponentAt, l.exponent = uint32(c.byte()), uint32(c.byte())
	l.mantissaAt, l.mantissa = uint32(c.byte()), uint32(c.byte())
	l.bias = c.uint32()
	const implied = 2 // the first bit of the mantissa is 1 and not stored
	plain := order < 2 && bits>>4&3 == implied
	switch {
	case plain && d.size == 2 && l == brain:
		d.brain = true
	case plain && (d.size == 2 && l == half || d.size == 4 && l == single || d.size == 8 && l == double):
	default:
		// Such as the long double of x86, of 80 bits in 16 bytes.
		d.odd = fmt.Sprintf("a float of %s in %s, which is not of IEEE 754", quantity.Count(l.precision, "bits"), quantity.Count(d.size, "bytes"))
	}
}

// name reads a name, which has padding in old versions.
func (d *datatype) name(c *cursor, version byte) string {
	begin := c.position
	s := c.text()
	if version < 3 {
		c.skip((8 - (c.position-begin)%8) % 8)
	}
	return s
}

func (d *datatype) parseCompound(c *cursor, version byte, n, depth int) error {
	for range n {
		f := field{name: d.name(c, version)}
		if version < 3 {
			f.offset = int64(c.uint32())
		} else {
			// Version 3 takes only the bytes that the size of the compound needs.
			f.offset = int64(c.uint(bytesFor(uint64(d.size))))
		}
		var shape []int64
		if version == 1 {
			shape = parseOldShape(c)
		}
		if err := c.err(); err != nil {
			return err
		}
		var err error
		if f.typ, err = parseDatatype(c, depth+1); err != nil {
			return fmt.Errorf("field %q: %w", f.name, err)
		}
		if len(shape) > 0 {
			if f.typ, err = arrayOf(f.typ, shape); err != nil {
				return fmt.Errorf("field %q: %w", f.name, err)
			}
		}
		if f.offset > d.size || f.typ.size > d.size-f.offset {
			return scan.Corruptf("field %q: %s at %d, in %d", f.name, quantity.Count(f.typ.size, "bytes"), f.offset, d.size)
		}
		d.fields = append(d.fields, f)
	}
	return nil
}

// parseOldShape reads the shape of a field of version 1, which may be an array.
func parseOldShape(c *cursor) (shape []int64) {
	const most = 4
	rank := int(c.byte())
	c.skip(3 + 4 + 4) // reserved, a permutation
	for i := range most {
		if n := int64(c.uint32()); i < rank {
			shape = append(shape, n)
		}
	}
	return shape
}

// arrayOf returns the type of arrays of a type.
func arrayOf(base *datatype, shape []int64) (*datatype, error) {
	n, ok := checked.Product(append([]int64{base.size}, shape...)...)
	if !ok || n == 0 {
		return nil, scan.Corruptf("elements of the shape %v", shape)
	}
	return &datatype{class: classArray, size: n, base: base, shape: shape}, nil
}

func (d *datatype) parseArray(c *cursor, version byte, depth int) error {
	rank := int(c.byte())
	if version < 3 {
		c.skip(3)
	}
	for range min(rank, c.rest()) {
		d.shape = append(d.shape, int64(c.uint32()))
	}
	if version < 3 {
		c.skip(4 * rank) // a permutation
	}
	if err := c.err(); err != nil {
		return err
	}
	base, err := parseDatatype(c, depth+1)
	if err != nil {
		return err
	}
	a, err := arrayOf(base, d.shape)
	if err != nil {
		return err
	}
	if a.size != d.size {
		return scan.Corruptf("the shape %v takes %s, not %d", d.shape, quantity.Count(a.size, "bytes"), d.size)
	}
	d.base = base
	return nil
}

func (d *datatype) parseEnum(c *cursor, version byte, n, depth int) (err error) {
	if d.base, err = parseDatatype(c, depth+1); err != nil {
		return err
	}
	if d.base.class != classInteger || d.base.size != d.size {
		return scan.Corruptf("its values are of the class %s, and have %s, not %d", d.base.class, quantity.Count(d.base.size, "bytes"), d.size)
	}
	for range n {
		if err := c.err(); err != nil {
			return err
		}
		d.names = append(d.names, d.name(c, version))
	}
	d.big, d.signed, d.odd = d.base.big, d.base.signed, d.base.odd
	d.values = c.take(n * int(d.size))
	return nil
}

// isBool reports whether an enumeration is how h5py stores truth values.
func (d *datatype) isBool() bool {
	return d.class == classEnum && d.size == 1 && len(d.names) == 2 && d.odd == "" &&
		d.names[0] == "FALSE" && d.names[1] == "TRUE" && d.values[0] == 0 && d.values[1] == 1
}

// bytesFor returns the bytes that numbers up to most take.
func bytesFor(most uint64) int {
	n := 1
	for most >>= 8; most > 0; most >>= 8 {
		n++
	}
	return n
}
