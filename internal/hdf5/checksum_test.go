// SPDX-License-Identifier: Apache-2.0

package hdf5

import "testing"

// TestChecksum compares with values that Jenkins published with the function.
func TestChecksum(t *testing.T) {
	for text, want := range map[string]uint32{"": 0xdeadbeef, "Four score and seven years ago": 0x17770551} {
		if got := Checksum([]byte(text)); got != want {
			t.Errorf("%q: %08x, want %08x", text, got, want)
		}
	}
}
