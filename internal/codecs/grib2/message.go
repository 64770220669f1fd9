// SPDX-License-Identifier: Apache-2.0

package grib2

import (
	"encoding/binary"
	"math/bits"

	"varve.dev/zarr/internal/quantity"
)

// field is a field of a message: the sections that it consists of. Sections 2 to 7 may
// repeat, and a field has those before its section 7 (regulation 92.1.3).
type field struct {
	grid    []byte // section 3
	packing []byte // section 5
	masked  bool   // there is a bitmap
	bitmap  []byte // of section 6
	data    []byte // of section 7, without its header
}

const (
	headBytes    = 16 // of section 0
	endBytes     = 4  // of section 8
	sectionBytes = 5  // length and number of a section
)

// find returns a field of a message.
func find(src []byte, want int) (f field, err error) {
	if len(src) < headBytes+endBytes || string(src[:4]) != "GRIB" {
		return f, corrupt("no GRIB message: it has %s", quantity.Count(len(src), "bytes"))
	}
	if src[7] != 2 {
		return f, unsupported("edition %d of GRIB", src[7])
	}
	if n := binary.BigEndian.Uint64(src[8:]); n != uint64(len(src)) {
		return f, corrupt("the message says that it has %s, and has %d", quantity.Count(n, "bytes"), len(src))
	}
	if end := src[len(src)-endBytes:]; string(end) != "7777" {
		return f, corrupt("the message ends with %q", end)
	}
	seen := 0
	for rest := src[headBytes : len(src)-endBytes]; len(rest) > 0; {
		s, err := section(rest)
		if err != nil {
			return f, err
		}
		rest = rest[len(s):]
		if err := f.take(s); err != nil {
			return f, err
		}
		if s[4] != 7 {
			continue
		}
		if seen == want {
			return f, f.check()
		}
		seen++
	}
	return f, corrupt("the message has %s, the one wanted is %d", quantity.Count(seen, "fields"), want)
}

// section returns the first section of some bytes.
func section(b []byte) ([]byte, error) {
	if len(b) < sectionBytes {
		return nil, corrupt("%s where a section begins", quantity.Count(len(b), "bytes"))
	}
	n := binary.BigEndian.Uint32(b)
	if n < sectionBytes || int64(n) > int64(len(b)) {
		return nil, corrupt("section %d says that it has %s, of %d", b[4], quantity.Count(n, "bytes"), len(b))
	}
	return b[:n], nil
}

// take sets what a section tells about this field and those after it.
func (f *field) take(s []byte) error {
	switch s[4] {
	case 1, 2, 4:
	case 3:
		f.grid = s
	case 5:
		f.packing = s
	case 6:
		return f.takeBitmap(s)
	case 7:
		f.data = s[sectionBytes:]
	default:
		return corrupt("a section %d", s[4])
	}
	return nil
}

// takeBitmap reads section 6 (code table 6.0).
func (f *field) takeBitmap(s []byte) error {
	const follows, sameAgain, none = 0, 254, 255
	if len(s) < 6 {
		return corrupt("section 6 has %s", quantity.Count(len(s), "bytes"))
	}
	switch s[5] {
	case follows:
		f.bitmap, f.masked = s[6:], true
	case sameAgain:
		if f.masked = true; f.bitmap == nil {
			return corrupt("section 6 means an earlier bitmap, and there is none")
		}
	case none:
		f.masked = false
	default:
		return unsupported("the predefined bitmap %d", s[5])
	}
	return nil
}

func (f *field) check() error {
	if f.grid == nil || f.packing == nil {
		return corrupt("the message lacks section 3 or 5")
	}
	return nil
}

// count returns how many of the points have values according to the bitmap.
func (f *field) count(points int64) (n int64, err error) {
	if int64(len(f.bitmap)) < (points+7)/8 {
		return 0, corrupt("a bitmap of %s for %s", quantity.Count(len(f.bitmap), "bytes"), quantity.Count(points, "points"))
	}
	for _, b := range f.bitmap[:points/8] {
		n += int64(bits.OnesCount8(b))
	}
	if rest := points % 8; rest > 0 {
		n += int64(bits.OnesCount8(f.bitmap[points/8] >> (8 - rest)))
	}
	return n, nil
}

// Grid is what section 3 says about the order of points.
type Grid struct {
	// Template is the number of the grid definition template (code table 3.1).
	Template int
	// Points is the number of grid points.
	Points int64
	// Nx and Ny are the points along both axes. Both are 0 if the template has no such
	// axes or is not known. Otherwise their product is Points.
	Nx, Ny int64
	// Scanning are the flags of the scanning mode (flag table 3.4).
	Scanning byte
}

// The flags of the scanning mode.
const (
	ScansWest        = 0x80 // points of a row go towards -i
	ScansNorth       = 0x40 // rows go towards +j
	ScansColumns     = 0x20 // points that follow each other are those of a column
	ScansAlternately = 0x10 // every other row goes the other way
)

// scanningAt is the octet of the scanning mode in the templates that have Nx and Ny in
// octets 31 to 38.
var scanningAt = map[int]int{
	0: 72, 1: 72, 2: 72, 3: 72, 10: 60, 12: 60, 20: 65, 30: 65, 31: 65,
	40: 72, 41: 72, 42: 72, 43: 72, 90: 64, 140: 64, 204: 72,
}

// ParseGrid reads section 3, with its header. The error wraps [codec.ErrCorrupt], or
// [codec.ErrUnsupported] for grids whose rows differ in length.
func ParseGrid(s []byte) (g Grid, err error) {
	if len(s) < 14 {
		return g, corrupt("section 3 has %s", quantity.Count(len(s), "bytes"))
	}
	g.Points = int64(binary.BigEndian.Uint32(s[6:]))
	g.Template = int(binary.BigEndian.Uint16(s[12:]))
	if s[5] != 0 {
		return g, unsupported("a grid of definition %d (code table 3.0)", s[5])
	}
	if s[10] != 0 {
		return g, unsupported("a quasi-regular grid (template 3.%d)", g.Template)
	}
	octet, ok := scanningAt[g.Template]
	if !ok {
		return g, nil
	}
	if len(s) < octet {
		return g, corrupt("section 3 has %s, template 3.%d needs %d", quantity.Count(len(s), "bytes"), g.Template, octet)
	}
	nx, ny := binary.BigEndian.Uint32(s[30:]), binary.BigEndian.Uint32(s[34:])
	const missing = 1<<32 - 1
	if nx == missing || ny == missing {
		return g, unsupported("a quasi-regular grid (template 3.%d)", g.Template)
	}
	g.Nx, g.Ny, g.Scanning = int64(nx), int64(ny), s[octet-1]
	if uint64(nx)*uint64(ny) != uint64(g.Points) {
		return g, corrupt("section 3 has %s, which are not %d x %d", quantity.Count(g.Points, "points"), g.Ny, g.Nx)
	}
	return g, nil
}

// straighten reverses every other row of a grid that is scanned to and fro.
func (g Grid) straighten(v values) {
	row := g.Nx
	if g.Scanning&ScansColumns != 0 {
		row = g.Ny
	}
	if g.Scanning&ScansAlternately == 0 || row == 0 {
		return
	}
	for at := row; at < g.Points; at += 2 * row {
		v[8*at : 8*(at+row)].reverse()
	}
}
