// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package shuffle

import (
	"testing"
)

// TestOddGroups checks that the sixteen bytes that are read and written for each element
// lie within the data, and that few elements remain.
func TestOddGroups(t *testing.T) {
	for size := 1; size < 16; size++ {
		for n := range 1000 {
			m := oddGroups(size, n) * group
			if m > 0 && (m-1)*size+16 > n*size {
				t.Errorf("%d of %d elements of %d bytes: the last is read beyond all", m, n, size)
			}
			if n-m >= 2*group+16 {
				t.Errorf("only %d of %d elements of %d bytes", m, n, size)
			}
		}
	}
}
