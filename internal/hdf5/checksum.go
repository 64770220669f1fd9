// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"encoding/binary"
	"math/bits"
)

// Checksum returns Jenkins' lookup3 hash of bytes, which is the checksum of metadata
// (VIII.A).
func Checksum(data []byte) uint32 {
	// lookup3 also adds an initial value here, which is 0 in the library.
	a := 0xdeadbeef + uint32(len(data))
	b, c := a, a
	// The last 1 to 12 bytes are mixed by final.
	for len(data) > 12 {
		a, b, c = a+word(data), b+word(data[4:]), c+word(data[8:])
		a, b, c = mix(a, b, c)
		data = data[12:]
	}
	if len(data) == 0 {
		return c
	}
	var last [12]byte
	copy(last[:], data)
	return final(a+word(last[:]), b+word(last[4:]), c+word(last[8:]))
}

func word(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	rot := bits.RotateLeft32
	a, c = (a-c)^rot(c, 4), c+b
	b, a = (b-a)^rot(a, 6), a+c
	c, b = (c-b)^rot(b, 8), b+a
	a, c = (a-c)^rot(c, 16), c+b
	b, a = (b-a)^rot(a, 19), a+c
	c, b = (c-b)^rot(b, 4), b+a
	return a, b, c
}

func final(a, b, c uint32) uint32 {
	rot := bits.RotateLeft32
	c = (c ^ b) - rot(b, 14)
	a = (a ^ c) - rot(c, 11)
	b = (b ^ a) - rot(a, 25)
	c = (c ^ b) - rot(b, 16)
	a = (a ^ c) - rot(c, 4)
	b = (b ^ a) - rot(a, 14)
	return (c ^ b) - rot(b, 24)
}
