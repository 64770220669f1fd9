// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"errors"
	"testing"

	"varve.dev/zarr/internal/hdf5"
	"varve.dev/zarr/virtual/scan"
)

// heap is a fractal heap with direct blocks of 64 bytes, two in a row, and a root of four
// rows. The last two rows have indirect blocks of 128 and 256 bytes.
type heap struct {
	*builder
	head uint64
	id   int
}

const heapPrefix = 4 + 1 + 8 + 2 + 4

// direct adds a direct block with checksum.
func (h *heap) direct(offset uint16, object string) uint64 {
	b := parts("FHDB", byte(0), h.head, offset, uint32(0), object, make([]byte, 64-heapPrefix-len(object)))
	le.PutUint32(b[heapPrefix-4:], hdf5.Checksum(b))
	return h.put(b)
}

// indirect adds an indirect block.
func (h *heap) indirect(offset uint16, children ...uint64) uint64 {
	return h.sum("FHIB", byte(0), h.head, offset, children)
}

// newHeap adds a heap with "first" in its first block and "last" in its last one.
func newHeap(b *builder, id int, huge uint64) *heap {
	h := &heap{b, uint64(len(b.file)), id}
	const head = 4 + 1 + 2 + 2 + 1 + 4 + 12*8 + 3*8 + 2 + 2 + 2 + 2 + 4
	b.put(make([]byte, head))
	first := h.direct(0, "first")
	last := h.direct(1024-64, "last")
	child := h.indirect(768, unlimited, unlimited, unlimited, last)
	root := h.indirect(0, first, unlimited, unlimited, unlimited, unlimited, unlimited, unlimited, child)
	p := parts("FRHP", byte(0), uint16(id), uint16(0), byte(2), uint32(64), uint64(0), huge, make([]byte, 9*8+8),
		uint16(2), uint64(64), uint64(64), uint16(16), uint16(1), root, uint16(4))
	copy(b.file[h.head:], parts(p, hdf5.Checksum(p)))
	return h
}

// managedID returns the identifier of an object in a block.
func (h *heap) managedID(offset uint16, n byte) []byte {
	return append(parts(byte(0), offset, n), make([]byte, h.id-4)...)
}

// TestFractalHeap reads objects of all kinds.
func TestFractalHeap(t *testing.T) {
	b := newBuilder()
	huge := b.put("a huge object")
	leaf := b.sum("BTLF", byte(0), byte(1), huge, uint64(13), uint64(5))
	tree := b.sum("BTHD", byte(0), byte(1), uint32(512), uint16(24), uint16(0), byte(100), byte(40), leaf, uint16(1), uint64(1))
	short, long := newHeap(b, 8, tree), newHeap(b, 30, unlimited)
	r := newReader(openBytes(t, b.done(0)))
	if _, err := r.open(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		heap *heap
		id   []byte
		want string
	}{
		{short, short.managedID(heapPrefix, 5), "first"}, {short, short.managedID(1024-64+heapPrefix, 4), "last"},
		{long, long.managedID(heapPrefix, 5), "first"},
		{short, []byte("\x23tiny\x00\x00\x00"), "tiny"}, {long, []byte("\x20\x03tiny\x00\x00\x00"), "tiny"},
		{short, []byte("\x10\x05\x00\x00\x00\x00\x00\x00"), "a huge object"},
		{long, parts(byte(0x10), huge, uint64(13), make([]byte, 13)), "a huge object"},
		{short, short.managedID(64, 5), ""}, {short, short.managedID(60, 5), ""}, {short, short.managedID(1024, 1), ""},
		{short, []byte("\x10\x06\x00\x00\x00\x00\x00\x00"), ""}, {short, []byte("\x30\x00"), ""}, {short, []byte{0x40}, ""}, {short, []byte("\x2f"), ""},
	} {
		h, err := r.fractalHeap(int64(c.heap.head))
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.object(c.id)
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%x: %q, want %q: %v", c.id, got, c.want, err)
		}
	}
}

// TestSharedMessages reads types that are elsewhere: in the header of a named type, in
// all versions of references to it, or in the heap of shared messages.
func TestSharedMessages(t *testing.T) {
	b := newBuilder()
	typ := string(int32s)
	h := newHeap(b, 8, unlimited)
	at := uint16(1024 - 64 + heapPrefix)
	h.setLast(typ)
	table := b.sum("SMTB", byte(0), byte(0), uint16(1<<kindDatatype), uint32(50), uint16(9), uint16(5), uint16(1), uint64(0), h.head)
	b.extension = b.header(msg(kindSharedTable, byte(0), table, byte(1)))
	named := b.header(msg(kindDatatype, int32s))
	for _, reference := range [][]byte{
		parts(byte(3), byte(2), named), parts(byte(2), byte(0), named), parts(byte(1), byte(0), make([]byte, 6), named),
		parts(byte(1), byte(0), make([]byte, 6), uint64(0), named, make([]byte, 24)),
		parts(byte(3), byte(1), h.managedID(at, byte(len(typ)))),
	} {
		shared := msg(kindDatatype, reference)
		shared[3] = flagShared
		c := *b
		a := scanOne(t, c.one(space([]uint64{2}, []uint64{2}), shared, msg(kindLayout, byte(3), byte(layoutContiguous), uint64(0), uint64(8))))
		if a.Refused != nil || a.Type.Name() != "int32" {
			t.Errorf("%x: %v %v", reference, a.Type, a.Refused)
		}
	}
	circular := msg(kindDatatype, byte(3), byte(2), uint64(len(b.file)))
	circular[3] = flagShared
	self := b.header(space(nil, nil), circular, msg(kindLayout, byte(3), byte(layoutContiguous), uint64(0), uint64(8)))
	if _, err := Scan(openBytes(t, b.done(b.header(hard("a", self))))); !errors.Is(err, scan.ErrCorrupt) {
		t.Error(err)
	}
}

// setLast replaces the object in the last block.
func (h *heap) setLast(object string) {
	const head = 4 + 1 + 2 + 2 + 1 + 4 + 12*8 + 3*8 + 2 + 2 + 2 + 2 + 4
	block := h.file[h.head+head+64:][:64]
	copy(block[heapPrefix:], object)
	clear(block[heapPrefix-4 : heapPrefix])
	le.PutUint32(block[heapPrefix-4:], hdf5.Checksum(block))
}
