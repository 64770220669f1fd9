// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// collection has the objects of a collection of the global heap, by number.
type collection map[uint16][]byte

// collection reads the collection at an address (specification, III.E).
func (r *reader) collection(address int64) (collection, error) {
	if known, ok := r.collections[address]; ok {
		return known, nil
	}
	c, err := r.cursor(address, int64(8+r.sizes.length))
	if err != nil {
		return nil, err
	}
	if err := c.signature("GCOL"); err != nil {
		return nil, err
	}
	if _, err := c.version(1); err != nil {
		return nil, err
	}
	c.skip(3)
	head, n := int64(len(c.data)), c.length()
	if n < head {
		return nil, scan.Corruptf("its length is %d", n)
	}
	if c, err = r.cursor(address+head, n-head); err != nil {
		return nil, err
	}
	objects := collection{}
	for c.rest() >= 8+r.sizes.length {
		number := c.uint16()
		c.skip(6)
		size := c.length()
		if number == 0 {
			break // free space up to the end
		}
		if size < 0 || size > int64(c.rest()) {
			return nil, scan.Corruptf("object %d has %d bytes", number, size)
		}
		objects[number] = c.take(int(size))
		c.skip(min(c.rest(), int(-size&7)))
	}
	r.collections[address] = objects
	return objects, nil
}

// sequence returns the elements that a reference to the global heap leads to, as so many
// bytes each.
func (r *reader) sequence(c *cursor, size int64) ([]byte, error) {
	count, address, number := int64(c.uint32()), c.address(), c.uint32()
	if err := c.err(); err != nil {
		return nil, err
	}
	if count == 0 || address == undefined || address == 0 {
		return nil, nil
	}
	objects, err := r.collection(address)
	if err != nil {
		return nil, within(err, "global heap", address)
	}
	object, there := objects[uint16(number)]
	n, ok := checked.Mul(count, size)
	if !there || !ok || number > 0xffff || int64(len(object)) < n {
		return nil, within(scan.Corruptf("it has no object %d of %d elements", number, count), "global heap", address)
	}
	if err := r.spend(n); err != nil {
		return nil, err
	}
	return object[:n:n], nil
}
