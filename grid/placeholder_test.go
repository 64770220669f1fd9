// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr/grid"
)

// vacant returns an axis of extent 0 without edges.
func vacant(t testing.TB) grid.Axis {
	t.Helper()
	return newAxis(t, 0, grid.Edges())
}

// TestVacant checks an axis without edges, and that documents keep it.
func TestVacant(t *testing.T) {
	g, err := grid.New([]int64{0, 6}, grid.Runs(), grid.Every(4))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kind": "inline", "chunk_shapes": [[[1, 1]], 4]}`
	document := g.AppendConfiguration(nil)
	if string(document) != want {
		t.Fatalf("document %s, want %s", document, want)
	}
	parsed, err := grid.Parse(g.Shape(), g.Name(), document)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*grid.Grid{g, parsed} {
		a := g.Axis(0)
		if a.IsRegular() || a.Cells() != 0 || a.Covered() != 0 || a.NumRuns() != 0 || a.Longest(grid.Interval{Stop: 5}) != 0 {
			t.Errorf("%d cells, %d elements, %d runs", a.Cells(), a.Covered(), a.NumRuns())
		}
		if _, ok := a.Cell(0); ok || len(slices.Collect(a.Edges())) > 0 || len(slices.Collect(g.All())) > 0 {
			t.Error("there is a cell")
		}
		if g.String() != "(0, 6) in chunks of ([], 4)" {
			t.Error(g)
		}
	}
	if !g.Equal(parsed) || !g.SameCells(parsed, grid.BoxOf(g.Cells())) {
		t.Errorf("%v, want %v", parsed, g)
	}
	if listed := string(g.AppendListed(nil)); listed != `{"kind": "inline", "chunk_shapes": [[[1, 1]], [[4, 2]]]}` {
		t.Error(listed)
	}
}

// TestSingleEdge checks that a single edge of length 1 is not taken for the placeholder.
func TestSingleEdge(t *testing.T) {
	for _, tt := range []struct {
		extent int64
		list   string
		cells  int64
	}{
		{0, "[1]", 1}, {0, "[[1, 2]]", 2}, {0, "[[1, 1], 1]", 2}, {0, "[[2, 1]]", 1}, {1, "[[1, 1]]", 1}, {0, "[ [ 1 , 1 ] ]", 0},
	} {
		g, err := grid.Parse([]int64{tt.extent}, grid.RectilinearName, fmt.Appendf(nil, `{"kind": "inline", "chunk_shapes": [%s]}`, tt.list))
		if err != nil || g.Axis(0).Cells() != tt.cells {
			t.Errorf("%s for extent %d: %v, %v", tt.list, tt.extent, g, err)
		}
	}
	if vacant(t).Equal(newAxis(t, 0, grid.Edges(1))) {
		t.Error("no edges equal one")
	}
}

// TestVacantGrows lets every policy cut the first elements of an axis without edges.
func TestVacantGrows(t *testing.T) {
	tens := grid.ByBoundaries("tens", func(at int64) (int64, error) { return at - at%10 + 10, nil })
	for _, tt := range []struct {
		how  grid.Growth
		want string
	}{
		{grid.AppendOne(), "25 [[25]]"},
		{grid.AppendOne().RoundedUp(4), "25 [[28]]"},
		{grid.RepeatLast(), "25 [[25]]"},
		{grid.Fixed(10), "25 [[[10, 3]]]"},
		{grid.Pattern(20, 10), "25 [[20, 10]]"},
		{grid.Preplanned(grid.Run{Length: 9, Count: 4}), "25 [[[9, 4]]]"},
		{tens, "25 [[[10, 3]]]"},
	} {
		if got := written(vacant(t).Grown(25, tt.how)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.how, got, tt.want)
		}
		if a, err := vacant(t).Grown(0, tt.how); err != nil || a.Cells() != 0 {
			t.Errorf("%v to 0: %v, %v", tt.how, a, err)
		}
	}
	if _, err := vacant(t).Grown(25, grid.Preplanned(grid.Run{Length: 9, Count: 2})); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a plan that is too short: %v", err)
	}
}

// TestVacantAlgebra applies the operations on axes to one without edges.
func TestVacantAlgebra(t *testing.T) {
	none := vacant(t)
	four := newAxis(t, 3, grid.Edges(4))
	padded := newAxis(t, 0, grid.Edges().EncodedAs(grid.Every(8)))
	for _, tt := range []struct {
		name, got, want string
	}{
		{"resized", written(none.Resized(7)), "7 [[7]]"},
		{"extended", written(none.Extended(grid.Run{Length: 3, Count: 2})), "0 [[[3, 2]]]"},
		{"shrunk", written(none.Shrunk(0, grid.TrimExact)), "0 [[[1, 1]]]"},
		{"unlocked", written(none.Unlocked()), "0 [[[1, 1]]]"},
		{"shifted", written(none.Shifted(5)), "5 [[5]]"},
		{"restricted", written(none.Restrict(grid.Interval{})), "0 [[[1, 1]]]"},
		{"merged", written(none.Merged(grid.Interval{})), "0 [[[1, 1]]]"},
		{"merged up to a length", written(none.MergedUpTo(9)), "0 [[[1, 1]]]"},
		{"refined", written(none.Refine(none)), "0 [[[1, 1]]]"},
		{"after another", written(four.Concat(none)), "3 [[3]] stored as [4]"},
		{"before another", written(none.Concat(four)), "3 [[4]]"},
		{"twice", written(none.Concat(none)), "0 [[[1, 1]]]"},
		{"padded, short", written(padded.Resized(5)), "5 [[5]] stored as [8]"},
		{"padded, long", written(padded.Resized(9)), "9 [[9]]"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
		}
	}
	if below, above := none.FittingLengths(10, 4); below != 8 || above != 12 {
		t.Errorf("fitting lengths %d and %d", below, above)
	}
	// Other programs see one edge of length 1, which is no shard of 4.
	if err := none.MultipleOf(4); !errors.Is(err, grid.ErrInvalid) || none.MultipleOf(1) != nil {
		t.Error(err)
	}
	for _, inner := range []grid.Cut{grid.Every(4), grid.EveryTrimmed(4), grid.Edges(3, 1), grid.Edges()} {
		if _, err := none.Divided(inner); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("divided by %v: %v", inner, err)
		}
	}
	if a, err := none.Divided(grid.Every(1)); err != nil || a.Chunks() != 0 {
		t.Errorf("divided by 1: %v, %v", a, err)
	}
}
