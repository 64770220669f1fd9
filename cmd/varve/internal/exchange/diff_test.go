// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"slices"
	"testing"
)

// TestRangeOf finds the range of indices, also of several ranks.
func TestRangeOf(t *testing.T) {
	for _, c := range []struct {
		indices [][]uint32
		want    [][2]uint32
	}{
		{nil, [][2]uint32{}},
		{[][]uint32{{}}, [][2]uint32{}},
		{[][]uint32{{3, 1}, {2, 5}}, [][2]uint32{{2, 4}, {1, 6}}},
		{[][]uint32{{3}, {2, 5}}, [][2]uint32{{2, 4}, {5, 6}}},
	} {
		if got := rangeOf(c.indices); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.indices, got, c.want)
		}
	}
}
