package engine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// drawGrid draws a grid of few elements with axes of every kind.
func drawGrid(t *rapid.T) *grid.Grid {
	shape, cuts := []int64{}, []grid.Cut{}
	for range rapid.IntRange(1, 4).Draw(t, "rank") {
		if rapid.Bool().Draw(t, "regular") {
			shape = append(shape, rapid.Int64Range(0, 12).Draw(t, "extent"))
			cuts = append(cuts, grid.Every(rapid.Int64Range(1, 14).Draw(t, "edge")))
			continue
		}
		edges := rapid.SliceOfN(rapid.Int64Range(1, 5), 1, 5).Draw(t, "edges")
		sum := int64(0)
		for _, e := range edges {
			sum += e
		}
		shape = append(shape, rapid.Int64Range(0, sum).Draw(t, "extent"))
		cuts = append(cuts, grid.Edges(edges...))
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestBoxes cuts regions into boxes: every element is in one, no chunk in two, and none is
// longer than allowed unless it is one chunk.
func TestBoxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &Array{Grid: drawGrid(t), Size: rapid.IntRange(1, 8).Draw(t, "size")}
		region := grid.BoxOf(a.Grid.Shape())
		for i, in := range region {
			region[i].Start = rapid.Int64Range(0, in.Stop).Draw(t, "start")
			region[i].Stop = rapid.Int64Range(region[i].Start, in.Stop).Draw(t, "stop")
		}
		limit := rapid.Int64Range(0, 400).Draw(t, "limit")
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
	})
}

// TestBoxesOfLongRows has boxes that take all of the last axes where that fits.
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
