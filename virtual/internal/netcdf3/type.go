// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"encoding/binary"
	"math"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/virtual/scan"
)

// element is a type of elements (nc_type).
type element struct {
	typ  dtype.Type
	fill uint64 // the bits of the default fill value (NC_FILL_BYTE, ...)
}

// char is NC_CHAR, the type of text.
const char = 2

// elements are the types of elements by number. Those from 7 on are in CDF-5 only.
var elements = map[uint32]element{
	1:    {dtype.Int8, 0x81},             // NC_BYTE
	char: {letter, 0},                    // NC_CHAR
	3:    {dtype.Int16, 0x8001},          // NC_SHORT
	4:    {dtype.Int32, 0x8000_0001},     // NC_INT
	5:    {dtype.Float32, 0x7cf0_0000},   // NC_FLOAT
	6:    {dtype.Float64, 0x479e << 48},  // NC_DOUBLE
	7:    {dtype.Uint8, math.MaxUint8},   // NC_UBYTE
	8:    {dtype.Uint16, math.MaxUint16}, // NC_USHORT
	9:    {dtype.Uint32, math.MaxUint32}, // NC_UINT
	10:   {dtype.Int64, 1<<63 + 2},       // NC_INT64
	11:   {dtype.Uint64, 1<<64 - 2},      // NC_UINT64
}

// letter is the type of a byte of text.
var letter, _ = dtype.NullTerminated(1) // a length of 1 is never refused

// element reads the number of a type.
func (c *cursor) element() (number uint32, e element, err error) {
	if number, err = c.uint32(); err != nil {
		return 0, element{}, err
	}
	e, ok := elements[number]
	if !ok || number > 6 && c.version != 5 {
		return 0, element{}, scan.Corruptf("the type %d at %d, which CDF-%d does not have", number, c.at-4, c.version)
	}
	return number, e, nil
}

// defaultFill returns the default fill value in host byte order.
func (e element) defaultFill() []byte {
	b := binary.BigEndian.AppendUint64(nil, e.fill)
	return e.host(b[8-e.typ.Size():])
}

// host returns a big-endian element in host byte order.
func (e element) host(b []byte) []byte {
	out := make([]byte, len(b))
	copy(out, b)
	if dtype.LittleEndian() && e.typ.Ordered() {
		e.typ.Swap(out, out)
	}
	return out
}
