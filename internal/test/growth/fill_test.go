// SPDX-License-Identifier: Apache-2.0

package growth_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
)

// chunksStored counts the stored chunks of an array.
func chunksStored(t interface{ Fatal(...any) }, a *zarr.Array) (n int) {
	for _, err := range a.StoredChunks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestFillHuge writes one value into arrays with too many chunks to write each of them.
func TestFillHuge(t *testing.T) {
	ctx := endless(t)
	line := func() *zarr.Array {
		a := empty(t, "0", []int64{quintillion}, grid.Every(1))
		set(t, a, 3, 4)
		set(t, a, 3, 5)
		set(t, a, 3, quintillion-1)
		return a
	}
	all := line()
	odd := selection.Basic{selection.Stepped(1, quintillion, 2)}
	for name, c := range map[string]struct {
		a    *zarr.Array
		sel  selection.Selection
		left int
	}{
		"all":    {all, nil, 0},
		"again":  {all, nil, 0},
		"odd":    {line(), odd, 1},
		"behind": {line(), selection.Basic{selection.Stepped(5, quintillion, 1)}, 1},
	} {
		if err := zarr.Fill(ctx, c.a, c.sel, int32(0)); err != nil {
			t.Error(name, err)
		} else if got := chunksStored(t, c.a); got != c.left {
			t.Errorf("%s: %d chunks are left, want %d", name, got, c.left)
		}
	}
	fixture.Expect(t, zarr.Fill(ctx, all, odd, int32(1)), zarr.ErrLimit, "limit", "500000000000000000 chunks", "select a part")
	if n := chunksStored(t, all); n > 0 {
		t.Errorf("%d chunks are stored after a refused write", n)
	}
}

// TestFillHugeUnlocked writes fill values to an array without a lock. Chunks at the
// border are read, because concurrent writers may grow the array.
func TestFillHugeUnlocked(t *testing.T) {
	ctx := endless(t)
	spec := zarr.Spec{Shape: []int64{1e9 - 1, 1e9 - 1}, Type: dtype.Int32, Chunks: grid.Chunks(2, 2)}
	s := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a, err := zarr.At(s, "").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	set(t, a, 1, 1e9-2, 1e9-2)
	set(t, a, 1, 3, 1e9-2)
	set(t, a, 1, 3, 3)
	if err := zarr.Fill(ctx, a, nil, int32(0)); err != nil {
		t.Fatal(err)
	}
	if n := chunksStored(t, a); n != 3 { // without locks, chunks stay stored
		t.Errorf("%d chunks are stored, want 3", n)
	}
	sum := int32(0)
	for _, at := range [][2]int64{{1e9 - 2, 1e9 - 2}, {3, 1e9 - 2}, {3, 3}} {
		b := fixture.Must(zarr.Read[int32](ctx, a, selection.Basic{selection.At(at[0]), selection.At(at[1])}))
		sum += b.Data[0]
	}
	if sum != 0 {
		t.Error("an element is not the fill value")
	}
}

// TestFillSparse checks that the fill value is written to selected elements, and to no
// others.
func TestFillSparse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := []int64{40, 39}
		a := empty(t, "0", shape, grid.Every(rapid.Int64Range(1, 2).Draw(t, "edge")), grid.Every(1))
		model := make([]int32, 40*39)
		for range rapid.IntRange(0, 20).Draw(t, "writes") {
			i, j := rapid.Int64Range(0, 39).Draw(t, "i"), rapid.Int64Range(0, 38).Draw(t, "j")
			set(t, a, 7, i, j)
			model[i*39+j] = 7
		}
		var sel selection.Selection
		start, step := rapid.Int64Range(0, 3).Draw(t, "start"), rapid.Int64Range(1, 2).Draw(t, "step")
		var rows []int64
		for i := start; i < 40; i += step {
			rows = append(rows, i)
		}
		from := rapid.Int64Range(0, 4).Draw(t, "from")
		if rapid.Bool().Draw(t, "list") {
			slices.Reverse(rows)
			sel = selection.Orthogonal{selection.List(rows...), selection.Stepped(from, 39, 1)}
		} else {
			sel = selection.Basic{selection.Stepped(start, 40, step), selection.Stepped(from, 39, 1)}
		}
		if err := zarr.Fill(t.Context(), a, sel, int32(0)); err != nil {
			t.Fatal(err)
		}
		for _, i := range rows {
			for j := from; j < 39; j++ {
				model[i*39+j] = 0
			}
		}
		if got := fixture.Must(zarr.Read[int32](t.Context(), a, nil)).Data; !slices.Equal(got, model) {
			t.Fatal("the elements differ from those expected")
		}
		cells := map[[2]int64]bool{}
		edge := a.Grid().Axis(0).Longest(grid.Interval{Stop: 1})
		for k, v := range model {
			if v != 0 {
				cells[[2]int64{int64(k) / 39 / edge, int64(k) % 39}] = true
			}
		}
		if got := chunksStored(t, a); got != len(cells) {
			t.Fatalf("%d chunks are stored, %d have elements other than the fill value", got, len(cells))
		}
	})
}
