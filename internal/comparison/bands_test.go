// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/grid"
)

func newGrid(t rapid.TB, shape []int64, cuts ...grid.Cut) *grid.Grid {
	t.Helper()
	g, err := grid.New(shape, cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestBoxes cuts arrays of any two grids: the boxes have each element once, in the C
// order of their first elements, and are no longer than permitted.
func TestBoxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 3).Draw(t, "shape")
		draw := func(label string) *grid.Grid {
			cuts := []grid.Cut{}
			for range shape {
				cuts = append(cuts, grid.Every(rapid.Int64Range(1, 9).Draw(t, label)))
			}
			return newGrid(t, shape, cuts...)
		}
		a, b, most := draw("a"), draw("b"), rapid.Int64Range(1, 100).Draw(t, "most")
		seen := map[[3]int64]bool{}
		var last []int64
		for box := range ofBoth(a, b, most).boxes(most) {
			first := corner(box)
			if last != nil && slices.Compare(first, last) <= 0 {
				t.Fatalf("a box at %v follows one at %v", first, last)
			}
			last = first
			for index := range box.Indices() {
				var at [3]int64
				copy(at[:], index)
				if seen[at] {
					t.Fatalf("%v is in two boxes", index)
				}
				seen[at] = true
			}
		}
		if n, _ := grid.BoxOf(shape).Len(); int64(len(seen)) != n {
			t.Fatalf("%d elements, want %d", len(seen), n)
		}
	})
}

// TestRowsAcrossColumns has an array in long rows and one in long columns: boxes of both
// stay small, although a box of whole chunks of both would be the whole array.
func TestRowsAcrossColumns(t *testing.T) {
	shape := []int64{8760, 721, 1440}
	rows, columns := newGrid(t, shape, grid.Every(1), grid.Every(721), grid.Every(1440)), newGrid(t, shape, grid.Every(8760), grid.Every(1), grid.Every(1))
	const most = 4 << 20
	for _, pair := range [][2]*grid.Grid{{rows, columns}, {columns, rows}} {
		boxes := 0
		for box := range ofBoth(pair[0], pair[1], most).boxes(most) {
			if n, _ := box.Len(); n > roomier*most {
				t.Fatalf("a box of %d elements", n)
			}
			boxes++
		}
		if boxes > 10000 {
			t.Errorf("%d boxes", boxes)
		}
	}
}

// TestRegionsKept adds regions in any order: those that come first are kept, and the last
// one has the others.
func TestRegionsKept(t *testing.T) {
	region := func(i int64) Region {
		return Region{Box: grid.Box{{Start: 2 * i, Stop: 2*i + 1}}, Count: 1, First: []int64{2 * i}, Largest: float64(i)}
	}
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation([]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).Draw(t, "order")
		r := regions{most: 3}
		for _, i := range order {
			r.add(region(i))
		}
		got := r.joined()
		if len(got) != 3 || got[0].First[0] != 0 || got[1].First[0] != 2 || got[2].First[0] != 4 || got[2].Count != 8 || got[2].Largest != 9 {
			t.Fatalf("%+v", got)
		}
	})
}
