// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/zarr/grid"
)

// randomGrid returns a grid of few elements with axes of every kind.
func randomGrid(t *testing.T, r *rand.Rand) *grid.Grid {
	t.Helper()
	shape, cuts := []int64{}, []grid.Cut{}
	for range 1 + r.IntN(4) {
		if r.IntN(2) == 0 {
			shape = append(shape, max(0, r.Int64N(14)-1))
			cuts = append(cuts, grid.Every(1+r.Int64N(8)))
			continue
		}
		edges := make([]int64, 1+r.IntN(5))
		sum := int64(0)
		for i := range edges {
			edges[i] = 1 + r.Int64N(5)
			sum += edges[i]
		}
		shape = append(shape, 1+r.Int64N(sum))
		cuts = append(cuts, grid.Edges(edges...))
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestBoxes cuts regions into boxes: every element is in one, no chunk in two, and none
// is longer than allowed unless it is one chunk.
func TestBoxes(t *testing.T) {
	several := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		a := &Array{Grid: randomGrid(t, r), Size: 1 + r.IntN(8)}
		region := grid.BoxOf(a.Grid.Shape())
		for i, in := range region {
			region[i].Start = r.Int64N(in.Stop/2 + 1)
			region[i].Stop = in.Stop - r.Int64N((in.Stop-region[i].Start)/2+1)
		}
		limit := r.Int64N(60 * int64(a.Size))
		boxes, err := a.Boxes(region, limit)
		if err != nil {
			t.Fatal(err)
		}
		var elements, chunks [][]int64
		for box := range boxes {
			n, _ := box.Len()
			touched, err := a.Grid.Touched(box)
			if err != nil {
				t.Fatal(err)
			}
			if here, _ := touched.Len(); n == 0 || n*int64(a.Size) > limit && here > 1 {
				t.Fatalf("box %v has %d elements of %d chunks, the limit is %d", box, n, here, limit)
			}
			for e := range box.Indices() {
				elements = append(elements, slices.Clone(e))
			}
			for c := range touched.Indices() {
				chunks = append(chunks, slices.Clone(c))
			}
		}
		same := func(what string, got [][]int64, all grid.Box) {
			slices.SortFunc(got, slices.Compare)
			var want [][]int64
			for e := range all.Indices() {
				want = append(want, slices.Clone(e))
			}
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Fatalf("%s of %v cut at %d bytes: %v, want %v", what, region, limit, got, want)
			}
		}
		same("elements", elements, region)
		touched, _ := a.Grid.Touched(region)
		same("chunks", chunks, touched)
		if n, _ := touched.Len(); n > 2 && limit < int64(len(elements)*a.Size) {
			several++
		}
	}
	if several < 200 {
		t.Errorf("only %d regions were cut", several)
	}
}

// TestBoxesOfLongRows checks that boxes have the whole extent of the last axes if that
// fits.
func TestBoxesOfLongRows(t *testing.T) {
	g, err := grid.New([]int64{8, 100, 100}, grid.Every(2), grid.Every(10), grid.Every(10))
	if err != nil {
		t.Fatal(err)
	}
	a := &Array{Grid: g, Size: 4}
	for limit, want := range map[int64][]int64{
		1 << 20: {8, 100, 100}, 200_000: {4, 100, 100}, 80_000: {2, 100, 100}, 79_999: {2, 90, 100},
		8_000: {2, 10, 100}, 7_999: {2, 10, 90}, 1: {2, 10, 10},
	} {
		boxes, err := a.Boxes(grid.BoxOf(g.Shape()), limit)
		if err != nil {
			t.Fatal(err)
		}
		for box := range boxes {
			if got := box.Shape(); !slices.Equal(got, want) {
				t.Errorf("%d bytes: a box of shape %v, want %v", limit, got, want)
			}
			break
		}
	}
}
