// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"slices"
	"testing"

	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// TestItemAlong selects elements along an axis once more.
func TestItemAlong(t *testing.T) {
	for _, item := range []selection.Item{
		selection.All(), selection.At(2), selection.Span(1, 4), selection.Span(2, 2), selection.Stepped(0, 5, 2),
		selection.Stepped(4, selection.Open, -2), selection.Stepped(4, selection.Open, -1), selection.Stepped(3, 0, -1),
		selection.List(3, 1, 1), selection.List(0, 4, 2), selection.List(), selection.Where(true, false, true, true, false),
	} {
		r, err := selection.Resolve(selection.Orthogonal{selection.At(1), item}, []int64{2, 5})
		if err != nil {
			t.Fatal(err)
		}
		again, err := selection.Resolve(selection.Orthogonal{itemAlong((*subset.Elements)(r), 1)}, []int64{5})
		if err != nil {
			t.Fatal(err)
		}
		want := (*subset.Elements)(r).Places()
		for i := range want {
			want[i] -= 5 // those of the second row
		}
		if got := (*subset.Elements)(again).Places(); !slices.Equal(got, want) {
			t.Errorf("%v: %d, want %d", item, got, want)
		}
	}
}
