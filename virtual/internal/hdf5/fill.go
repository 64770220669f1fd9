// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"math"

	"varve.dev/zarr/virtual/scan"
)

// fill is what elements are that were not written.
type fill struct {
	value []byte // as the file has it, or nil for the default
	// never says that new chunks are not filled with the value, so that they may have
	// anything.
	never bool
}

// fill reads the fill value of an array (specification, IV.A.2.e and f).
func (r *reader) fill(o *object) (f fill, err error) {
	parse := parseFill
	m := o.find(kindFill)
	if m == nil {
		parse = func(c *cursor) (f fill, err error) { f.value, err = parseFillValue(c); return f, err }
		m = o.find(kindOldFill)
	}
	if m == nil {
		return f, nil
	}
	b, err := r.body(m)
	if err != nil {
		return f, err
	}
	return parse(r.over(b))
}

func parseFill(c *cursor) (f fill, err error) {
	version, err := c.version(1, 2, 3)
	if err != nil {
		return f, err
	}
	const never = 1 // when the value is written
	defined := false
	if version == 3 {
		flags := c.byte()
		f.never, defined = flags>>2&3 == never, flags&(1<<5) != 0
	} else {
		c.skip(1) // when it is allocated
		f.never, defined = c.byte() == never, c.byte() != 0
	}
	if defined {
		f.value, err = parseFillValue(c)
		return f, err
	}
	return f, c.err()
}

// parseFillValue reads the number of bytes and the bytes.
func parseFillValue(c *cursor) ([]byte, error) {
	n := c.uint32()
	if n == 0 || n == math.MaxUint32 {
		return nil, c.err() // the default, or none
	}
	if int64(n) > int64(c.rest()) {
		return nil, scan.Corruptf("a fill value of %d bytes", n)
	}
	return c.take(int(n)), c.err()
}
