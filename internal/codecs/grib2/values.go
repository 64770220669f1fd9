// SPDX-License-Identifier: Apache-2.0

package grib2

import (
	"encoding/binary"
	"math"
)

// values are float64 elements in memory.
type values []byte

func (v values) len() int { return len(v) / 8 }

func (v values) set(i int, x float64) { binary.NativeEndian.PutUint64(v[8*i:], math.Float64bits(x)) }

func (v values) get(i int) float64 { return math.Float64frombits(binary.NativeEndian.Uint64(v[8*i:])) }

// spread moves the first n values to the points whose bits are set. Other points become
// NaN.
func (v values) spread(bitmap []byte, n int) {
	for i := v.len() - 1; i >= 0; i-- {
		// There are at most i+1 values left, so none is overwritten before it has moved.
		if bitmap[i/8]<<(i%8)&0x80 == 0 {
			v.set(i, math.NaN())
			continue
		}
		n--
		copy(v[8*i:8*i+8], v[8*n:])
	}
}

// reverse reverses the order of values.
func (v values) reverse() {
	for i, j := 0, v.len()-1; i < j; i, j = i+1, j-1 {
		x, y := v.get(i), v.get(j)
		v.set(i, y)
		v.set(j, x)
	}
}

// maxBits is the largest number of bits that bitsAt reads.
const maxBits = 57

// bitsAt returns n bits as an integer. off counts bits. The bits lie within b.
func bitsAt(b []byte, off int64, n int) uint64 {
	at := off >> 3
	var word uint64
	if b = b[at:]; len(b) >= 8 {
		word = binary.BigEndian.Uint64(b)
	} else {
		var last [8]byte
		copy(last[:], b)
		word = binary.BigEndian.Uint64(last[:])
	}
	return word << (off & 7) >> (64 - n)
}

// signed returns the integer that bytes are, whose first bit is its sign (regulation
// 92.1.5).
func signed(b []byte) int64 {
	x := unsigned(b)
	sign := uint64(1) << (8*len(b) - 1)
	if x&sign != 0 {
		return -int64(x &^ sign)
	}
	return int64(x)
}

// unsigned returns the integer that up to eight bytes are.
func unsigned(b []byte) (x uint64) {
	for _, c := range b {
		x = x<<8 | uint64(c)
	}
	return x
}
