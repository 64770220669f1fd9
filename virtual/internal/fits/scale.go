// SPDX-License-Identifier: Apache-2.0

package fits

import (
	"encoding/binary"
	"math"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/virtual/scan"
)

// setScale says in the words of CF, which readers of Zarr know, what the stored values
// mean: BZERO + BSCALE * value, and nothing where an integer is BLANK (section 4.4.2.5).
// FITS has no unsigned integers of 16 bits and more and no signed ones of 8: those have a
// BZERO, too (section 5.2.5, table 11).
func (u *unit) setScale(a *scan.Array) error {
	scale, err := u.header.float("BSCALE", 1)
	if err != nil {
		return err
	}
	zero, err := u.header.float("BZERO", 0)
	if err != nil {
		return err
	}
	isInteger := u.typ.Kind() == dtype.KindInt || u.typ.Kind() == dtype.KindUint
	if isInteger && u.typ.Size() == 8 && scale == 1 && math.Abs(zero) >= 1<<53 {
		// Floats of 64 bits do not have the sum, and no codec adds integers.
		return scan.Unsupportedf("integers of 64 bits to which BZERO = %.0f is to be added, as for unsigned ones: no codec does that exactly; write the image again with another BITPIX", zero)
	}
	if scale != 1 || zero != 0 {
		a.Attributes.Set("scale_factor", scale)
		a.Attributes.Set("add_offset", zero)
	}
	if blank, ok := u.values["BLANK"].(int64); ok && isInteger {
		u.setBlank(a, blank)
	}
	return nil
}

// setBlank sets the value of elements that have none. A number that the type does not
// have stands for no element.
func (u *unit) setBlank(a *scan.Array, blank int64) {
	size := u.typ.Size()
	b := binary.BigEndian.AppendUint64(nil, uint64(blank))[8-size:]
	if u.typ.Kind() == dtype.KindUint && blank != int64(b[0]) || blank>>(8*size-1) != blank>>63 && u.typ.Kind() == dtype.KindInt {
		return
	}
	if dtype.LittleEndian() && size > 1 {
		u.typ.Swap(b, b)
	}
	a.Fill = b
	a.Attributes.Set("_FillValue", blank)
}
