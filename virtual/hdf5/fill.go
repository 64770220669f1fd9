// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"math"

	"varve.dev/zarr/virtual/scan"
)

// fill returns the bytes of the fill value of an array as the file has them, or nil if it
// has none (specification, IV.A.2.e and f).
func (r *reader) fill(o *object) ([]byte, error) {
	if m := o.find(kindFill); m != nil {
		b, err := r.body(m)
		if err != nil {
			return nil, err
		}
		return parseFill(r.over(b))
	}
	if m := o.find(kindOldFill); m != nil {
		b, err := r.body(m)
		if err != nil {
			return nil, err
		}
		return parseFillValue(r.over(b))
	}
	return nil, nil
}

func parseFill(c *cursor) ([]byte, error) {
	version, err := c.version(1, 2, 3)
	if err != nil {
		return nil, err
	}
	if version == 3 {
		const defined = 1 << 5
		if c.byte()&defined == 0 {
			return nil, c.err()
		}
		return parseFillValue(c)
	}
	c.skip(2) // when it is allocated and written
	if c.byte() == 0 {
		return nil, c.err()
	}
	return parseFillValue(c)
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
