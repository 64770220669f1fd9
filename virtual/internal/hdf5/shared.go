// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"varve.dev/zarr/virtual/scan"
)

// sharedHeap is a heap of messages that several headers share.
type sharedHeap struct {
	kinds uint16 // bit k is set if it has messages of kind k
	heap  int64
}

// readExtension reads the header with more about the file.
func (r *reader) readExtension(address int64) error {
	o, err := r.object(address)
	if err != nil {
		return err
	}
	if o.find(kindDriver) != nil {
		return scan.Unsupportedf("a file of several parts")
	}
	m := o.find(kindSharedTable)
	if m == nil {
		return nil
	}
	c := r.over(m.data)
	if _, err := c.version(0); err != nil {
		return within(err, "shared message table", address)
	}
	table, n := c.address(), int(c.byte())
	if err := c.err(); err != nil {
		return err
	}
	return within(r.readSharedTable(table, n), "shared message table", table)
}

// readSharedTable reads the table of shared messages (specification, IV.A.2.p).
func (r *reader) readSharedTable(address int64, indexes int) error {
	entry := 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2*r.sizes.address
	c, err := r.signed(address, int64(4+indexes*entry+checksum), "SMTB")
	if err != nil {
		return err
	}
	for range indexes {
		c.skip(2) // version, type
		kinds := c.uint16()
		c.skip(4 + 2 + 2 + 2) // sizes and counts
		c.address()
		r.shared = append(r.shared, sharedHeap{kinds, c.address()})
	}
	return c.err()
}

// body returns the bytes of a message, also if they are elsewhere.
func (r *reader) body(m *message) ([]byte, error) {
	if m.flags&flagShared == 0 {
		return m.data, nil
	}
	return r.sharedBody(r.over(m.data), m.kind)
}

// sharedBody follows a reference to a message that is shared (specification, IV.A.2,
// "shared message").
func (r *reader) sharedBody(c *cursor, kind uint16) ([]byte, error) {
	version, err := c.version(1, 2, 3)
	if err != nil {
		return nil, err
	}
	where := c.byte()
	const inHeap = 1
	if version == 3 && where == inHeap {
		id := c.take(8)
		if err := c.err(); err != nil {
			return nil, err
		}
		return r.fromSharedHeap(id, kind)
	}
	if version == 1 {
		c.skip(6)
		// Before its address is the place of a name, though the specification has none.
		if c.rest() >= r.sizes.length+r.sizes.address {
			c.skip(r.sizes.length)
		}
	}
	address := c.address()
	if err := c.err(); err != nil {
		return nil, err
	}
	o, err := r.object(address)
	if err != nil {
		return nil, err
	}
	m := o.find(kind)
	if m == nil || m.flags&flagShared != 0 {
		return nil, scan.Corruptf("object header at %d: no shared message of the kind %d", address, kind)
	}
	return m.data, nil
}

// fromSharedHeap returns a message from the heap of its kind.
func (r *reader) fromSharedHeap(id []byte, kind uint16) ([]byte, error) {
	for _, s := range r.shared {
		if kind < 16 && s.kinds&(1<<kind) != 0 {
			h, err := r.fractalHeap(s.heap)
			if err != nil {
				return nil, err
			}
			return h.object(id)
		}
	}
	return nil, scan.Corruptf("a shared message of the kind %d, for which there is no heap", kind)
}
