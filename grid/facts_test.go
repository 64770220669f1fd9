// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"varve.dev/zarr/grid"
)

// fact is a row of testdata/grid_facts.json: what zarr-python 3.4.1 says of one chunk
// grid. Rows marked huge were computed with big integers instead.
type fact struct {
	ID            string
	Tag           string
	Shape         json.RawMessage
	ChunkGrid     json.RawMessage `json:"chunk_grid"`
	OK            bool
	StrictOK      *bool `json:"strict_ok"`
	Repaired      bool
	Huge          bool
	IsRegular     bool          `json:"is_regular"`
	GridShape     []int64       `json:"grid_shape"`
	GridCells     []int64       `json:"ngridcells"`
	ChunkSizes    [][]int64     `json:"chunk_sizes"`
	ChunkSizesRLE [][][2]int64  `json:"chunk_sizes_rle"`
	IndexToChunk  [][][2]*int64 `json:"index_to_chunk"`
	Chunks        []struct {
		Coords     []int64
		Slices     [][2]int64
		CodecShape []int64 `json:"codec_shape"`
		IsBoundary bool    `json:"is_boundary"`
	}
	Out *struct {
		Name          string
		Configuration any
	} `json:"chunk_grid_out"`
}

func readFacts(t testing.TB) []fact {
	t.Helper()
	data, err := os.ReadFile("testdata/grid_facts.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Rows []fact }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Rows
}

// older returns the number of notes on a row that zarr-python repairs. Integral floats
// are numbers and need no note. Two of its repairs are refused here: booleans are not
// numbers, and a chunk length of 0 is a fault if there are elements to store.
func (f *fact) older() int {
	switch f.Tag {
	case "malformed regular zero zero extent", "malformed regular nested mixed":
		return 1
	}
	return 0
}

// expected reports whether the row must be accepted. If open is set, either is fine.
func (f *fact) expected() (ok, open bool) {
	switch {
	case f.older() > 0:
		return f.OK, false
	case f.StrictOK != nil:
		return *f.StrictOK, false
	case f.Huge:
		return f.OK, false
	}
	return f.OK, true
}

func TestFacts(t *testing.T) {
	accepted, refused, repaired := 0, 0, 0
	for _, f := range readFacts(t) {
		t.Run(f.ID+" "+f.Tag, func(t *testing.T) {
			shape, whole := integers(f.Shape)
			var doc struct {
				Name          string
				Configuration json.RawMessage
			}
			if !whole || json.Unmarshal(f.ChunkGrid, &doc) != nil {
				refused++
				return // the fault is outside the grid, where package metadata finds it
			}
			g, err := grid.Parse(shape, doc.Name, doc.Configuration, nil)
			if want, open := f.expected(); (err == nil) != want && !open {
				t.Fatalf("got error %v, want accepted %v", err, want)
			}
			if err != nil {
				refused++
				return
			}
			accepted++
			if n := len(g.Notes()); n != f.older() {
				t.Errorf("notes %q, want %d", g.Notes(), f.older())
			} else {
				repaired += n
			}
			if f.OK {
				f.withoutPlaceholder()
				checkFact(t, &f, g)
			}
		})
	}
	t.Logf("%d grids accepted, %d of them repaired, %d refused", accepted, repaired, refused)
	if accepted < 300 || repaired < 2 || refused < 80 {
		t.Errorf("only %d accepted, %d repaired and %d refused: rows are missing", accepted, repaired, refused)
	}
}

// withoutPlaceholder changes the one fact about an axis of extent 0 with the run [1, 1].
// To zarr-python that is one edge, which it writes as 1. Here it stands for no edges.
func (f *fact) withoutPlaceholder() {
	if f.ID == "g0236" {
		f.GridCells[3] = 0
		f.Out.Configuration.(map[string]any)["chunk_shapes"].([]any)[3] = []any{[]any{1, 1}}
	}
}

func checkFact(t *testing.T, f *fact, g *grid.Grid) {
	t.Helper()
	if g.IsRegular() != f.IsRegular || !slices.Equal(g.Chunks(), f.GridShape) || !slices.Equal(g.Cells(), f.GridCells) {
		t.Errorf("regular %v, chunks %v, cells %v; want %v, %v, %v",
			g.IsRegular(), g.Chunks(), g.Cells(), f.IsRegular, f.GridShape, f.GridCells)
	}
	for i := range g.Rank() {
		checkSizes(t, f, g, i)
		for _, pair := range f.IndexToChunk[i] {
			chunk, _, ok := g.Axis(i).Locate(*pair[0])
			if ok != (pair[1] != nil) || ok && chunk != *pair[1] {
				t.Errorf("axis %d: element %d is in chunk %d (%v)", i, *pair[0], chunk, ok)
			}
		}
	}
	for _, want := range f.Chunks {
		c, ok := g.Chunk(want.Coords)
		if ok != (want.Slices != nil) {
			t.Errorf("chunk %v: found %v", want.Coords, ok)
		}
		if !ok {
			continue
		}
		for i, in := range c.Box() {
			if in.Start != want.Slices[i][0] || in.Stop != want.Slices[i][1] || c.Encoded[i] != want.CodecShape[i] {
				t.Errorf("chunk %v, axis %d: %v, encoded %d; want %v, %d", want.Coords, i, in, c.Encoded[i], want.Slices[i], want.CodecShape[i])
			}
		}
		if c.IsBoundary() != want.IsBoundary {
			t.Errorf("chunk %v: boundary %v", want.Coords, c.IsBoundary())
		}
	}
	if f.Out != nil {
		var got any
		if err := json.Unmarshal(g.AppendConfiguration(nil), &got); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(f.Out.Configuration)
		if g.Name() != f.Out.Name || string(a) != string(b) {
			t.Errorf("written as %s %s, want %s %s", g.Name(), a, f.Out.Name, b)
		}
	}
}

func checkSizes(t *testing.T, f *fact, g *grid.Grid, i int) {
	t.Helper()
	var want []grid.Run
	add := func(length, count int64) {
		if n := len(want); n > 0 && want[n-1].Length == length {
			want[n-1].Count += count
			return
		}
		want = append(want, grid.Run{Length: length, Count: count})
	}
	if f.ChunkSizesRLE != nil {
		for _, r := range f.ChunkSizesRLE[i] {
			add(r[0], r[1])
		}
	} else {
		for _, n := range f.ChunkSizes[i] {
			add(n, 1)
		}
	}
	if got := g.Axis(i).Sizes(); !slices.Equal(got, want) {
		t.Errorf("axis %d: sizes %v, want %v", i, got, want)
	}
	for n := range want {
		var first []grid.Run
		for r := range g.Axis(i).Logical() {
			if first = append(first, r); len(first) > n {
				break
			}
		}
		if !slices.Equal(first, want[:n+1]) {
			t.Errorf("axis %d: first sizes %v, want %v", i, first, want[:n+1])
		}
		if n > 8 {
			break
		}
	}
}

// integers returns a list of numbers. It returns false if the list has anything else.
func integers(raw json.RawMessage) ([]int64, bool) {
	var list []*int64
	if json.Unmarshal(raw, &list) != nil || slices.Contains(list, nil) || list == nil {
		return nil, false
	}
	numbers := make([]int64, len(list))
	for i, n := range list {
		numbers[i] = *n
	}
	return numbers, true
}
