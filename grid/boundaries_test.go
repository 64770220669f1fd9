// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"slices"
	"testing"
)

// TestGrownFromNothing lets boundaries at 3, 7, 10, 14 … meet the edges of an axis
// without elements.
func TestGrownFromNothing(t *testing.T) {
	byThrees := ByBoundaries("calendar:month", func(at int64) (int64, error) {
		if at%7 < 3 {
			return at - at%7 + 3, nil
		}
		return at - at%7 + 7, nil
	})
	for _, c := range []struct {
		edges  []int64
		extent int64
		want   []int64
	}{
		{[]int64{1}, 5, []int64{3, 4}},          // a placeholder
		{[]int64{1}, 3, []int64{3}},             // the same
		{[]int64{3}, 5, []int64{3, 4}},          // fits
		{[]int64{3, 4, 3}, 2, []int64{3, 4, 3}}, // planned, and stays
		{[]int64{7}, 2, []int64{7}},             // it ends at a boundary
		{[]int64{30}, 2, []int64{30}},           // declared edges stay
		{[]int64{4, 3}, 7, []int64{4, 3}},       // declared edges wait for their elements
		{[]int64{4}, 7, []int64{4, 3}},
		{[]int64{1, 1}, 3, []int64{1, 1, 1}},
	} {
		a, err := NewAxis(0, Edges(c.edges...))
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Grown(c.extent, byThrees)
		if err != nil {
			t.Errorf("%v to %d: %v", c.edges, c.extent, err)
			continue
		}
		var lengths []int64
		for r := range got.Edges() {
			lengths = append(lengths, slices.Repeat([]int64{r.Length}, int(r.Count))...)
		}
		if !slices.Equal(lengths, c.want) || got.Extent() != c.extent {
			t.Errorf("%v to %d: %v, want %v", c.edges, c.extent, lengths, c.want)
		}
	}
}
