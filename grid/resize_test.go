// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

func TestShrunk(t *testing.T) {
	for _, tt := range []struct {
		extent int64
		cut    grid.Cut
		to     int64
		how    grid.Shrink
		want   string // edges, or part of the error
	}{
		{6, grid.Edges(1, 2, 3), 2, grid.KeepEdges, "[1 2 3]"},
		{6, grid.Edges(1, 2, 3), 2, grid.TrimEdges, "[1 2]"},
		{6, grid.Edges(1, 2, 3), 2, grid.TrimExact, "[1 1]"},
		{6, grid.Edges(1, 2, 3), 3, grid.TrimEdges, "[1 2]"},
		{6, grid.Edges(1, 2, 3), 0, grid.KeepEdges, "[1 2 3]"},
		{6, grid.Edges(2, 2, 3), 0, grid.TrimEdges, "[2]"},
		{6, grid.Edges(2, 2, 3), 0, grid.TrimExact, "[2]"},
		{3, grid.Edges(1, 2, 3), 3, grid.TrimEdges, "[1 2]"},
		{2, grid.Edges(1, 2, 3), 2, grid.TrimExact, "[1 1]"},
		{6, grid.Every(4), 3, grid.TrimEdges, "[4]"},
		{6, grid.Every(4), 4, grid.TrimExact, "[4]"},
		{6, grid.Every(4), 0, grid.TrimExact, "[]"},
		{6, grid.Every(4), 3, grid.TrimExact, "unlock"},
		{6, grid.Edges(6), 7, grid.KeepEdges, "Grown"},
		{6, grid.Edges(6), -1, grid.TrimEdges, "negative"},
		{6, grid.Edges(6), 5, grid.Shrink(9), "shrink(9)"},
	} {
		a, err := newAxis(t, tt.extent, tt.cut).Shrunk(tt.to, tt.how)
		got := fmt.Sprint(expand(slices.Collect(a.Edges())))
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) || err == nil && a.Extent() != tt.to || err != nil && !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%d to %d, %v: %s, extent %d; want %s", tt.extent, tt.to, tt.how, got, a.Extent(), tt.want)
		}
	}
}

func TestShrunkAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		to := rapid.Int64Range(0, m.extent).Draw(t, "to")
		how := grid.Shrink(rapid.IntRange(0, 2).Draw(t, "how"))
		a, err := grid.NewAxis(m.extent, m.cut())
		if err != nil {
			t.Fatal(err)
		}
		b, err := a.Shrunk(to, how)
		if m.step > 0 {
			if refused := how == grid.TrimExact && to%m.step != 0; (err != nil) != refused || err == nil && b.Step() != m.step {
				t.Fatalf("a step of %d to %d by %v: %v", m.step, to, how, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		at, want := int64(0), []int64{}
		for i, n := range m.edges {
			switch {
			case how == grid.KeepEdges || i == 0 && to == 0:
				want = append(want, n)
			case at < to && how == grid.TrimExact:
				want = append(want, min(n, to-at))
			case at < to:
				want = append(want, n)
			}
			at += n
		}
		if got := expand(slices.Collect(b.Edges())); b.Extent() != to || !slices.Equal(got, want) {
			t.Fatalf("%v of %v to %d: %v, want %v", how, m.edges, to, got, want)
		}
	})
}

func TestHugeShrink(t *testing.T) {
	a := newAxis(t, 1e18, grid.Runs(grid.Run{Length: 3, Count: 1e18}))
	for _, tt := range []struct {
		how     grid.Shrink
		covered int64
	}{{grid.KeepEdges, 3e18}, {grid.TrimEdges, 1e17 + 2}, {grid.TrimExact, 1e17}} {
		if b, err := a.Shrunk(1e17, tt.how); err != nil || b.Covered() != tt.covered {
			t.Errorf("%v: %d elements are covered (%v), want %d", tt.how, b.Covered(), err, tt.covered)
		}
	}
}

func TestGridShrunk(t *testing.T) {
	g, err := grid.New([]int64{6, 10, 4}, grid.Edges(1, 2, 3), grid.Every(4), grid.Edges(2, 2, 9))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		shape []int64
		how   grid.Shrink
		want  string
	}{
		{[]int64{2, 9, 4}, grid.TrimEdges, "[[1, 2], 4, [[2, 2]]]"},
		{[]int64{2, 9, 5}, grid.TrimExact, "[[[1, 2]], 4, [[2, 2], 9]]"},
		{[]int64{2, 9, 4}, grid.KeepEdges, "[[1, 2, 3], 4, [[2, 2], 9]]"},
		{[]int64{2}, grid.KeepEdges, "1 axis"},
		{[]int64{2, -9, 4}, grid.KeepEdges, "axis 1:"},
	} {
		h, err := g.Shrunk(tt.shape, tt.how)
		got := fmt.Sprint(err)
		if err == nil {
			got = string(h.AppendConfiguration(nil))
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%v by %v: %s, want %s", tt.shape, tt.how, got, tt.want)
		}
	}
	r, _ := grid.New([]int64{6}, grid.Chunks(4)...)
	if _, err := r.Shrunk([]int64{5}, grid.TrimExact); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a regular grid was cut exactly: %v", err)
	}
}

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
			if got := string(u.AppendConfiguration(nil)); u.Name() != "rectilinear" || got != want {
				t.Errorf("unlocked to %s %s, want %s", u.Name(), got, want)
			}
		})
	}
}

func TestUnlockedRefused(t *testing.T) {
	g, _ := grid.New([]int64{10, math.MaxInt64}, grid.Chunks(5, 2)...)
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
	g, _ := grid.New([]int64{25}, grid.Chunks(10)...)
	u, _ := g.Unlocked()
	fmt.Println(u.Name(), string(u.AppendConfiguration(nil)))
	grown, _ := u.Resized([]int64{37}) // the last edge is filled first, then one is added
	fmt.Println(string(grown.AppendConfiguration(nil)))
	// Output:
	// rectilinear {"kind": "inline", "chunk_shapes": [[[10, 3]]]}
	// {"kind": "inline", "chunk_shapes": [[[10, 3], 7]]}
}
