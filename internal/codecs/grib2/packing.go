// SPDX-License-Identifier: Apache-2.0

package grib2

import (
	"encoding/binary"
	"math"
)

// packing is section 5: how the values of a field are packed.
type packing struct {
	section  []byte
	template int
	values   int64 // number of values in section 7

	// Values are (reference + x * 2^E) * 10^-D (regulation 92.9.4).
	reference, binary, decimal float64
	bits                       int // of x; of a group reference in complex packing
}

// packings name the data representation templates (code table 5.0).
var packings = map[int]string{
	0: "simple packing", 1: "matrix values", 2: "complex packing", 3: "complex packing with spatial differencing",
	4: "IEEE floats", 40: "JPEG 2000", 41: "PNG", 42: "CCSDS", 50: "spectral simple packing", 51: "spectral complex packing",
	53: "spectral limited-area packing", 61: "simple packing with logarithms", 200: "run lengths",
	40000: "JPEG 2000", 40010: "PNG",
}

// shortest are the bytes of section 5 in the templates that this package decodes.
var shortest = map[int]int{0: 21, 2: 47, 3: 49, 4: 12, 41: 21, 42: 25, 40010: 21}

// CheckPacking returns an error unless this package decodes a data representation
// template. It names the packing and wraps [codec.ErrUnsupported].
func CheckPacking(template int) error {
	if _, ok := shortest[template]; ok {
		return nil
	}
	name, ok := packings[template]
	if !ok {
		name = "an unknown packing"
	}
	return unsupported("%s (template 5.%d)", name, template)
}

// parsePacking reads section 5.
func parsePacking(s []byte) (p packing, err error) {
	if len(s) < 11 {
		return p, corrupt("section 5 has %d bytes", len(s))
	}
	p.section, p.values = s, int64(binary.BigEndian.Uint32(s[5:]))
	p.template = int(binary.BigEndian.Uint16(s[9:]))
	if err := CheckPacking(p.template); err != nil {
		return p, err
	}
	if n := shortest[p.template]; len(s) < n {
		return p, corrupt("section 5 has %d bytes, template 5.%d needs %d", len(s), p.template, n)
	}
	if p.template == 4 {
		return p, nil
	}
	p.reference = float64(math.Float32frombits(binary.BigEndian.Uint32(s[11:])))
	p.binary = math.Ldexp(1, int(signed(s[15:17])))
	p.decimal = powerOfTen(-int(signed(s[17:19])))
	if p.bits = int(s[19]); p.bits > maxBits {
		return p, unsupported("values of %d bits", p.bits)
	}
	return p, nil
}

// powerOfTen returns 10^n as ecCodes computes it, and so the same values: the product is
// rounded at every step.
func powerOfTen(n int) float64 {
	x := 1.0
	for ; n > 0 && x < math.Inf(1); n-- {
		x *= 10
	}
	for ; n < 0 && x > 0; n++ {
		x /= 10
	}
	return x
}

// value returns the value that x stands for.
func (p *packing) value(x float64) float64 { return (p.reference + x*p.binary) * p.decimal }

// fill sets all values to the reference. The libraries of ECMWF and NCEP do not scale it
// if there are no bits, whatever the formula says.
func (p *packing) fill(v values) {
	for i := range v.len() {
		v.set(i, p.reference)
	}
}

// unpack decodes the values of section 7.
func (p *packing) unpack(v values, data []byte) error {
	switch p.template {
	case 2, 3:
		return p.unpackComplex(v, data)
	case 4:
		return p.unpackFloats(v, data)
	}
	switch {
	case p.bits == 0:
		p.fill(v)
		return nil
	case p.template == 0:
		return p.unpackSimple(v, data)
	case p.template == 42:
		return p.unpackCCSDS(v, data)
	}
	return p.unpackPNG(v, data)
}

// unpackSimple decodes simple packing (template 7.0).
func (p *packing) unpackSimple(v values, data []byte) error {
	if need := (int64(v.len())*int64(p.bits) + 7) / 8; int64(len(data)) < need {
		return corrupt("section 7 has %d bytes of values, %d of %d bits need %d", len(data), v.len(), p.bits, need)
	}
	off := int64(0)
	for i := range v.len() {
		v.set(i, p.value(float64(bitsAt(data, off, p.bits))))
		off += int64(p.bits)
	}
	return nil
}

// unpackFloats decodes IEEE floats (template 7.4).
func (p *packing) unpackFloats(v values, data []byte) error {
	size := map[byte]int{1: 4, 2: 8}[p.section[11]]
	if size == 0 {
		return unsupported("IEEE floats of precision %d (code table 5.7)", p.section[11])
	}
	if len(data) < size*v.len() {
		return corrupt("section 7 has %d bytes of values, %d of %d bytes need more", len(data), v.len(), size)
	}
	for i := range v.len() {
		if size == 4 {
			v.set(i, float64(math.Float32frombits(binary.BigEndian.Uint32(data[4*i:]))))
		} else {
			v.set(i, math.Float64frombits(binary.BigEndian.Uint64(data[8*i:])))
		}
	}
	return nil
}
