// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestValues checks that the values of a part equal those in the whole, and one value
// from zarr_benchmarks.
func TestValues(t *testing.T) {
	for name, c := range map[string]struct {
		f    values
		size int64
	}{"uint16": {uint16s, 2}, "uint8": {uint8s, 1}, "float32": {float32s, 4}, "days": {days, 4}, "sevens": {sevens, 1}} {
		whole := make([]byte, 8*9*10*c.size)
		c.f([]int64{0, 0, 0}, []int64{8, 9, 10}, whole)
		part := make([]byte, 2*3*4*c.size)
		c.f([]int64{3, 4, 5}, []int64{5, 7, 9}, part)
		for i := range int64(2 * 3) {
			row := part[i*4*c.size : (i+1)*4*c.size]
			at := (((3+i/3)*9+4+i%3)*10 + 5) * c.size
			if !bytes.Equal(row, whole[at:at+4*c.size]) {
				t.Errorf("%s: row %d differs", name, i)
			}
		}
	}
	element := make([]byte, 2)
	if uint16s([]int64{3, 5, 7}, []int64{4, 6, 8}, element); binary.LittleEndian.Uint16(element) != 34 {
		t.Errorf("value at 3, 5, 7 is %d, want 34", binary.LittleEndian.Uint16(element))
	}
}
