// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"fmt"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// dataspace is the extent of an array or an attribute (specification, IV.A.2.b).
type dataspace struct {
	null  bool // there are no elements, not even a scalar
	shape []int64
	// most are the extents that the array may grow to, or undefined for no limit.
	most []int64
}

// mostAxes is the greatest rank that HDF5 permits.
const mostAxes = 32

func parseDataspace(c *cursor) (s dataspace, err error) {
	version, err := c.version(1, 2)
	if err != nil {
		return s, fmt.Errorf("dataspace: %w", err)
	}
	rank, flags := int(c.byte()), c.byte()
	if version == 1 {
		c.skip(5)
	} else {
		const null = 2
		s.null = c.byte() == null
	}
	if rank > mostAxes {
		return s, scan.Corruptf("dataspace: %d dimensions", rank)
	}
	s.shape = make([]int64, rank)
	for i := range s.shape {
		s.shape[i] = c.length()
	}
	s.most = s.shape
	if flags&1 != 0 {
		s.most = make([]int64, rank)
		for i := range s.most {
			s.most[i] = c.length()
		}
	}
	if c.short {
		return s, scan.Corruptf("dataspace: %d bytes are too few", len(c.data))
	}
	return s, s.check()
}

// check checks the extents.
func (s *dataspace) check() error {
	for i, n := range s.shape {
		if n < 0 || s.most[i] != undefined && s.most[i] < n {
			return scan.Corruptf("dataspace: an extent of %d, and at most %d", n, s.most[i])
		}
	}
	return nil
}

// bytes returns the bytes of all elements of a size.
func (s *dataspace) bytes(size int64) (int64, error) {
	if s.null {
		return 0, nil
	}
	n, ok := checked.Product(append([]int64{size}, s.shape...)...)
	if !ok {
		return 0, scan.Corruptf("a shape of %v, with elements of %d bytes", s.shape, size)
	}
	return n, nil
}
