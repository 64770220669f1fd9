// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/virtual/scan"
)

// hostile returns files that claim what they do not have. The text is part of the error.
func hostile() map[string][]byte {
	files := map[string][]byte{}
	huge := []uint64{1 << 60}
	array := func(b *builder, index byte, parameters []byte, address uint64, most ...uint64) []byte {
		return b.one(space(huge, most), msg(kindDatatype, int32s), chunkedLayout(1, index, parameters, address))
	}
	files["chunks of 4 bytes, in a file"] = array(newBuilder(), indexImplicit, nil, 0, huge...)

	b := newBuilder()
	head := uint64(len(b.file))
	b.sum("FAHD", byte(0), byte(0), byte(8), byte(62-32), uint64(1<<60), head)
	files["1152921504606846976 slots of 8 bytes"] = array(b, indexFixed, []byte{10}, head, huge...)

	b = newBuilder()
	head = b.sum("EAHD", byte(0), byte(0), byte(8), byte(63), byte(4), byte(16), byte(4), byte(10), make([]byte, 48), uint64(0))
	files["2^63 slots"] = array(b, indexExtensible, make([]byte, 5), head, unlimited)

	b = newBuilder()
	head = uint64(len(b.file))
	end := head + 4 + 8 + 48 + 8 + 4
	b.sum("EAHD", byte(0), byte(0), byte(8), byte(60), byte(0), byte(1), byte(1), byte(10), make([]byte, 48), end)
	supers := slices.Repeat([]uint64{unlimited}, 61)
	supers[60] = end + 4 + 2 + 8 + 61*8 + 4
	b.sum("EAIB", byte(0), byte(0), head, supers)
	files["data blocks of 1073741824 slots"] = array(b, indexExtensible, make([]byte, 5), head, unlimited)

	b = newBuilder()
	tree := uint64(len(b.file))
	b.put("TREE", byte(treeOfChunks), byte(1), uint16(1), unlimited, unlimited, make([]byte, 24), tree, make([]byte, 24))
	files["below level 1"] = b.one(space(huge, huge), msg(kindDatatype, int32s), msg(kindLayout, byte(3), byte(2), byte(2), tree, uint32(1), uint32(4)))

	files["again and again"] = circle()
	files["is there twice"] = repeated()
	return files
}

// circle returns a file with an object header that continues with its own continuation.
func circle() []byte {
	b := newBuilder()
	part := uint64(len(b.file))
	more := msg(kindContinuation, part, uint64(4+20+4))
	b.sum("OCHK", more)
	return b.done(b.header(more))
}

// repeated returns a file with two chunks of one index.
func repeated() []byte {
	b := newBuilder()
	data := b.put(make([]byte, 8))
	leaf := b.sum("BTLF", byte(0), byte(10), data, uint64(0), data, uint64(0))
	tree := b.sum("BTHD", byte(0), byte(10), uint32(512), uint16(16), uint16(0), byte(100), byte(40), leaf, uint16(2), uint64(2))
	return b.one(space([]uint64{5}, []uint64{unlimited}), msg(kindDatatype, int32s), chunkedLayout(2, indexTree2, make([]byte, 6), tree))
}

