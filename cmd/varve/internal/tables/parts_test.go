// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// TestBatches checks that the batches of a box have its rows in C order, and at most so
// many each.
func TestBatches(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var box grid.Box
		for range rapid.IntRange(0, 4).Draw(r, "rank") {
			start := rapid.Int64Range(0, 3).Draw(r, "start")
			box = append(box, grid.Interval{Start: start, Stop: start + rapid.Int64Range(1, 6).Draw(r, "length")})
		}
		most := rapid.Int64Range(1, 50).Draw(r, "most")
		var want, got [][]int64
		for at := range box.IndicesInto(make([]int64, len(box))) {
			want = append(want, slices.Clone(at))
		}
		for part := range batches(box, most) {
			if rowsOf(part) > most {
				r.Fatalf("%v has %d rows, want at most %d", part, rowsOf(part), most)
			}
			for at := range part.IndicesInto(make([]int64, len(part))) {
				got = append(got, slices.Clone(at))
			}
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			r.Fatalf("%v in parts of %d: %v", box, most, got)
		}
	})
}
