// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"fmt"
	"testing"

	"varve.dev/zarr/grid"
)

func TestAppendListed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		shape  []int64
		config string
		want   string
	}{
		{"bare integers", []int64{10, 10}, `[3, 20]`, `[[[3, 4]], [20]]`},
		{"lists stay", []int64{10, 10}, `[[3, 3, 4], 5]`, `[[[3, 2], 4], [[5, 2]]]`},
		{"no extent", []int64{0}, `[3]`, `[[3]]`},
		{"no axes", []int64{}, `[]`, `[]`},
		{"too long for a list", []int64{9223372036854775807, 10}, `[2, 5]`, `[2, [[5, 2]]]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := grid.Parse(tt.shape, grid.RectilinearName, fmt.Appendf(nil, `{"kind": "inline", "chunk_shapes": %s}`, tt.config))
			if err != nil {
				t.Fatal(err)
			}
			listed := g.AppendListed([]byte("x"))[1:]
			if want := `{"kind": "inline", "chunk_shapes": ` + tt.want + `}`; string(listed) != want {
				t.Errorf("written as %s, want %s", listed, want)
			}
			again, err := grid.Parse(tt.shape, grid.RectilinearName, listed)
			if err != nil {
				t.Fatal(err)
			}
			for i := range g.Rank() {
				if !again.Axis(i).IsRegular() && fmt.Sprint(again.Axis(i).Sizes()) != fmt.Sprint(g.Axis(i).Sizes()) {
					t.Errorf("axis %d: sizes %v, want %v", i, again.Axis(i).Sizes(), g.Axis(i).Sizes())
				}
			}
		})
	}
	for _, g := range []func([]int64, []int64) (*grid.Grid, error){grid.Regular, grid.Bounded} {
		g, err := g([]int64{10}, []int64{3})
		if err != nil || string(g.AppendListed(nil)) != `{"chunk_shape": [3]}` {
			t.Errorf("%s %s (%v)", g.Name(), g.AppendListed(nil), err)
		}
	}
	g, err := grid.New([]int64{10}, grid.Every(3).EncodedAs(grid.Every(4)))
	if want := `{"kind": "inline", "chunk_shapes": [[[3, 4]]], "encoded_chunk_shapes": [4]}`; err != nil || string(g.AppendListed(nil)) != want {
		t.Errorf("%s (%v), want %s", g.AppendListed(nil), err, want)
	}
}

// TestLongConfiguration makes room for a long list once.
func TestLongConfiguration(t *testing.T) {
	var runs []grid.Run
	for i := range int64(50_000) {
		runs = append(runs, grid.Run{Length: 1 + i*i%997, Count: 1 + i%3})
	}
	g, err := grid.New([]int64{1}, grid.Runs(runs...))
	if err != nil {
		t.Fatal(err)
	}
	text := g.AppendConfiguration(nil)
	if len(text) < cap(text)*9/10 {
		t.Errorf("%d bytes in room for %d", len(text), cap(text))
	}
	if n := testing.AllocsPerRun(1, func() { g.AppendConfiguration(nil) }); n > 12 {
		t.Errorf("%.0f allocations", n)
	}
}
