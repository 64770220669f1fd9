// SPDX-License-Identifier: Apache-2.0

package grib2

import (
	"encoding/binary"
	"math"
)

// groups are the groups of complex packing (templates 5.2 and 7.2). Section 7 has the
// reference of every group, then their widths, then their lengths, and then the values.
// Each of these lists begins at a byte.
type groups struct {
	data                              []byte
	n                                 int64
	references, widths, lengths       int64 // where the lists begin, in bits
	values                            int64
	referenceBits, widthBits, lenBits int
	width, length, step, last         int64 // references of widths and lengths, and so on
	missing                           int   // kinds of missing values: 0 to 2
}

// unpackComplex decodes complex packing, with or without spatial differencing.
func (p *packing) unpackComplex(v values, data []byte) error {
	// Without groups section 7 may be empty, also of what spatial differencing has before
	// them. ecCodes takes the reference then.
	if binary.BigEndian.Uint32(p.section[31:]) == 0 {
		p.fill(v)
		return nil
	}
	var d differences
	if p.template == 3 {
		var err error
		if d, data, err = p.differences(data); err != nil {
			return err
		}
	}
	g, err := p.groups(data)
	if err != nil {
		return err
	}
	done := int64(0)
	for i := range g.n {
		reference, width, length := g.group(i)
		if width > maxBits {
			return corrupt("group %d has values of %d bits", i, width)
		}
		if length > int64(v.len())-done {
			return corrupt("group %d has %d values, %d are left", i, length, int64(v.len())-done)
		}
		if g.values+length*width > 8*int64(len(data)) {
			return corrupt("section 7 has %d bytes of groups, group %d of %d needs more", len(data), i, g.n)
		}
		g.unpack(v[8*done:8*(done+length)], p, &d, reference, int(width))
		g.values += length * width
		done += length
	}
	if done != int64(v.len()) {
		return corrupt("the groups have %d values, section 5 has %d", done, v.len())
	}
	return nil
}

// groups reads the description of groups in section 5, and finds the lists in section 7.
func (p *packing) groups(data []byte) (g groups, err error) {
	s := p.section
	g = groups{
		data: data, n: int64(binary.BigEndian.Uint32(s[31:])), missing: int(s[22]),
		referenceBits: p.bits, width: int64(s[35]), widthBits: int(s[36]),
		length: int64(binary.BigEndian.Uint32(s[37:])), step: int64(s[41]),
		last: int64(binary.BigEndian.Uint32(s[42:])), lenBits: int(s[46]),
	}
	if g.missing > 2 {
		return g, corrupt("section 5 has %d kinds of missing values (code table 5.5)", g.missing)
	}
	if g.n > p.values || g.widthBits > 32 || g.lenBits > 32 {
		return g, corrupt("section 5 has %d groups for %d values, widths of %d bits and lengths of %d", g.n, p.values, g.widthBits, g.lenBits)
	}
	list := func(bits int) (begin int64) {
		begin = g.values
		g.values += (g.n*int64(bits) + 7) / 8 * 8
		return begin
	}
	g.references, g.widths, g.lengths = list(g.referenceBits), list(g.widthBits), list(g.lenBits)
	if g.values > 8*int64(len(data)) {
		return g, corrupt("section 7 has %d bytes, %d groups need more", len(data), g.n)
	}
	return g, nil
}

// group returns the reference of a group, the bits of its values, and their number.
func (g *groups) group(i int64) (reference uint64, width, length int64) {
	at := func(list int64, bits int) uint64 {
		if bits == 0 {
			return 0
		}
		return bitsAt(g.data, list+i*int64(bits), bits)
	}
	length = g.last
	if i < g.n-1 {
		length = g.length + g.step*int64(at(g.lengths, g.lenBits))
	}
	return at(g.references, g.referenceBits), g.width + int64(at(g.widths, g.widthBits)), length
}

// unpack decodes the values of a group. If values may be missing, the largest number of
// their bits means that one is, and with two kinds of missing values also the number
// before it (code table 5.5). A group without bits has its reference in their place.
func (g *groups) unpack(v values, p *packing, d *differences, reference uint64, width int) {
	bits := width
	if width == 0 {
		bits = g.referenceBits
	}
	first := uint64(math.MaxUint64) // the first number that means a missing value
	if g.missing > 0 && bits > 0 {
		first = 1<<bits - uint64(g.missing)
	}
	for i, off := 0, g.values; i < v.len(); i, off = i+1, off+int64(width) {
		x, mark := reference, reference
		if width > 0 {
			mark = bitsAt(g.data, off, width)
			x += mark
		}
		if mark >= first {
			v.set(i, math.NaN())
			continue
		}
		v.set(i, p.value(float64(d.next(int64(x)))))
	}
}

// differences undoes spatial differencing (template 5.3): values are differences of order
// 1 or 2, less the smallest of them. Missing values do not count.
type differences struct {
	order    int // 0 without differencing
	least    int64
	first    [2]int64 // the values before the differences
	seen     int
	last, by int64 // the last value, and what it added to the one before
}

// differences reads what section 7 has before the groups.
func (p *packing) differences(data []byte) (d differences, rest []byte, err error) {
	d.order = int(p.section[47])
	n := int(p.section[48])
	if d.order != 1 && d.order != 2 {
		return d, nil, unsupported("spatial differencing of order %d", d.order)
	}
	if n > 7 || len(data) < (d.order+1)*n {
		return d, nil, corrupt("section 7 has %d bytes, and before the groups %d numbers of %d bytes", len(data), d.order+1, n)
	}
	for i := range d.order {
		d.first[i], data = int64(unsigned(data[:n])), data[n:]
	}
	if n > 0 {
		d.least = signed(data[:n])
	}
	return d, data[n:], nil
}

// next returns the value of which x is the difference.
func (d *differences) next(x int64) int64 {
	switch {
	case d.order == 0:
		return x
	case d.seen < d.order:
		x = d.first[d.seen]
		d.by = x - d.last
	case d.order == 1:
		d.by = x + d.least
		x = d.last + d.by
	default:
		d.by += x + d.least
		x = d.last + d.by
	}
	d.seen, d.last = d.seen+1, x
	return x
}
