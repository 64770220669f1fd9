// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"varve.dev/zarr/internal/checked"
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
		return scan.Corruptf("%d slots, in pages of 2^%d", a.n, bits)
	}
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
	if paged {
		after = checked.CeilDiv(checked.CeilDiv(a.n, a.page), 8)
	} else {
		after, ok = checked.Mul(a.n, int64(a.bytes))
	}
	if !ok || after > a.file.Size() {
		return scan.Corruptf("%d slots of %d bytes", a.n, a.bytes)
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
			return scan.Corruptf("page %d of %d bytes", number, size)
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
