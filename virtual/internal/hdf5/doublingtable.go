// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"math/bits"

	"varve.dev/zarr/virtual/scan"
)

// rowBytes returns the bytes of each block of a row. Those of the first two rows are the
// smallest; then they double from row to row.
func (h *fractalHeap) rowBytes(row int) int64 {
	shift := max(0, row-1)
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
	at := offset - begin
	if n > size-at {
		return nil, scan.Corruptf("%d bytes at %d of a block of %d", n, at, size)
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
		if below < 1 || below >= rows {
			return 0, 0, 0, scan.Corruptf("an indirect block of %d rows", below)
		}
		address, rows = child, below
	}
}

func (h *fractalHeap) inside(offset, size int64) error {
	if offset >= size {
		return scan.Corruptf("an offset of %d in a block of %d bytes", offset, size)
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
	return 0, 0, 0, scan.Corruptf("an offset of %d beyond %d rows", offset, rows)
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
	at := c.next
	want := c.uint32()
	if err := c.err(); err != nil {
		return err
	}
	without := append([]byte{}, c.data...)
	clear(without[at:][:checksum])
	if got := lookup3(without); got != want {
		return scan.Corruptf("its checksum is %08x, want %08x", got, want)
	}
	return nil
}
