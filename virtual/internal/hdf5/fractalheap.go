// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"math/bits"

	"varve.dev/zarr/virtual/scan"
)

// fractalHeap is a heap of links, attributes or messages (specification, III.G).
type fractalHeap struct {
	*reader
	address   int64
	id        int  // bytes of the identifier of an object
	summed    bool // direct blocks have checksums
	offset    int  // bytes of an offset
	length    int  // bytes of the length of an object
	width     int64
	start     int64 // bytes of the smallest blocks
	direct    int64 // bytes of the largest direct blocks
	root      int64
	rows      int   // of the root, 0 if it is a direct block
	huge      int64 // tree of objects that are too large for blocks
	hugeBytes map[uint64]span
	blocks    map[int64][]byte  // direct blocks that were read, by address
	children  map[int64][]int64 // of indirect blocks that were read
}

// fractalHeap reads the header of a heap.
func (r *reader) fractalHeap(address int64) (*fractalHeap, error) {
	h, err := r.readFractalHeap(address)
	return h, within(err, "fractal heap", address)
}

func (r *reader) readFractalHeap(address int64) (*fractalHeap, error) {
	l, a := r.sizes.length, r.sizes.address
	// Filters make the header longer.
	if b, err := r.bytes(address, 9); err != nil {
		return nil, err
	} else if string(b[:4]) == "FRHP" && b[7]|b[8] != 0 {
		return nil, scan.Unsupportedf("a heap with filters")
	}
	c, err := r.signed(address, int64(4+1+2+2+1+4+12*l+3*a+2+2+2+2+checksum), "FRHP")
	if err != nil {
		return nil, err
	}
	if _, err := c.version(0); err != nil {
		return nil, err
	}
	h := &fractalHeap{reader: r, address: address, blocks: map[int64][]byte{}, children: map[int64][]int64{}}
	h.id = int(c.uint16())
	c.skip(2)
	h.summed = c.byte()&2 != 0
	largest := c.uint32() // object in a block
	c.skip(l)             // the next number of a huge object
	h.huge = c.address()
	c.skip(l + a + 8*l) // free space, counts
	h.width, h.start, h.direct = int64(c.uint16()), c.length(), c.length()
	most := int(c.uint16())
	c.skip(2)
	h.root, h.rows = c.address(), int(c.uint16())
	if err := c.err(); err != nil {
		return nil, err
	}
	h.offset = (most + 7) / 8
	h.length = min((bits.Len64(uint64(h.direct))+6)/8, bytesFor(uint64(largest)))
	return h, h.check(most)
}

// check checks the sizes of blocks.
func (h *fractalHeap) check(most int) error {
	power := func(n int64) bool { return n > 0 && n&(n-1) == 0 }
	if !power(h.width) || !power(h.start) || !power(h.direct) || h.direct < h.start || h.direct > 1<<40 ||
		most > 64 || h.rows > 64 || h.id < 1+h.offset+h.length && h.id < 2 {
		return scan.Corruptf("blocks of %d to %d bytes, %d in a row, offsets of %d bits", h.start, h.direct, h.width, most)
	}
	return nil
}

// object returns the object with an identifier.
func (h *fractalHeap) object(id []byte) ([]byte, error) {
	b, err := h.find(h.over(id))
	return b, within(err, "fractal heap", h.address)
}

// The kinds of objects of a heap.
const (
	managedObject = 0
	hugeObject    = 1
	tinyObject    = 2
)

func (h *fractalHeap) find(id *cursor) ([]byte, error) {
	mark := id.byte()
	if mark>>6 != 0 {
		return nil, scan.Unsupportedf("version %d of the identifiers of objects", mark>>6)
	}
	switch mark >> 4 & 3 {
	case managedObject:
		offset, n := int64(id.uint(h.offset)), int64(id.uint(h.length))
		if err := id.err(); err != nil {
			return nil, err
		}
		return h.managed(offset, n)
	case hugeObject:
		return h.hugeObject(id)
	case tinyObject:
		n := int(mark & 15)
		const long = 18
		if h.id > long {
			n = n<<8 | int(id.byte())
		}
		return id.take(n + 1), id.err()
	}
	return nil, scan.Corruptf("an object of the kind %d", mark>>4&3)
}

// hugeObject returns an object that has its own place in the file. Its identifier is that
// place, or if there is no room for it, a key of a tree.
func (h *fractalHeap) hugeObject(id *cursor) ([]byte, error) {
	if h.sizes.address+h.sizes.length <= id.rest() {
		return h.bytes(id.address(), id.length())
	}
	if h.hugeBytes == nil {
		h.hugeBytes = map[uint64]span{}
		const indirect = 1
		err := h.tree2(h.huge, indirect, func(record []byte) error {
			c := h.over(record)
			s := span{c.address(), c.length()}
			h.hugeBytes[c.uint(h.sizes.length)] = s
			return c.err()
		})
		if err != nil {
			return nil, err
		}
	}
	key := id.uint(min(8, id.rest()))
	s, ok := h.hugeBytes[key]
	if !ok {
		return nil, scan.Corruptf("no huge object with the number %d", key)
	}
	return h.bytes(s.address, s.n)
}
