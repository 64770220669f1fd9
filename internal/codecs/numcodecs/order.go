// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// Reordered returns a chain of codecs for elements of size bytes with the same codecs in
// another order, and whether that is needed. netCDF-4 puts the checksum fletcher32 before
// shuffle. HDF5 shuffles whole elements and leaves the bytes after them as they are;
// numcodecs refuses to do so, in both directions. If elements have 8 bytes, a checksum of
// 4 bytes is such a rest. The checksum comes last in the chain that is returned.
func Reordered(chain []metadata.Extension, size int) ([]metadata.Extension, bool) {
	var sums []int // indices of the checksums so far
	longer := int64(0)
	for i, e := range chain {
		c, err := codec.Default.New(e)
		if err != nil {
			return chain, false // nobody knows what it does with lengths
		}
		switch c := c.(type) {
		case checksum:
			sums, longer = append(sums, i), longer+checksumSize
		case *shuffler:
			n := c.size
			if c.guessed || c.zero {
				n = int64(size)
			}
			if n > 1 && longer%n != 0 {
				return behind(chain, sums), true
			}
		}
	}
	return chain, false
}

// behind returns a chain with some of its codecs at the end.
func behind(chain []metadata.Extension, some []int) []metadata.Extension {
	var first, last []metadata.Extension
	for i, e := range chain {
		if slices.Contains(some, i) {
			last = append(last, e)
		} else {
			first = append(first, e)
		}
	}
	return append(first, last...)
}