// TestHostile scans files that claim too much.
func TestHostile(t *testing.T) {
	for want, b := range hostile() {
		_, err := Scan(openBytes(t, b))
		damaged := errors.Is(err, scan.ErrCorrupt) || errors.Is(err, scan.ErrUnsupported)
		if !damaged || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestDeep refuses the groups that are too deep, and nothing else.
func TestDeep(t *testing.T) {
	b := newBuilder()
	group := b.header(msg(kindGroupInfo, byte(0), byte(0)))
	for range mostGroups + 1 {
		group = b.header(hard("g", group))
	}
	f := openBytes(t, b.done(group))
	set, err := Scan(f)
	if err != nil || len(set.Groups) != mostGroups+1 || len(set.Omitted) != 1 || !errors.Is(set.Omitted[0].Reason, scan.ErrUnsupported) {
		t.Errorf("%d groups, omitted %v: %v", len(set.Groups), set.Omitted, err)
	}
}

// TestOverlap scans an attribute that is a record of many fields which all are the same
// byte. Its values are more than the file could have.
func TestOverlap(t *testing.T) {
	const fields, records = 1000, 40000
	int8s := parts(byte(0x10), byte(0), byte(0), byte(0), uint32(1), uint16(0), uint16(8))
	typ := parts(byte(0x36), uint16(fields), byte(0), uint32(1))
	for i := range fields {
		typ = parts(typ, fmt.Sprint(i), byte(0), byte(0), int8s)
	}
	s := parts(byte(2), byte(1), byte(0), byte(1), uint64(records))
	b := newBuilder()
	root := b.header(msg(kindGroupInfo, byte(0), byte(0)),
		msg(kindAttribute, byte(2), byte(0), uint16(2), uint16(len(typ)), uint16(len(s)), "a\x00", typ, s, make([]byte, records)))
	_, err := Scan(openBytes(t, b.done(root)))
	if !errors.Is(err, scan.ErrCorrupt) {
		t.Error(err)
	}
}

// TestSharedIndex scans a file in which many arrays have one large index.
func TestSharedIndex(t *testing.T) {
	const slots, arrays = 10000, 2000
	b := newBuilder()
	data := b.put(uint32(1))
	head := uint64(len(b.file) + 4 + 2 + 8 + 8*slots + 4)
	block := b.sum("FADB", byte(0), byte(0), head, slices.Repeat([]uint64{data}, slots))
	b.sum("FAHD", byte(0), byte(0), byte(8), byte(20), uint64(slots), block)
	var links [][]byte
	for i := range arrays {
		shape := space([]uint64{slots}, []uint64{slots})
		a := b.header(shape, msg(kindDatatype, int32s), chunkedLayout(1, indexFixed, []byte{20}, head))
		links = append(links, hard(fmt.Sprint(i), a))
	}
	_, err := Scan(openBytes(t, b.done(b.header(links...))))
	if !errors.Is(err, scan.ErrCorrupt) || !strings.Contains(err.Error(), "again and again") {
		t.Error(err)
	}
}

// TestUserBlockChanged scans a file whose user block was removed or made longer after it
// was written. Addresses count from its superblock. It must still be whole.
func TestUserBlockChanged(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("../../testdata", "h5_user_block.h5"))
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Index(whole, []byte(signature))
	for _, length := range []int{block, 0, 512, 4096} {
		b := append(make([]byte, length), whole[block:]...)
		set, err := Scan(openBytes(t, b))
		if err != nil {
			t.Errorf("a user block of %d bytes, written with %d: %v", length, block, err)
			continue
		}
		for _, c := range set.Arrays[0].Chunks {
			if at := int(c.Offset) - length + block; !bytes.Equal(b[c.Offset:][:c.Length], whole[at:][:c.Length]) {
				t.Errorf("a user block of %d bytes: another chunk at %d", length, c.Offset)
			}
		}
		if _, err := Scan(openBytes(t, b[:len(b)-1])); !errors.Is(err, scan.ErrCorrupt) || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("a user block of %d bytes, a byte is missing: %v", length, err)
		}
	}
}

// TestNoFile refuses what is no file of HDF5, or not all of one.
func TestNoFile(t *testing.T) {
	whole := newBuilder().one()
	for _, b := range [][]byte{nil, []byte("CDF\x01"), make([]byte, 4096), whole[:len(whole)-1], []byte(signature)} {
		f := openBytes(t, b)
		if _, err := Scan(f); !errors.Is(err, scan.ErrCorrupt) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	if Matches(openBytes(t, []byte("CDF\x01"))) || !Matches(openBytes(t, slices.Concat(make([]byte, 2048), whole))) {
		t.Error("Is is wrong")
	}
}

// TestCursor reads beyond the end, and numbers that have no meaning.
func TestCursor(t *testing.T) {
	c := &cursor{data: parts(^uint64(0), uint64(1<<63), ^uint32(0)), sizes: sizes{8, 4}}
	if a, b, n := c.address(), c.address(), c.length(); a != undefined || b != math.MaxInt64 || n != undefined || c.err() != nil {
		t.Errorf("%d %d %d %v", a, b, n, c.err())
	}
	if n := c.uint32(); n != 0 || !errors.Is(c.err(), scan.ErrCorrupt) {
		t.Errorf("%d %v", n, c.err())
	}
}
