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
