// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// TestGridBox selects with the box of a chunk, and refuses types that only look like
// selections.
func TestGridBox(t *testing.T) {
	box := grid.Box{{Start: 1, Stop: 3}, {Start: 0, Stop: 4}}
	got, err := selection.Resolve(box, []int64{6, 4})
	if err != nil {
		t.Fatal(err)
	}
	want, err := selection.Resolve(selection.Box{{1, 3}, {0, 4}}, []int64{6, 4})
	if err != nil || !slices.Equal(got.Shape(), want.Shape()) || got.Len() != want.Len() {
		t.Errorf("shape %v, want %v (%v)", got.Shape(), want.Shape(), err)
	}
	for _, sel := range []selection.Selection{grid.Box{}, grid.Box{{Start: 0, Stop: 7}, {}}, stranger{}} {
		if _, err := selection.Resolve(sel, []int64{6, 4}); !errors.Is(err, selection.ErrInvalid) {
			t.Errorf("%T %v: %v", sel, sel, err)
		}
	}
}

// stranger is marked as a selection and is none.
type stranger struct{}

func (stranger) Selection() {}

// TestAlong selects the elements along an axis once more.
func TestAlong(t *testing.T) {
	for _, item := range []selection.Item{
		selection.All(), selection.At(2), selection.Span(1, 4), selection.Span(2, 2), selection.Stepped(0, 5, 2),
		selection.Stepped(4, selection.Open, -2), selection.Stepped(4, selection.Open, -1), selection.Stepped(3, 0, -1),
		selection.List(3, 1, 1), selection.List(0, 4, 2), selection.List(), selection.Where(true, false, true, true, false),
	} {
		r, err := selection.Resolve(selection.Orthogonal{selection.At(1), item}, []int64{2, 5})
		if err != nil {
			t.Fatal(err)
		}
		again, err := selection.Resolve(selection.Orthogonal{r.Along(1)}, []int64{5})
		if err != nil {
			t.Fatal(err)
		}
		want := r.Places()
		for i := range want {
			want[i] -= 5 // those of the second row
		}
		if got := again.Places(); !slices.Equal(got, want) {
			t.Errorf("%v: %d, want %d", item, got, want)
		}
	}
}
