// SPDX-License-Identifier: Apache-2.0

package hdf5

import "testing"

// BenchmarkScan scans an index of 100,000 chunks, with all of their sizes.
func BenchmarkScan(b *testing.B) {
	const n = 100_000
	f := newBuilder()
	data := f.put(make([]byte, n))
	var slots []byte
	for i := range uint64(n) {
		slots = append(slots, parts(data+i, uint16(1), uint32(0))...)
	}
	head := uint64(len(f.file) + 4 + 2 + 8 + len(slots) + 4)
	block := f.sum("FADB", byte(0), byte(1), head, slots)
	f.sum("FAHD", byte(0), byte(1), byte(14), byte(20), uint64(n), block)
	deflate := msg(kindFilters, byte(2), byte(1), uint16(1), uint16(0), uint16(1), uint32(4))
	file := f.one(space([]uint64{n}, []uint64{n}), msg(kindDatatype, int32s), deflate, chunkedLayout(1, indexFixed, []byte{20}, head))
	b.ReportAllocs()
	for b.Loop() {
		if a := scanOne(b, file); len(a.Chunks) != n || a.Refused != nil {
			b.Fatal(len(a.Chunks), a.Refused)
		}
	}
}
