// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/grid"
)

func TestOlderForms(t *testing.T) {
	for _, tt := range []struct {
		name               string
		shape              []int64
		grid, config       string
		as, written, words string
	}{
		{"ZEP 3's draft", []int64{100, 100}, "rectangular", `{"separator": "/", "chunk_shape": [[5,5,5,15,15,20,35],10]}`,
			"rectilinear", `{"kind": "inline", "chunk_shapes": [[[5, 3], [15, 2], 20, 35], 10]}`, "ZEP 3"},
		{"zarrs", []int64{100, 100}, "rectangular", `{"chunk_shape": [[5,5,5,15,15,20,35],10]}`,
			"rectilinear", `{"kind": "inline", "chunk_shapes": [[[5, 3], [15, 2], 20, 35], 10]}`, "zarrs"},
		{"zarrs, integers", []int64{100, 95}, "rectangular", `{"chunk_shape": [25,10]}`,
			"rectilinear", `{"kind": "inline", "chunk_shapes": [25, 10]}`, "zarrs"},
		{"zarr-python 3.2", []int64{10, 10}, "regular", `{"chunk_shape": [5,[5,5]]}`,
			"rectilinear", `{"kind": "inline", "chunk_shapes": [5, [[5, 2]]]}`, "zarr-python 3.2"},
		{"zarr-python 3.2, runs", []int64{10, 30}, "regular", `{"chunk_shape": [5,[[5,4],10]]}`,
			"rectilinear", `{"kind": "inline", "chunk_shapes": [5, [[5, 4], 10]]}`, "zarr-python 3.2"},
		{"length 0", []int64{0, 7}, "regular", `{"chunk_shape": [0, 7]}`, "regular", `{"chunk_shape": [1, 7]}`, "was read as 1"},
		{"length 0, twice", []int64{0, 0}, "regular", `{"chunk_shape": [0.0, 0]}`, "regular", `{"chunk_shape": [1, 1]}`, "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := grid.Parse(tt.shape, tt.grid, []byte(tt.config), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(g.AppendConfiguration(nil)); g.Name() != tt.as || got != tt.written {
				t.Errorf("read as %s %s, want %s %s", g.Name(), got, tt.as, tt.written)
			}
			if n := g.Notes(); len(n) != 1 || !strings.Contains(n[0], tt.words) {
				t.Errorf("notes %q, want one that says %q", n, tt.words)
			}
			again, err := grid.Parse(tt.shape, g.Name(), g.AppendConfiguration(nil), nil)
			if err != nil || !again.Equal(g) || again.Notes() != nil {
				t.Errorf("what was repaired is not read as it should be: %v, notes %q", err, again.Notes())
			}
		})
	}
}

func TestOlderFormsRefused(t *testing.T) {
	for _, tt := range []struct{ name, grid, config, words string }{
		{"too long", "rectangular", `{"chunk_shape": [[5,6]]}`, "must sum to the extent 10, they sum to 11"},
		{"too short", "rectangular", `{"chunk_shape": [[5,4]]}`, "sum to 9"},
		{"runs", "rectangular", `{"chunk_shape": [[[5,2]]]}`, "/chunk_shape/0/0: a rectangular grid has no runs"},
		{"zero", "rectangular", `{"chunk_shape": [0]}`, "at least 1"},
		{"no configuration", "rectangular", ``, "needs a configuration"},
		{"unknown member", "rectangular", `{"chunk_shape": [5], "kind": "inline"}`, "/kind"},
		{"separator", "rectangular", `{"chunk_shape": [5], "separator": 5}`, "/separator"},
		{"nothing but lists", "regular", `{"chunk_shape": [[5,5]]}`, "/chunk_shape/0"},
		{"a list and zero", "regular", `{"chunk_shape": [0, [5,5]]}`, "at least 1"},
		{"length 0 of some elements", "regular", `{"chunk_shape": [0]}`, "at least 1, got 0"},
		{"negative", "regular", `{"chunk_shape": [-1]}`, "at least 1"},
		{"a boolean", "regular", `{"chunk_shape": [false]}`, "/chunk_shape/0"},
		{"a word", "regular", `{"chunk_shape": ["0"]}`, "/chunk_shape/0"},
		{"trimmed lists", "zarrs.regular_bounded", `{"chunk_shape": [[5,5]]}`, "/chunk_shape/0"},
		{"trimmed zero", "zarrs.regular_bounded", `{"chunk_shape": [0]}`, "at least 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var config []byte
			if tt.config != "" {
				config = []byte(tt.config)
			}
			shape := []int64{10}
			if strings.Contains(tt.config, ", [") {
				shape = []int64{10, 10}
			}
			_, err := grid.Parse(shape, tt.grid, config, nil)
			if !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("got %v, want one that says %q", err, tt.words)
			}
		})
	}
}

