// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// anyAxis draws a short axis, regular or with edges that reach beyond the extent.
func anyAxis(t *rapid.T) grid.Axis {
	if rapid.Bool().Draw(t, "regular") {
		a, err := grid.NewAxis(rapid.Int64Range(0, 200).Draw(t, "extent"), grid.Every(rapid.Int64Range(1, 9).Draw(t, "step")))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	edges := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 100).Draw(t, "edges")
	var sum int64
	for _, e := range edges {
		sum += e
	}
	a, err := grid.NewAxis(rapid.Int64Range(0, sum).Draw(t, "extent"), grid.Edges(edges...))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestSpansAgreeWithCells compares every cell with its span.
func TestSpansAgreeWithCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyAxis(t)
		most := rapid.IntRange(1, 30).Draw(t, "most")
		stop := rapid.SampledFrom([]int64{a.Cells(), a.Chunks()}).Draw(t, "stop")
		list := spans(a, stop, most)
		if len(list) > most+4 {
			t.Fatalf("%d spans, wanted about %d", len(list), most)
		}
		next := int64(0)
		for _, s := range list {
			if s.cells.Start != next || s.cells.Len() < 1 {
				t.Fatalf("%+v does not continue at cell %d", s, next)
			}
			for k := s.cells.Start; k < s.cells.Stop; k++ {
				checkCell(t, a, s, k)
			}
			next = s.cells.Stop
		}
		if next != stop {
			t.Fatalf("spans end at cell %d of %d", next, stop)
		}
	})
}

func checkCell(t *rapid.T, a grid.Axis, s span, k int64) {
	c, ok := a.Cell(k)
	if !ok {
		t.Fatalf("there is no cell %d", k)
	}
	if (s.inside > 0) != (k < a.Chunks()) {
		t.Fatalf("cell %d of %d chunks in %+v", k, a.Chunks(), s)
	}
	if !s.leftOut() && (s.edge != c.Edge || s.inside != c.Logical) {
		t.Fatalf("cell %+v in %+v", c, s)
	}
}

// TestSpansComplete checks that nothing is left out if there is room.
func TestSpansComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyAxis(t)
		list := spans(a, a.Cells(), 1000)
		if slices.ContainsFunc(list, span.leftOut) {
			t.Fatalf("%+v leaves cells out", list)
		}
		for i := 1; i < len(list); i++ {
			before := list[i-1]
			if list[i].follows(before) && list[i].inside == list[i].edge {
				t.Fatalf("%+v and %+v are one run", before, list[i])
			}
		}
	})
}

// TestSpansOfLongRuns checks the end of an axis whose last run is longer than lookBack.
func TestSpansOfLongRuns(t *testing.T) {
	runs := []grid.Run{}
	for i := range int64(100) {
		runs = append(runs, grid.Run{Length: 1 + i%7, Count: 1 + i%3})
	}
	runs = append(runs, grid.Run{Length: 9, Count: 1_000_000_000_000})
	var sum int64
	for _, r := range runs {
		sum += r.Length * r.Count
	}
	a, err := grid.NewAxis(sum, grid.Runs(runs...))
	if err != nil {
		t.Fatal(err)
	}
	list := spans(a, a.Cells(), 6)
	last, gap := list[len(list)-1], list[len(list)-2]
	if last.edge != 9 || last.cells.Len() != lookBack || !gap.leftOut() || gap.cells.Stop != last.cells.Start {
		t.Errorf("the end is %+v after %+v", last, gap)
	}
}

func TestSingle(t *testing.T) {
	a, err := grid.NewAxis(5, grid.Edges(2, 2, 2, 2))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := single(a, 3); ok {
		t.Error("four cells are no more than three")
	}
	list, ok := single(a, 4)
	want := []span{{grid.Interval{Start: 0, Stop: 1}, 2, 2}, {grid.Interval{Start: 1, Stop: 2}, 2, 2}, {grid.Interval{Start: 2, Stop: 3}, 2, 1}, {grid.Interval{Start: 3, Stop: 4}, 2, 0}}
	if !ok || !slices.Equal(list, want) {
		t.Errorf("cells %+v, want %+v", list, want)
	}
}
