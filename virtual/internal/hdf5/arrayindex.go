// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"math/bits"
	"slices"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// fixedArray is the index of an array that cannot grow without limit (specification,
// VII.C).
type fixedArray struct {
	*chunks
	slots  *slots
	header int64 // address
	client byte
	bytes  int   // of a slot
	page   int64 // slots of a page
	n      int64 // slots
}

// fromFixed adds the chunks of a fixed array.
func (k *chunks) fromFixed() error {
	return within(k.readFixed(), "fixed array", k.layout.address)
}

func (k *chunks) readFixed() error {
	s, err := k.slots(-1)
	if err != nil {
		return err
	}
	c, err := k.signed(k.layout.address, int64(4+4+k.sizes.length+k.sizes.address+checksum), "FAHD")
	if err != nil {
		return err
	}
	if _, err := c.version(0); err != nil {
		return err
	}
	a := fixedArray{chunks: k, slots: s, header: k.layout.address, client: c.byte(), bytes: int(c.byte())}
	bits := c.byte()
	a.n = c.length()
	block := c.address()
	if err := k.checkElement(a.bytes, a.client); err != nil {
		return err
	}
	if bits > 32 || a.n < 0 {
		return scan.Corruptf("%s, in pages of 2^%d", quantity.Count(a.n, "slots"), bits)
	}
	// The data block is allocated with the first chunk.
	if a.page = 1 << bits; block == undefined {
		return nil
	}
	return within(a.block(block), "data block", block)
}

// block reads the slots, or if they are many, which of their pages are there.
func (a *fixedArray) block(address int64) error {
	head := int64(4 + 2 + a.sizes.address)
	paged := a.n > a.page
	var after int64
	ok := true
	// The library pages arrays of more than 1024 slots. The bitmap and its checksum come
	// before the pages, each of which has its own checksum.
	if paged {
		after = checked.CeilDiv(checked.CeilDiv(a.n, a.page), 8)
	} else {
		after, ok = checked.Mul(a.n, int64(a.bytes))
	}
	if !ok || after > a.file.Size() {
		return scan.Corruptf("%s of %s", quantity.Count(a.n, "slots"), quantity.Count(a.bytes, "bytes"))
	}
	c, err := a.signed(address, head+after+checksum, "FADB")
	if err != nil {
		return err
	}
	if err := a.prefix(c); err != nil {
		return err
	}
	if !paged {
		return a.read(c, 0, a.n)
	}
	return a.pages(c.take(int(after)), address+head+after+checksum)
}

// prefix checks the beginning of a data block after its signature.
func (a *fixedArray) prefix(c *cursor) error {
	if _, err := c.version(0); err != nil {
		return err
	}
	if client, header := c.byte(), c.address(); client != a.client || header != a.header {
		return scan.Corruptf("it belongs to an array of the kind %d at %d", client, header)
	}
	return c.err()
}

// pages reads the pages that a bitmap has, the highest bit first.
func (a *fixedArray) pages(there []byte, address int64) error {
	size := a.page*int64(a.bytes) + checksum
	for number := range checked.CeilDiv(a.n, a.page) {
		// A page keeps its place in the file. Unless its bit is set, its bytes are
		// garbage.
		if there[number/8]&(0x80>>(number%8)) == 0 {
			continue
		}
		first := number * a.page
		n := min(a.page, a.n-first)
		at, ok := checked.Mul(number, size)
		if ok {
			at, ok = checked.Add(at, address)
		}
		if !ok {
			return scan.Corruptf("page %d of %s", number, quantity.Count(size, "bytes"))
		}
		c, err := a.summed(at, n*int64(a.bytes)+checksum)
		if err == nil {
			err = a.read(c, first, n)
		}
		if err != nil {
			return within(err, "page", at)
		}
	}
	return nil
}

// read reads n slots.
func (a *fixedArray) read(c *cursor, first, n int64) error {
	for slot := first; slot < first+n; slot++ {
		if err := a.addSlot(c, a.slots, slot, a.bytes); err != nil {
			return err
		}
	}
	return nil
}

