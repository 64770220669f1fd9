// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr/grid"
)

// TestAuto compares with the results of zarr-python 3.4.1 for the same shapes.
func TestAuto(t *testing.T) {
	for _, tt := range []struct {
		shape []int64
		size  int64
		want  []int64
	}{
		{[]int64{}, 8, []int64{}},
		{[]int64{0}, 4, []int64{1}},
		{[]int64{0, 36, 72}, 4, []int64{1, 36, 72}},
		{[]int64{10}, 4, []int64{10}},
		{[]int64{100}, 4, []int64{100}},
		{[]int64{1000}, 8, []int64{1000}},
		{[]int64{1_000_000}, 8, []int64{62500}},
		{[]int64{1_000_000_000}, 8, []int64{488282}},
		{[]int64{100, 100, 100}, 4, []int64{50, 50, 50}},
		{[]int64{1000, 1000, 1000}, 4, []int64{63, 125, 125}},
		{[]int64{10_000, 10_000}, 8, []int64{313, 625}},
		{[]int64{1_000_000, 10}, 8, []int64{62500, 2}},
		{[]int64{3, 10_000_000}, 1, []int64{1, 625000}},
		{[]int64{1000, 1000, 1000, 1000}, 2, []int64{32, 63, 63, 63}},
		{[]int64{1}, 1_000_000_000, []int64{1}},
	} {
		if got := grid.Auto(tt.shape, tt.size); !slices.Equal(got, tt.want) {
			t.Errorf("shape %v of %d bytes: %v, want %v", tt.shape, tt.size, got, tt.want)
		}
	}
}

func TestParseCuts(t *testing.T) {
	shape := []int64{60, 100}
	for _, tt := range []struct {
		text, want string // "" is an error
		axis       int
	}{
		{"10", `{"chunk_shape": [10, 10]}`, 0},
		{"-1", `{"chunk_shape": [60, 100]}`, 0},
		{"[10, 20]", `{"chunk_shape": [10, 20]}`, 0},
		{"[10, -1]", `{"chunk_shape": [10, 100]}`, 0},
		{"[[10,20,30],25]", `{"kind": "inline", "chunk_shapes": [[10, 20, 30], 25]}`, 0},
		{"[[[25,2],10],[50,50]]", `{"kind": "inline", "chunk_shapes": [[[25, 2], 10], [[50, 2]]]}`, 0},
		{"[[70],25]", `{"kind": "inline", "chunk_shapes": [[70], 25]}`, 0},
		{"", "", -1},
		{"ten", "", -1},
		{"0", "", 0},
		{"-2", "", 0},
		{"true", "", 0},
		{`"10"`, "", 0},
		{"[10]", "", -1},
		{"[10,10,10]", "", 2},
		{"[[],25]", "", 0},
		{"[10,[0]]", "", 1},
		{"[[[10,2,3]],25]", "", 0},
		{"[[10.5,50],25]", "", 0},
		{"[[10,20],25]", "", 0},
	} {
		t.Run(tt.text, func(t *testing.T) {
			cuts, err := grid.ParseCuts(shape, tt.text)
			var g *grid.Grid
			if err == nil {
				g, err = grid.New(shape, cuts...)
			}
			if tt.want != "" {
				if err != nil || string(g.AppendConfiguration(nil)) != tt.want {
					t.Fatalf("got %v, want %s", err, tt.want)
				}
				return
			}
			var on *grid.AxisError
			if !errors.Is(err, grid.ErrInvalid) || errors.As(err, &on) != (tt.axis >= 0) || on != nil && on.Axis != tt.axis {
				t.Errorf("%v does not name axis %d", err, tt.axis)
			}
		})
	}
}
