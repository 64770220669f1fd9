// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
)

// TestNumbers compares the boxes of a range with the chunks themselves, counted in C
// order.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 4).Draw(t, "shape")
		all := slices.Collect(grid.BoxOf(shape).Indices())
		n := engine.Numbers{From: rapid.Int64Range(0, int64(len(all))+2).Draw(t, "from")}
		n.To = n.From + rapid.Int64Range(0, int64(len(all))+2).Draw(t, "more")
		boxes := must(n.Boxes(shape))
		var got [][]int64
		for _, b := range boxes {
			got = slices.AppendSeq(got, b.Indices())
		}
		want := all[min(n.From, int64(len(all))):min(n.To, int64(len(all)))]
		if n == (engine.Numbers{}) {
			want = all
		}
		if !slices.EqualFunc(got, want, slices.Equal) || len(boxes) > max(1, 2*len(shape)-1) {
			t.Fatalf("%+v of %v: %v in %d boxes, want %v", n, shape, got, len(boxes), want)
		}
	})
}

// TestNumbersOfMany takes ranges of the largest grids, and of one that is too large.
func TestNumbersOfMany(t *testing.T) {
	shape := []int64{1 << 20, 1 << 21, 1 << 21}
	for _, n := range []engine.Numbers{{0, 1 << 62}, {1, 1<<62 - 1}, {1<<61 + 5, 1 << 62}, {1 << 62, math.MaxInt64}, {7, 7}} {
		sum := int64(0)
		for _, b := range must(n.Boxes(shape)) {
			size, _ := b.Len()
			sum += size
		}
		if want := min(n.To, 1<<62) - min(n.From, 1<<62); sum != want {
			t.Errorf("%+v: %d chunks, want %d", n, sum, want)
		}
	}
	for n, want := range map[engine.Numbers]error{{0, 1}: grid.ErrOverflow, {-1, 2}: fault.ErrInvalidArgument, {2, 1}: fault.ErrInvalidArgument} {
		if boxes, err := n.Boxes([]int64{1 << 40, 1 << 40}); !errors.Is(err, want) {
			t.Errorf("%+v: %v, %v", n, boxes, err)
		}
	}
}
