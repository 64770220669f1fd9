// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// TestUnlockedStoresTheSame compares every chunk before and after.
func TestUnlockedStoresTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		extent := rapid.Int64Range(0, 60).Draw(t, "extent")
		step := rapid.Int64Range(1, 20).Draw(t, "step")
		cut := rapid.SampledFrom([]grid.Cut{
			grid.Every(step), grid.EveryTrimmed(step), grid.Every(step).EncodedAs(grid.Every(step + 3)), grid.Edges(step, 60),
		}).Draw(t, "cut")
		a, err := grid.NewAxis(extent, cut)
		if err != nil {
			t.Fatal(err)
		}
		b, err := a.Unlocked()
		if err != nil {
			t.Fatal(err)
		}
		if b.IsRegular() || b.Extent() != extent || b.Chunks() != a.Chunks() || b.IsTrimmed() || b.IsEncoded() != a.IsEncoded() {
			t.Fatalf("%+v was unlocked to %+v", a, b)
		}
		for k := range a.Chunks() {
			before, _ := a.Cell(k)
			after, _ := b.Cell(k)
			// A trimmed axis gets an edge that ends at the extent.
			before.Edge, after.Edge = 0, 0
			if before != after {
				t.Fatalf("chunk %d was %+v and is %+v", k, before, after)
			}
		}
		if a.IsTrimmed() && extent > 0 && b.Covered() != extent {
			t.Fatalf("a trimmed axis covers %d of %d", b.Covered(), extent)
		}
		if extent == 0 && b.Cells() < 1 {
			t.Fatal("there is no edge")
		}
	})
}

func TestUnlockedGrid(t *testing.T) {
	for _, tt := range []struct {
		name  string
		shape []int64
		cuts  []grid.Cut
		axes  []int
		want  string
	}{
		{"all", []int64{25, 100}, []grid.Cut{grid.Every(10), grid.Every(50)}, nil, `[[[10, 3]], [[50, 2]]]`},
		{"one", []int64{25, 100}, []grid.Cut{grid.Every(10), grid.Every(50)}, []int{0}, `[[[10, 3]], 50]`},
		{"the other, twice", []int64{25, 100}, []grid.Cut{grid.Every(10), grid.Every(50)}, []int{1, 1}, `[10, [[50, 2]]]`},
		{"mixed", []int64{25, 100}, []grid.Cut{grid.Every(10), grid.Edges(60, 60)}, nil, `[[[10, 3]], [[60, 2]]]`},
		{"one chunk", []int64{25}, []grid.Cut{grid.Every(30)}, nil, `[[30]]`},
		{"nothing", []int64{0}, []grid.Cut{grid.Every(30)}, nil, `[[30]]`},
		{"trimmed", []int64{25, 20}, []grid.Cut{grid.EveryTrimmed(10), grid.EveryTrimmed(10)}, nil, `[[[10, 2], 5], [[10, 2]]]`},
		{"one of two that are trimmed", []int64{25, 20}, []grid.Cut{grid.EveryTrimmed(10), grid.EveryTrimmed(10)}, []int{0}, `[[[10, 2], 5], [[10, 2]]]`},
		{"trimmed nothing", []int64{0}, []grid.Cut{grid.EveryTrimmed(10)}, nil, `[[10]]`},
		{"no axes", []int64{}, []grid.Cut{}, nil, `[]`},
		{"huge", []int64{1e18}, []grid.Cut{grid.Every(1)}, nil, `[[[1, 1000000000000000000]]]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := grid.New(tt.shape, tt.cuts...)
			if err != nil {
				t.Fatal(err)
			}
			u, err := g.Unlocked(tt.axes...)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"kind": "inline", "chunk_shapes": ` + tt.want + `}`
			if got := string(u.AppendConfiguration(nil)); u.Name() != grid.RectilinearName || got != want {
				t.Errorf("unlocked to %s %s, want %s", u.Name(), got, want)
			}
		})
	}
}

func TestUnlockedRefused(t *testing.T) {
	g, _ := grid.Regular([]int64{10, math.MaxInt64}, []int64{5, 2})
	for _, i := range []int{-1, 2} {
		if _, err := g.Unlocked(0, i); !errors.Is(err, grid.ErrOutOfRange) {
			t.Errorf("axis %d: %v", i, err)
		}
	}
	if _, err := g.Unlocked(1); !errors.Is(err, grid.ErrOverflow) {
		t.Errorf("edges beyond 64 bits: %v", err)
	}
}

func ExampleGrid_Unlocked() {
	g, _ := grid.Regular([]int64{25}, []int64{10})
	u, _ := g.Unlocked()
	fmt.Println(u.Name(), string(u.AppendConfiguration(nil)))
	grown, _ := u.Resized([]int64{37}) // the last edge is filled first, then one is added
	fmt.Println(string(grown.AppendConfiguration(nil)))
	// Output:
	// rectilinear {"kind": "inline", "chunk_shapes": [[[10, 3]]]}
	// {"kind": "inline", "chunk_shapes": [[[10, 3], 7]]}
}
