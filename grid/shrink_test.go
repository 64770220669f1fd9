// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
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
		{[]int64{2}, grid.KeepEdges, "1 axes"},
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
	r, _ := grid.Regular([]int64{6}, []int64{4})
	if _, err := r.Shrunk([]int64{5}, grid.TrimExact); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a regular grid was cut exactly: %v", err)
	}
}
