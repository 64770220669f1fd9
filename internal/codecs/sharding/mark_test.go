// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// TestMarkAll compares the marks of an edit with the inner chunks that a plan walks,
// which is not done where all are touched.
func TestMarkAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shape, start, step, count []int64
		var cuts []grid.Cut
		for range rapid.IntRange(0, 3).Draw(t, "rank") {
			inner, n := rapid.Int64Range(1, 3).Draw(t, "inner"), rapid.Int64Range(1, 3).Draw(t, "inner chunks")
			length, from, by := inner*n, int64(0), int64(1)
			if rapid.IntRange(0, 3).Draw(t, "some") == 0 {
				from, by = rapid.Int64Range(0, length-1).Draw(t, "start"), rapid.Int64Range(1, 4).Draw(t, "step")
			}
			shape, start, step = append(shape, length), append(start, from), append(step, by)
			count = append(count, (length-from-1)/by+1)
			cuts = append(cuts, grid.Every(inner))
		}
		g, err := grid.New(shape, cuts...)
		if err != nil {
			t.Fatal(err)
		}
		l := &layout{shape: shape, grid: g, chunks: g.Chunks()}
		l.n, _ = g.NumChunks()
		e := coding.Edit{Shape: shape, Part: strided.Part{Start: start, Step: step, Count: count}, Values: strided.View{Data: []byte{0}}}
		d := &editor{layout: l, Edit: e, todo: make([]uint8, l.n)}
		marked := d.mark()
		want, touched := make([]uint8, l.n), int64(0)
		p := selection.NewVisit(len(shape))
		for plan := selection.NewPlan(selection.OfPart(e.Part), g); plan.Next(p); touched++ {
			want[l.number(p.Chunk)] = changes
		}
		if marked != touched || !slices.Equal(d.todo, want) {
			t.Fatalf("%v of %v: %d inner chunks change, %v, want %d, %v", e.Part, shape, marked, d.todo, touched, want)
		}
	})
}
