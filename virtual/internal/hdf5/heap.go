// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"bytes"
	"math/bits"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/hdf5"
	"varve.dev/zarr/internal/quantity"
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
	// Managed objects lie within a direct block. Their identifiers have as few bytes of
	// length as the largest object needs.
	h.length = min((bits.Len64(uint64(h.direct))+6)/8, bytesFor(uint64(largest)))
	return h, h.check(most)
}

// check checks the sizes of blocks.
func (h *fractalHeap) check(most int) error {
	power := func(n int64) bool { return n > 0 && n&(n-1) == 0 }
	if !power(h.width) || !power(h.start) || !power(h.direct) || h.direct < h.start || h.direct > 1<<40 ||
		most > 64 || h.rows > 64 || h.id < 1+h.offset+h.length && h.id < 2 {
		return scan.Corruptf("blocks of %d to %s, %d in a row, offsets of %s", h.start, quantity.Count(h.direct, "bytes"), h.width, quantity.Count(most, "bits"))
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
	// Bits 6 and 7 are the version, 4 and 5 the kind (III.G).
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
		// The bytes of a tiny object are in the identifier. Their number less one has 4
		// bits, or 12 in identifiers of more than 18 bytes.
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
		// Kind 1: the address, the length and the number of an object without filters.
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

// rowBytes returns the bytes of each block of a row. Those of the first two rows are the
// smallest; then they double from row to row.
func (h *fractalHeap) rowBytes(row int) int64 {
	shift := max(0, row-1)
	// A damaged table must not overflow. No block has 0 bytes.
	if shift >= bits.LeadingZeros64(uint64(h.start))-1 {
		return 0
	}
	return h.start << shift
}

// directRows returns the number of rows of direct blocks.
func (h *fractalHeap) directRows() int {
	return bits.Len64(uint64(h.direct/h.start)) - 1 + 2
}

// managed returns n bytes at an offset of the blocks of a heap.
func (h *fractalHeap) managed(offset, n int64) ([]byte, error) {
	block, size, begin, err := h.blockOf(offset)
	if err != nil {
		return nil, err
	}
	b, err := h.block(block, size, begin)
	if err != nil {
		return nil, within(err, "direct block", block)
	}
	// Offsets count the prefixes of blocks, too.
	at := offset - begin
	if n > size-at {
		return nil, scan.Corruptf("%s at %d of a block of %d", quantity.Count(n, "bytes"), at, size)
	}
	if err := h.spend(n); err != nil {
		return nil, err
	}
	return b[at:][:n:n], nil
}

// blockOf returns the address, the size and the first offset of the direct block with an
// offset (specification, III.G, "doubling table").
func (h *fractalHeap) blockOf(offset int64) (block, size, begin int64, err error) {
	if offset < 0 {
		return 0, 0, 0, scan.Corruptf("an offset of %d", offset)
	}
	if h.rows == 0 {
		return h.root, h.start, 0, h.inside(offset, h.start)
	}
	address, rows := h.root, h.rows
	for {
		row, column, first, err := h.cell(offset-begin, rows)
		if err != nil {
			return 0, 0, 0, err
		}
		children, err := h.indirect(address, rows, begin)
		if err != nil {
			return 0, 0, 0, within(err, "indirect block", address)
		}
		size := h.rowBytes(row)
		child := children[int64(row)*h.width+column]
		begin += first
		if row < h.directRows() {
			return child, size, begin, nil
		}
		// An indirect block of so many bytes has rows up to that number.
		below := bits.Len64(uint64(size)) - bits.Len64(uint64(h.start*h.width)) + 1
		// Each level has fewer rows than the one above, so that a circle ends here.
		if below < 1 || below >= rows {
			return 0, 0, 0, scan.Corruptf("an indirect block of %s", quantity.Count(below, "rows"))
		}
		address, rows = child, below
	}
}

func (h *fractalHeap) inside(offset, size int64) error {
	if offset >= size {
		return scan.Corruptf("an offset of %d in a block of %s", offset, quantity.Count(size, "bytes"))
	}
	return nil
}

// cell returns the row and the column of a table with an offset, and the first offset of
// the block there.
func (h *fractalHeap) cell(offset int64, rows int) (row int, column, first int64, err error) {
	for row = range rows {
		size := h.rowBytes(row)
		if size == 0 || size > (1<<62)/h.width {
			break
		}
		if n := size * h.width; offset-first >= n {
			first += n
			continue
		}
		column = (offset - first) / size
		return row, column, first + column*size, nil
	}
	return 0, 0, 0, scan.Corruptf("an offset of %d beyond %s", offset, quantity.Count(rows, "rows"))
}

// indirect returns the addresses of the children of an indirect block.
func (h *fractalHeap) indirect(address int64, rows int, begin int64) ([]int64, error) {
	if list, ok := h.children[address]; ok && len(list) == rows*int(h.width) {
		return list, nil
	}
	n := int64(rows) * h.width
	a := int64(h.sizes.address)
	c, err := h.signed(address, 4+1+a+int64(h.offset)+n*a+checksum, "FHIB")
	if err != nil {
		return nil, err
	}
	if err := h.prefix(c, begin); err != nil {
		return nil, err
	}
	list := make([]int64, n)
	for i := range list {
		list[i] = c.address()
	}
	h.children[address] = list
	return list, c.err()
}

// prefix checks the beginning of a block after its signature.
func (h *fractalHeap) prefix(c *cursor, begin int64) error {
	if _, err := c.version(0); err != nil {
		return err
	}
	if heap := c.address(); heap != h.address {
		return scan.Corruptf("it belongs to a heap at %d", heap)
	}
	if at := int64(c.uint(h.offset)); at != begin {
		return scan.Corruptf("it is the block for %d, not %d", at, begin)
	}
	return c.err()
}

// block returns the bytes of a direct block, with its prefix.
func (h *fractalHeap) block(address, size, begin int64) ([]byte, error) {
	if b, ok := h.blocks[address]; ok && int64(len(b)) == size {
		return b, nil
	}
	c, err := h.cursor(address, size)
	if err != nil {
		return nil, err
	}
	if err := c.signature("FHDB"); err != nil {
		return nil, err
	}
	if err := h.prefix(c, begin); err != nil {
		return nil, err
	}
	if h.summed && !h.trusting {
		if err := verifyWithin(c); err != nil {
			return nil, err
		}
	}
	h.blocks[address] = c.data
	return c.data, nil
}

// verifyWithin checks the checksum that comes next. It counts as zero itself.
func verifyWithin(c *cursor) error {
	at := c.position
	want := c.uint32()
	if err := c.err(); err != nil {
		return err
	}
	without := append([]byte{}, c.data...)
	clear(without[at:][:checksum])
	if got := hdf5.Checksum(without); got != want {
		return scan.Corruptf("its checksum is %08x, want %08x", got, want)
	}
	return nil
}

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
			return nil, scan.Corruptf("object %d has %s", number, quantity.Count(size, "bytes"))
		}
		objects[number] = c.take(int(size))
		// Objects are padded to a multiple of 8 bytes, which their size does not count.
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
	// Elements that were never written are all zeros, the null value of the library.
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
		return nil, within(scan.Corruptf("it has no object %d of %s", number, quantity.Count(count, "elements")), "global heap", address)
	}
	if err := r.spend(n); err != nil {
		return nil, err
	}
	return object[:n:n], nil
}

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
		return "", scan.Corruptf("a name at %d of a heap of %s", offset, quantity.Count(len(heap), "bytes"))
	}
	n := bytes.IndexByte(heap[offset:], 0)
	if n < 0 {
		return "", scan.Corruptf("a name at %d of a heap has no end", offset)
	}
	return string(heap[offset:][:n]), nil
}
