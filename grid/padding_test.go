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

var withEncoded = grid.ParseOptions{EncodedShapes: true}

// TestEncodedShapes reads and writes the forms of zarr-extensions pull request 75.
func TestEncodedShapes(t *testing.T) {
	for _, tt := range []struct {
		name            string
		extent          int64
		shapes, encoded string
		want            []grid.Run
		written         string // the encoded lengths in JSON, "" if they are left out
	}{
		{"the proposal's example", 1100, `[[200,2],150,[200,2],150]`, `200`, []grid.Run{{200, 6}}, `200`},
		{"a list", 550, `[200,200,150]`, `[200,200,200]`, []grid.Run{{200, 3}}, `[[200, 3]]`},
		{"some are longer", 30, `[10,5,15]`, `[10,10,20]`, []grid.Run{{10, 2}, {20, 1}}, `[[10, 2], 20]`},
		{"beyond the extent", 12, `[10,5,15]`, `16`, []grid.Run{{16, 3}}, `16`},
		{"a step", 30, `8`, `10`, []grid.Run{{10, 4}}, `10`},
		{"a list for a step", 30, `8`, `[10,8,8,9]`, []grid.Run{{10, 1}, {8, 2}, {9, 1}}, `[10, [8, 2], 9]`},
		{"one for all that is the same", 30, `[10,10,10]`, `10`, []grid.Run{{10, 3}}, `10`},
		{"the same list", 30, `[10,5,15]`, `[10,5,15]`, []grid.Run{{10, 1}, {5, 1}, {15, 1}}, ""},
		{"the same step", 30, `8`, `8`, []grid.Run{{8, 4}}, ""},
		{"no extent", 0, `8`, `9`, nil, `9`},
		{"huge", 1e18, `[[1,1000000000000000000]]`, `[[2,1000000000000000000]]`, []grid.Run{{2, 1e18}}, `[[2, 1000000000000000000]]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := fmt.Sprintf(`{"kind": "inline", "chunk_shapes": [%s], "encoded_chunk_shapes": [%s]}`, tt.shapes, tt.encoded)
			g, err := grid.Parse([]int64{tt.extent}, "rectilinear", []byte(config), &withEncoded)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Collect(g.Axis(0).Encoded()); !slices.Equal(got, tt.want) {
				t.Errorf("stored with %v, want %v", got, tt.want)
			}
			written := string(g.AppendConfiguration(nil))
			_, encoded, _ := strings.Cut(written, `, "encoded_chunk_shapes": [`)
			if want := tt.written + "]}"; encoded != want && encoded != "" || (encoded == "") != (tt.written == "") {
				t.Errorf("written as %s", written)
			}
			again, err := grid.Parse([]int64{tt.extent}, "rectilinear", []byte(written), &withEncoded)
			if err != nil || !g.Equal(again) {
				t.Errorf("%s is read as another grid (%v)", written, err)
			}
			_, err = grid.Parse([]int64{tt.extent}, "rectilinear", []byte(config), nil)
			if !errors.Is(err, grid.ErrUnsupported) || !strings.Contains(err.Error(), "pull request 75") || !strings.Contains(err.Error(), "EncodedShapes") {
				t.Errorf("without the switch: %v", err)
			}
		})
	}
}

func TestEncodedShapesRefused(t *testing.T) {
	for _, tt := range []struct {
		name, shapes, encoded string
		want                  error
		words                 string
	}{
		{"shorter than an edge", `[[10,20]]`, `[[10,19]]`, grid.ErrInvalid, "cell 1 has the encoded length 19 and an edge of 20"},
		{"shorter than all", `[[10,20]]`, `[15]`, grid.ErrInvalid, "encoded length 15 must be at least that of every edge, 20"},
		{"shorter than the step", `[20]`, `[15]`, grid.ErrInvalid, "15"},
		{"a list below a step", `[15]`, `[[15,14]]`, grid.ErrInvalid, "cell 1"},
		{"fewer", `[[10,20]]`, `[[30]]`, grid.ErrInvalid, "1 encoded length for 2 edges"},
		{"more", `[[10,20]]`, `[[[30,3]]]`, grid.ErrInvalid, "3 encoded lengths for 2 edges"},
		{"rank", `[[10,20]]`, `[20,20]`, grid.ErrInvalid, "/encoded_chunk_shapes: 2 axes, chunk_shapes has 1"},
		{"no list", `[[10,20]]`, `20`, grid.ErrInvalid, "/encoded_chunk_shapes"},
		{"zero", `[[10,20]]`, `[0]`, grid.ErrInvalid, "0"},
		{"place of a fault", `[[10,20]]`, `[[20,-1]]`, grid.ErrInvalid, "/encoded_chunk_shapes/0/1"},
		{"a word", `[[10,20]]`, `["20"]`, grid.ErrInvalid, "/encoded_chunk_shapes/0"},
		{"overflow", `[[10,20]]`, `[[[9223372036854775807,2]]]`, grid.ErrOverflow, "/encoded_chunk_shapes/0/0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := fmt.Sprintf(`{"kind": "inline", "chunk_shapes": %s, "encoded_chunk_shapes": %s}`, tt.shapes, tt.encoded)
			_, err := grid.Parse([]int64{30}, "rectilinear", []byte(config), &withEncoded)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("got %v, want %v that says %q", err, tt.want, tt.words)
			}
		})
	}
}

// TestEncodedAgainstModel draws an axis with encoded lengths, grows and shrinks it, and
// compares every cell with a model that lists the cells one by one.
func TestEncodedAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		_, edges := m.cells()
		common := int64(0)
		encoded := make([]int64, len(edges))
		for i, n := range edges {
			encoded[i] = n + rapid.Int64Range(0, 2).Draw(t, "more")
		}
		cut := grid.Edges(encoded...)
		if len(edges) == 0 || rapid.Bool().Draw(t, "common") {
			common = max(m.step, slices.Max(append(edges, 1))) + rapid.Int64Range(0, 3).Draw(t, "above")
			cut = grid.Every(common)
			for i := range encoded {
				encoded[i] = common
			}
		}
		a, err := grid.NewAxis(m.extent, m.cut().EncodedAs(cut))
		if err != nil {
			t.Fatal(err)
		}
		checkEncoded(t, a, m, encoded)
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			covered := sumOf(edges)
			m.extent = rapid.Int64Range(0, covered+30).Draw(t, "extent")
			if a, err = a.Resized(m.extent); err != nil {
				t.Fatal(err)
			}
			if m.step == 0 && m.extent > covered {
				m.edges = append(m.edges, m.extent-covered)
			}
			_, edges = m.cells()
			encoded = encoded[:min(len(encoded), len(edges))]
			for k := len(encoded); k < len(edges); k++ {
				encoded = append(encoded, max(edges[k], common))
			}
			if len(edges) > 0 && slices.Max(edges) > common {
				common = 0 // they are listed now
			}
			checkEncoded(t, a, m, encoded)
		}
	})
}

// checkEncoded compares an axis with the given edges and encoded lengths, and with itself
// after it was written and parsed.
func checkEncoded(t *rapid.T, a grid.Axis, m model, encoded []int64) {
	t.Helper()
	start, length := m.cells()
	for k := range start {
		logical := max(0, min(length[k], m.extent-start[k]))
		want := grid.Cell{Index: int64(k), Start: start[k], Edge: length[k], Logical: logical, Encoded: encoded[k]}
		if c, ok := a.Cell(int64(k)); !ok || c != want || c.IsBoundary() != (logical != encoded[k]) {
			t.Fatalf("cell %d is %+v (%v), want %+v", k, c, ok, want)
		}
		if got := a.Longest(grid.Interval{Start: int64(k / 2), Stop: int64(k + 1)}); got != slices.Max(encoded[k/2:k+1]) {
			t.Fatalf("the longest of cells %d to %d is stored with %d, want %v", k/2, k, got, encoded[k/2:k+1])
		}
	}
	if got := expand(slices.Collect(a.Encoded())); !slices.Equal(got, encoded) {
		t.Fatalf("stored with %v, want %v", got, encoded)
	}
	g, err := grid.Parse([]int64{m.extent}, "rectilinear", grid.OfAxis(a).AppendConfiguration(nil), &withEncoded)
	if err != nil || !g.Axis(0).Equal(a) {
		t.Fatalf("it is read again as another axis: %v", err)
	}
}

func ExampleCut_EncodedAs() {
	// Two files of 550 rows in chunks of 200, each with a padded last chunk.
	g, err := grid.New([]int64{1100}, grid.Edges(200, 200, 150, 200, 200, 150).EncodedAs(grid.Every(200)))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, _ := g.Chunk([]int64{2})
	fmt.Println(c.Start, c.Logical, c.Encoded)
	fmt.Println(string(g.AppendConfiguration(nil)))
	// Output:
	// [400] [150] [200]
	// {"kind": "inline", "chunk_shapes": [[[200, 2], 150, [200, 2], 150]], "encoded_chunk_shapes": [200]}
}