func TestBounded(t *testing.T) {
	g, err := grid.Parse([]int64{25, 20, 0}, "zarrs.regular_bounded", []byte(`{"chunk_shape": [10, 10, 3]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := grid.New([]int64{25, 20, 0}, grid.EveryTrimmed(10), grid.EveryTrimmed(10), grid.EveryTrimmed(3))
	if err != nil || !g.Equal(b) || g.Notes() != nil {
		t.Fatalf("it is not what its cuts make (%v), notes %q", err, g.Notes())
	}
	if got := string(g.AppendConfiguration(nil)); g.Name() != "zarrs.regular_bounded" || got != `{"chunk_shape": [10, 10, 3]}` {
		t.Errorf("written as %s %s", g.Name(), got)
	}
	a := g.Axis(0)
	last, _ := a.Cell(2)
	if (last != grid.Cell{Index: 2, Start: 20, Edge: 10, Logical: 5, Encoded: 5}) || last.IsBoundary() {
		t.Errorf("the last chunk is %+v", last)
	}
	for _, tt := range []struct {
		cells grid.Interval
		want  int64
	}{{grid.Interval{Stop: 3}, 10}, {grid.Interval{Start: 1, Stop: 3}, 10}, {grid.Interval{Start: 2, Stop: 3}, 5}, {grid.Interval{Start: 3, Stop: 4}, 0}} {
		if got := a.Longest(tt.cells); got != tt.want {
			t.Errorf("the longest of %v is %d, want %d", tt.cells, got, tt.want)
		}
	}
	if got := slices.Collect(a.Encoded()); !slices.Equal(got, []grid.Run{{Length: 10, Count: 2}, {Length: 5, Count: 1}}) {
		t.Errorf("stored with %v", got)
	}
	regular, err := grid.New([]int64{25, 20, 0}, grid.Chunks(10, 10, 3)...)
	if err != nil || regular.Axis(0).Equal(a) {
		t.Errorf("a trimmed axis is taken for one that is not (%v)", err)
	}
}

func TestBoundedRefused(t *testing.T) {
	for _, cuts := range [][]grid.Cut{
		{grid.EveryTrimmed(5), grid.Every(5)},
		{grid.Every(5), grid.EveryTrimmed(5)},
		{grid.EveryTrimmed(5), grid.Edges(10)},
		{grid.EveryTrimmed(0), grid.EveryTrimmed(5)},
		{grid.EveryTrimmed(5).EncodedAs(grid.Every(6)), grid.EveryTrimmed(5)},
		{grid.Every(5).EncodedAs(grid.EveryTrimmed(6)), grid.Every(5)},
	} {
		if _, err := grid.New([]int64{10, 10}, cuts...); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%+v: %v", cuts, err)
		}
	}
}

// TestBoundedResized checks that a change is permitted only if all stored chunks stay as
// they are.
func TestBoundedResized(t *testing.T) {
	for from := range int64(31) {
		for to := range int64(31) {
			a, err := grid.NewAxis(from, grid.EveryTrimmed(10))
			if err != nil {
				t.Fatal(err)
			}
			want, err := grid.NewAxis(to, grid.EveryTrimmed(10))
			if err != nil {
				t.Fatal(err)
			}
			same := true
			for k := range min(a.Chunks(), want.Chunks()) {
				before, _ := a.Cell(k)
				after, _ := want.Cell(k)
				same = same && before.Encoded == after.Encoded
			}
			b, err := a.Resized(to)
			switch {
			case same && (err != nil || !b.Equal(want)):
				t.Errorf("from %d to %d: %v", from, to, err)
			case !same && (!errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "unlock")):
				t.Errorf("from %d to %d a stored chunk changes, got %v", from, to, err)
			}
		}
	}
}

func ExampleGrid_Notes() {
	g, err := grid.Parse([]int64{10, 30}, "regular", []byte(`{"chunk_shape": [5, [10, 20]]}`), nil)
	fmt.Println(g.Name(), g.Notes(), err)
	// Output: rectilinear [a chunk grid named "regular" lists edges along some axes, as zarr-python 3.2 wrote it; it was read as "rectilinear"] <nil>
}
