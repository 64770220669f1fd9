// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"encoding/binary"
	"slices"
	"testing"

	"varve.dev/zarr/internal/hdf5"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

var le = binary.LittleEndian

// parts joins bytes, texts and numbers of their width.
func parts(list ...any) (b []byte) {
	for _, v := range list {
		switch v := v.(type) {
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		default:
			b, _ = binary.Append(b, le, v)
		}
	}
	return b
}

// builder makes a file of HDF5 with addresses and lengths of 8 bytes.
type builder struct {
	file      []byte
	extension uint64
}

const superblockBytes = 48

func newBuilder() *builder { return &builder{make([]byte, superblockBytes), ^uint64(0)} }

// put adds bytes, and returns their address.
func (b *builder) put(list ...any) uint64 {
	at := uint64(len(b.file))
	b.file = append(b.file, parts(list...)...)
	return at
}

// sum adds bytes and their checksum, and returns their address.
func (b *builder) sum(list ...any) uint64 {
	p := parts(list...)
	return b.put(p, hdf5.Checksum(p))
}

// pad grows the file to a size.
func (b *builder) pad(n int) { b.file = slices.Concat(b.file, make([]byte, n-len(b.file))) }

// header adds an object header of version 2.
func (b *builder) header(messages ...[]byte) uint64 {
	m := slices.Concat(messages...)
	return b.sum("OHDR", byte(2), byte(2), uint32(len(m)), m)
}

// msg returns a message.
func msg(kind byte, list ...any) []byte {
	p := parts(list...)
	return parts(kind, uint16(len(p)), byte(0), p)
}

// hard returns a hard link.
func hard(name string, address uint64) []byte {
	return msg(kindLink, byte(1), byte(0), byte(len(name)), name, address)
}

// done writes the superblock, and returns the file.
func (b *builder) done(root uint64) []byte {
	s := parts(signature, byte(2), byte(8), byte(8), byte(0), uint64(0), b.extension, uint64(len(b.file)), root)
	copy(b.file, parts(s, hdf5.Checksum(s)))
	return b.file
}

// one returns a file with one array "a" with these messages.
func (b *builder) one(messages ...[]byte) []byte {
	return b.done(b.header(hard("a", b.header(messages...))))
}

// space returns a dataspace that may grow as far as most.
func space(shape, most []uint64) []byte {
	m := parts(byte(2), byte(len(shape)), byte(1), byte(1), shape, most)
	return msg(kindDataspace, m)
}

const unlimited = ^uint64(0)

// int32s is the type of little-endian integers of 32 bits.
var int32s = parts(byte(0x10), byte(8), byte(0), byte(0), uint32(4), uint16(0), uint16(32))

// chunkedLayout returns a layout of version 4 with one axis.
func chunkedLayout(chunk uint32, index byte, parameters []byte, address uint64) []byte {
	return msg(kindLayout, byte(4), byte(2), byte(0), byte(2), byte(4), chunk, uint32(4), index, parameters, address)
}

// openBytes opens a file of these bytes.
func openBytes(t testing.TB, b []byte) *scan.File {
	t.Helper()
	s := memstore.New()
	key := store.MustKey("a.h5")
	if _, err := store.Write(t.Context(), s, store.Put(key, b), store.Flush); err != nil {
		t.Fatal(err)
	}
	f, err := scan.Open(t.Context(), s, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// scanOne scans a file with one array.
func scanOne(t testing.TB, b []byte) *scan.Array {
	t.Helper()
	set, err := Scan(openBytes(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Arrays) != 1 {
		t.Fatalf("%d arrays, want 1", len(set.Arrays))
	}
	return set.Arrays[0]
}
