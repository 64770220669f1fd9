// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// TestSameCells compares the first cells of two axes one by one.
func TestSameCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Custom(drawModel).Draw(t, "here")
		o := m
		if rapid.Bool().Draw(t, "other") {
			o = rapid.Custom(drawModel).Draw(t, "there")
		}
		a, b := m.axis(t), o.axis(t)
		if grown, err := a.Grown(a.Extent()+rapid.Int64Range(0, 9).Draw(t, "more"), grid.AppendOne()); err == nil && rapid.Bool().Draw(t, "grown") {
			b = grown
		}
		n := rapid.Int64Range(0, 12).Draw(t, "cells")
		want := a.Cells() >= n && b.Cells() >= n
		for k := range n {
			x, ok := a.Cell(k)
			y, also := b.Cell(k)
			want = want && ok && also && x.Start == y.Start && x.Edge == y.Edge && x.Encoded == y.Encoded
		}
		g, h := gridOf(t, a), gridOf(t, b)
		if got := g.SameCells(h, grid.Box{{Stop: n}}); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// gridOf returns the grid of one axis.
func gridOf(t *rapid.T, a grid.Axis) *grid.Grid {
	cut := grid.Every(a.Step())
	if !a.IsRegular() {
		var runs []grid.Run
		for r := range a.Edges() {
			runs = append(runs, r)
		}
		cut = grid.Runs(runs...)
	}
	g, err := grid.New([]int64{a.Extent()}, cut)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
