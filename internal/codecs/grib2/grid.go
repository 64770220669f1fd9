// SPDX-License-Identifier: Apache-2.0

package grib2

import "encoding/binary"

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
		return g, corrupt("section 3 has %d bytes", len(s))
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
		return g, corrupt("section 3 has %d bytes, template 3.%d needs %d", len(s), g.Template, octet)
	}
	nx, ny := binary.BigEndian.Uint32(s[30:]), binary.BigEndian.Uint32(s[34:])
	const missing = 1<<32 - 1
	if nx == missing || ny == missing {
		return g, unsupported("a quasi-regular grid (template 3.%d)", g.Template)
	}
	g.Nx, g.Ny, g.Scanning = int64(nx), int64(ny), s[octet-1]
	if uint64(nx)*uint64(ny) != uint64(g.Points) {
		return g, corrupt("section 3 has %d points, which are not %d x %d", g.Points, g.Ny, g.Nx)
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
