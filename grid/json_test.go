// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve.dev/zarr/grid"
)

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, grid, config string
		want               error
		words              string
	}{
		{"unknown name", "hexagonal", `{}`, grid.ErrUnsupported, "hexagonal"},
		{"no configuration", "regular", ``, grid.ErrInvalid, "configuration"},
		{"empty configuration", "regular", `{}`, grid.ErrInvalid, "chunk_shape"},
		{"unknown member", "regular", `{"chunk_shape": [1], "x": 1}`, grid.ErrInvalid, `/x: unknown member "x"`},
		{"unknown kind", "rectilinear", `{"kind": "tile", "chunk_shapes": [1]}`, grid.ErrUnsupported, `"tile"`},
		{"no kind", "rectilinear", `{"chunk_shapes": [1]}`, grid.ErrInvalid, "kind"},
		{"encoded lengths", "rectilinear", `{"kind": "inline", "chunk_shapes": [[5,5]], "encoded_chunk_shapes": [6]}`, grid.ErrUnsupported, "75"},
		{"place of a fault", "rectilinear", `{"kind": "inline", "chunk_shapes": [[5, 0, 5]]}`, grid.ErrInvalid, "/chunk_shapes/0/1"},
		{"place of an overflow", "rectilinear", `{"kind": "inline", "chunk_shapes": [[5, [9223372036854775807, 2]]]}`, grid.ErrOverflow, "/chunk_shapes/0/1"},
		{"rank", "regular", `{"chunk_shape": [1, 1]}`, grid.ErrInvalid, "2 axes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var config []byte
			if tt.config != "" {
				config = []byte(tt.config)
			}
			_, err := grid.Parse([]int64{10}, tt.grid, config, nil)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("got %v, want %v that says %q", err, tt.want, tt.words)
			}
		})
	}
}

// FuzzParse checks that an accepted grid, once written, is accepted again as the same
// grid.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"chunk_shape": [3, 4]}`, `{"kind": "inline", "chunk_shapes": [[10, [20, 2]], 7]}`,
		`{"kind": "inline", "chunk_shapes": [[[1, 1000000000000000000]], 1]}`,
		`{"kind": "inline", "chunk_shapes": [[9223372036854775807, 1], 1]}`,
		`{"kind": "inline", "chunk_shapes": [[4.0, [2e1, 2]], [1,2,3,4,5,6,7,8,9,10]]}`,
	} {
		f.Add(s, int64(40), int64(7))
	}
	f.Fuzz(func(t *testing.T, config string, rows, columns int64) {
		shape := []int64{rows, columns}
		for _, name := range []string{"regular", "rectilinear"} {
			g, err := grid.Parse(shape, name, []byte(config), nil)
			if err != nil {
				continue
			}
			again, err := grid.Parse(shape, name, g.AppendConfiguration(nil), nil)
			if err != nil || !g.Equal(again) {
				t.Fatalf("%s is written as %s: %v", config, g.AppendConfiguration(nil), err)
			}
			checkEnds(t, g)
		}
	})
}

// checkEnds looks at the first and the last cell of every axis.
func checkEnds(t *testing.T, g *grid.Grid) {
	t.Helper()
	for i := range g.Rank() {
		a := g.Axis(i)
		if a.Extent() == 0 {
			continue
		}
		last, _, ok := a.Locate(a.Extent() - 1)
		if !ok || last != a.Chunks()-1 {
			t.Fatalf("the last element is in chunk %d of %d", last, a.Chunks())
		}
		c, ok := a.Cell(last)
		if !ok || c.Start+c.Logical != a.Extent() || c.Logical < 1 || c.Logical > c.Edge {
			t.Fatalf("the last chunk is %+v (%v)", c, ok)
		}
	}
}

func ExampleNew() {
	g, err := grid.New([]int64{60, 100}, grid.Edges(10, 20, 30), grid.Every(25))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, _ := g.Chunk([]int64{2, 3})
	fmt.Println(g.Name(), g.Chunks(), c.Start, c.Logical)
	// Output: rectilinear [3 4] [30 75] [30 25]
}

func ExampleParse() {
	g, err := grid.Parse([]int64{1e18}, "rectilinear", []byte(`{"kind": "inline", "chunk_shapes": [[[1, 1000000000000000000]]]}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	chunk, within, ok := g.Axis(0).Locate(999_999_999_999_999_999)
	fmt.Println(chunk, within, ok)
	// Output: 999999999999999999 0 true
}

func ExampleGrid_Touching() {
	g, _ := grid.New([]int64{31 + 28 + 31}, grid.Edges(31, 28, 31))
	march, _ := g.Touching(grid.Box{{Start: 55, Stop: 62}})
	for c := range march {
		fmt.Println(c.Index, c.Box())
	}
	// Output:
	// [1] [{31 59}]
	// [2] [{59 90}]
}

func ExampleGrid_Resized() {
	g, _ := grid.New([]int64{6}, grid.Edges(1, 2, 3))
	larger, err := g.Resized([]int64{10})
	fmt.Println(larger, err)
	// Output: (10) in chunks of ([1 2 3 4]) <nil>
}

// TestParseLongTexts has names and texts of a megabyte, of which errors quote the
// beginning.
func TestParseLongTexts(t *testing.T) {
	long := strings.Repeat("z", 1<<20)
	for _, c := range [][2]string{
		{long, `{}`}, {"regular", `{"` + long + `":[2]}`}, {"regular", `{"chunk_shape":["` + long + `"]}`}, {"regular", `{"chunk_shape":"` + long + `"}`},
		{"rectilinear", `{"kind":"` + long + `","chunk_shapes":[2]}`}, {"rectilinear", `{"kind":"inline","chunk_shapes":[["` + long + `"]]}`},
		{"rectilinear", `{"kind":"inline","chunk_shapes":[[` + strings.Repeat("1", 1<<20) + `]]}`},
	} {
		if _, err := grid.Parse([]int64{4}, c[0], []byte(c[1]), nil); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%.60s: %.2000v", c, err)
		}
	}
}

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
			g, err := grid.Parse(tt.shape, "rectilinear", fmt.Appendf(nil, `{"kind": "inline", "chunk_shapes": %s}`, tt.config), nil)
			if err != nil {
				t.Fatal(err)
			}
			listed := g.AppendListed([]byte("x"))[1:]
			if want := `{"kind": "inline", "chunk_shapes": ` + tt.want + `}`; string(listed) != want {
				t.Errorf("written as %s, want %s", listed, want)
			}
			again, err := grid.Parse(tt.shape, "rectilinear", listed, nil)
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
	for _, cut := range []grid.Cut{grid.Every(3), grid.EveryTrimmed(3)} {
		g, err := grid.New([]int64{10}, cut)
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