// extensibleArray is the index of an array with one unlimited axis (specification,
// VII.D). Slots are in the index block, then in data blocks, which become larger, and
// more and more. Super blocks have the addresses of later data blocks.
type extensibleArray struct {
	*chunks
	slots    *slots
	header   int64 // address
	client   byte
	bytes    int   // of a slot
	bits     int   // of the number of a slot
	direct   int64 // slots of the index block
	least    int64 // slots of the smallest data blocks
	pointers int64 // addresses of data blocks in the smallest super block
	page     int64 // slots of a page of a data block
	slot     int64 // the number of the next slot
}

// fromExtensible adds the chunks of an extensible array.
func (k *chunks) fromExtensible() error {
	return within(k.readExtensible(), "extensible array", k.layout.address)
}

func (k *chunks) readExtensible() error {
	// The slots run along the unlimited axis slowest, whichever it is.
	s, err := k.slots(slices.Index(k.most, undefined))
	if err != nil {
		return err
	}
	c, err := k.signed(k.layout.address, int64(4+8+6*k.sizes.length+k.sizes.address+checksum), "EAHD")
	if err != nil {
		return err
	}
	if _, err := c.version(0); err != nil {
		return err
	}
	a := extensibleArray{chunks: k, slots: s, header: k.layout.address}
	a.client, a.bytes, a.bits = c.byte(), int(c.byte()), int(c.byte())
	a.direct, a.least, a.pointers = int64(c.byte()), int64(c.byte()), int64(c.byte())
	page := c.byte()
	c.skip(6 * k.sizes.length) // what it holds now
	block := c.address()
	if err := c.err(); err != nil {
		return err
	}
	power := func(n int64) bool { return n > 0 && n&(n-1) == 0 }
	if a.bits < 1 || a.bits > 60 || page > 32 || !power(a.least) || !power(a.pointers) || 1<<a.bits < a.least {
		return scan.Corruptf("2^%s, data blocks of %d, super blocks of %d", quantity.Count(a.bits, "slots"), a.least, a.pointers)
	}
	if err := k.checkElement(a.bytes, a.client); err != nil {
		return err
	}
	if a.page = 1 << page; block == undefined {
		return nil
	}
	return within(a.indexBlock(block), "index block", block)
}

// super is what the data blocks of a super block are.
type super struct {
	blocks int64
	slots  int64 // of each
}

// super returns the super block of a number. Blocks and their slots double in turns.
func (a *extensibleArray) super(i int) super {
	// From 16 on: 1 block of 16 slots, 1 of 32, 2 of 32, 2 of 64, 4 of 64 and so on.
	return super{blocks: 1 << (i / 2), slots: a.least << ((i + 1) / 2)}
}

// supers returns the number of super blocks, and of those whose data blocks the index
// block itself has.
func (a *extensibleArray) supers() (all, inside int) {
	all = 1 + a.bits - (bits.Len64(uint64(a.least)) - 1)
	return all, min(all, 2*(bits.Len64(uint64(a.pointers))-1))
}

// indexBlock reads the index block and all that it leads to.
func (a *extensibleArray) indexBlock(address int64) error {
	all, inside := a.supers()
	blocks := int64(0)
	for i := range inside {
		blocks += a.super(i).blocks
	}
	n := a.direct*int64(a.bytes) + (blocks+int64(all-inside))*int64(a.sizes.address)
	c, err := a.signed(address, int64(4+2+a.sizes.address)+n+checksum, "EAIB")
	if err != nil {
		return err
	}
	if err := a.prefix(c, 0); err != nil {
		return err
	}
	if err := a.read(c, a.direct); err != nil {
		return err
	}
	for i := range inside {
		s := a.super(i)
		for range s.blocks {
			if err := a.dataBlock(c.address(), s, nil, 0); err != nil {
				return err
			}
		}
	}
	for i := inside; i < all; i++ {
		block := c.address()
		if err := a.superBlock(block, a.super(i)); err != nil {
			return within(err, "super block", block)
		}
	}
	return c.err()
}

