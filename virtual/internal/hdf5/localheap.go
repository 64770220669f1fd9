// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"bytes"

	"varve.dev/zarr/virtual/scan"
)

// localHeap returns the bytes of the heap of a symbol table: the names of its links
// (specification, III.D).
func (r *reader) localHeap(address int64) ([]byte, error) {
	c, err := r.cursor(address, int64(8+2*r.sizes.length+r.sizes.address))
	if err == nil {
		err = c.signature("HEAP")
	}
	if err == nil {
		_, err = c.version(0)
	}
	if err != nil {
		return nil, within(err, "local heap", address)
	}
	c.skip(3)
	n := c.length()
	c.length() // free space
	b, err := r.bytes(c.address(), n)
	return b, within(err, "local heap", address)
}

// nameAt returns the name at an offset of a local heap.
func nameAt(heap []byte, offset int64) (string, error) {
	if offset < 0 || offset >= int64(len(heap)) {
		return "", scan.Corruptf("a name at %d of a heap of %d bytes", offset, len(heap))
	}
	n := bytes.IndexByte(heap[offset:], 0)
	if n < 0 {
		return "", scan.Corruptf("a name at %d of a heap has no end", offset)
	}
	return string(heap[offset:][:n]), nil
}