// prefix checks the beginning of a block after its signature. The number of its first
// slot has so many bytes.
func (a *extensibleArray) prefix(c *cursor, number int) error {
	if _, err := c.version(0); err != nil {
		return err
	}
	if client, header := c.byte(), c.address(); client != a.client || header != a.header {
		return scan.Corruptf("it belongs to an array of the kind %d at %d", client, header)
	}
	if number == 0 {
		return c.err()
	}
	// Numbers do not count the slots of the index block.
	if at := int64(c.uint(number)); at != a.slot-a.direct {
		return scan.Corruptf("it is the block for slot %d, not %d", at, a.slot-a.direct)
	}
	return c.err()
}

// numberBytes returns the bytes of the number of a slot.
func (a *extensibleArray) numberBytes() int { return (a.bits + 7) / 8 }

// pagesOf returns the pages of each data block, or 0 if it has none.
func (a *extensibleArray) pagesOf(s super) int64 {
	if s.slots <= a.page {
		return 0
	}
	return s.slots / a.page
}

// superBlock reads the data blocks of a super block.
func (a *extensibleArray) superBlock(address int64, s super) error {
	if address == undefined {
		// Nothing was written there. The slots behind keep their numbers.
		a.slot += s.blocks * s.slots
		return nil
	}
	bitmap, ok := checked.Mul(s.blocks, (a.pagesOf(s)+7)/8)
	if !ok || max(bitmap, s.blocks) > a.file.Size() {
		return scan.Corruptf("%s of %s", quantity.Count(s.blocks, "data blocks"), quantity.Count(s.slots, "slots"))
	}
	n := bitmap + s.blocks*int64(a.sizes.address)
	c, err := a.signed(address, int64(4+2+a.sizes.address+a.numberBytes())+n+checksum, "EASB")
	if err != nil {
		return err
	}
	if err := a.prefix(c, a.numberBytes()); err != nil {
		return err
	}
	// Not nil, even if empty: nil stands for a data block of the index block. The library
	// reserves whole bytes for each data block, yet numbers bits without gaps.
	there := append([]byte{}, c.take(int(bitmap))...)
	for i := range s.blocks {
		if err := a.dataBlock(c.address(), s, there, i*a.pagesOf(s)); err != nil {
			return err
		}
	}
	return c.err()
}

// dataBlock reads a data block, or which of its pages are there.
func (a *extensibleArray) dataBlock(address int64, s super, there []byte, first int64) error {
	end := a.slot + s.slots
	err := a.readDataBlock(address, s, there, first)
	a.slot = end
	return within(err, "data block", address)
}

func (a *extensibleArray) readDataBlock(address int64, s super, there []byte, first int64) error {
	if address == undefined {
		return nil
	}
	pages := a.pagesOf(s)
	n := int64(4 + 2 + a.sizes.address + a.numberBytes() + checksum)
	if pages == 0 {
		n += s.slots * int64(a.bytes)
	}
	c, err := a.signed(address, n, "EADB")
	if err != nil {
		return err
	}
	// The library writes other numbers than those of the specification into the data
	// blocks of the index block.
	number := a.numberBytes()
	if there == nil {
		number = 0
	}
	if err := a.prefix(c, number); err != nil {
		return err
	}
	if pages == 0 {
		c.skip(a.numberBytes() - number)
		return a.read(c, s.slots)
	}
	return a.pages(address+n, pages, there, first)
}

// pages reads the pages of a data block that a bitmap has, the highest bit first.
func (a *extensibleArray) pages(address, pages int64, there []byte, first int64) error {
	size := a.page*int64(a.bytes) + checksum
	begin := a.slot
	for i := range pages {
		bit := first + i
		if bit/8 >= int64(len(there)) {
			return scan.Corruptf("pages that no super block has")
		}
		if there[bit/8]&(0x80>>(bit%8)) == 0 {
			continue
		}
		at := address + i*size
		c, err := a.summed(at, size)
		if err == nil {
			a.slot = begin + i*a.page
			err = a.read(c, a.page)
		}
		if err != nil {
			return within(err, "page", at)
		}
	}
	return nil
}

// read reads the next n slots.
func (a *extensibleArray) read(c *cursor, n int64) error {
	for range n {
		if err := a.addSlot(c, a.slots, a.slot, a.bytes); err != nil {
			return err
		}
		a.slot++
	}
	return nil
}
