// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/grid"
)

// model is a naive axis, which lists every cell.
type model struct {
	extent int64
	step   int64 // 0 for lists
	edges  []int64
}

func (m model) cut() grid.Cut {
	if m.step > 0 {
		return grid.Every(m.step)
	}
	return grid.Edges(m.edges...)
}

// cells returns start and length of every declared cell.
func (m model) cells() (start, length []int64) {
	at := int64(0)
	for k := 0; m.step > 0 && at < m.extent || m.step == 0 && k < len(m.edges); k++ {
		n := m.step
		if n == 0 {
			n = m.edges[k]
		}
		start, length = append(start, at), append(length, n)
		at += n
	}
	return start, length
}

func drawModel(t *rapid.T) model {
	if rapid.Bool().Draw(t, "every") {
		return model{rapid.Int64Range(0, 60).Draw(t, "extent"), rapid.Int64Range(1, 20).Draw(t, "step"), nil}
	}
	values := rapid.Int64Range(1, 12)
	if rapid.Bool().Draw(t, "alike") {
		values = rapid.Int64Range(3, 4)
	}
	edges := rapid.SliceOfN(values, 1, 40).Draw(t, "edges")
	sum := int64(0)
	for _, n := range edges {
		sum += n
	}
	return model{rapid.Int64Range(0, sum).Draw(t, "extent"), 0, edges}
}

func TestAxisAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		a, err := grid.NewAxis(m.extent, m.cut())
		if err != nil {
			t.Fatal(err)
		}
		checkAxis(t, a, m)
	})
}

func expand(runs []grid.Run) []int64 {
	var all []int64
	for _, r := range runs {
		all = append(all, slices.Repeat([]int64{r.Length}, int(r.Count))...)
	}
	return all
}

func TestRunsAreEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) grid.Run {
			return grid.Run{Length: rapid.Int64Range(1, 3).Draw(t, "length"), Count: rapid.Int64Range(1, 30).Draw(t, "count")}
		}), 1, 10).Draw(t, "runs")
		a, err := grid.NewAxis(1, grid.Runs(runs...))
		if err != nil {
			t.Fatal(err)
		}
		b, err := grid.NewAxis(1, grid.Edges(expand(runs)...))
		if err != nil {
			t.Fatal(err)
		}
		if !a.Equal(b) {
			t.Fatalf("%v and its expansion differ", runs)
		}
	})
}

func TestResized(t *testing.T) {
	edges := func(n ...int64) grid.Cut { return grid.Edges(n...) }
	for _, tt := range []struct {
		name   string
		extent int64
		cut    grid.Cut
		to     int64
		want   []grid.Run
	}{
		{"one edge for all that is new", 6, edges(1, 2, 3), 10, []grid.Run{{1, 1}, {2, 1}, {3, 1}, {4, 1}}},
		{"shrinking keeps the edges", 6, edges(1, 2, 3), 2, []grid.Run{{1, 1}, {2, 1}, {3, 1}}},
		{"growing fills edges that are there", 2, edges(1, 2, 3), 6, []grid.Run{{1, 1}, {2, 1}, {3, 1}}},
		{"then adds one", 2, edges(1, 2, 3), 7, []grid.Run{{1, 2}, {2, 1}, {3, 1}}[1:]},
		{"a step stays a step", 6, grid.Every(4), 9, []grid.Run{{4, 3}}},
		{"to nothing", 6, edges(3, 3), 0, []grid.Run{{3, 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := grid.NewAxis(tt.extent, tt.cut)
			if err != nil {
				t.Fatal(err)
			}
			b, err := a.Resized(tt.to)
			if err != nil || b.Extent() != tt.to {
				t.Fatalf("extent %d (%v), want %d", b.Extent(), err, tt.to)
			}
			got := slices.Collect(b.Edges())
			if tt.name == "then adds one" {
				tt.want = []grid.Run{{1, 1}, {2, 1}, {3, 1}, {1, 1}}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("edges %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		shape []int64
		cuts  []grid.Cut
		want  error
		axis  int
	}{
		{"zero edge", []int64{5, 10}, []grid.Cut{grid.Every(5), grid.Edges(10, 0)}, grid.ErrInvalid, 1},
		{"negative edge", []int64{10}, []grid.Cut{grid.Edges(11, -1)}, grid.ErrInvalid, 0},
		{"zero step", []int64{10}, []grid.Cut{grid.Every(0)}, grid.ErrInvalid, 0},
		{"zero count", []int64{10}, []grid.Cut{grid.Runs(grid.Run{Length: 10})}, grid.ErrInvalid, 0},
		{"too short", []int64{10}, []grid.Cut{grid.Edges(5, 4)}, grid.ErrInvalid, 0},
		{"no edges", []int64{1}, []grid.Cut{grid.Edges()}, grid.ErrInvalid, 0},
		{"negative extent", []int64{-1}, []grid.Cut{grid.Every(1)}, grid.ErrInvalid, 0},
		{"sum", []int64{10}, []grid.Cut{grid.Runs(grid.Run{Length: math.MaxInt64, Count: 2})}, grid.ErrOverflow, 0},
		{"rank", []int64{10}, []grid.Cut{grid.Every(1), grid.Every(1)}, grid.ErrInvalid, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := grid.New(tt.shape, tt.cuts...)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			var on *grid.AxisError
			if found := errors.As(err, &on); found != (tt.axis >= 0) || found && on.Axis != tt.axis {
				t.Errorf("%v does not name axis %d", err, tt.axis)
			}
		})
	}
}

func TestGridWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		models := rapid.SliceOfN(rapid.Custom(drawModel), 0, 3).Draw(t, "axes")
		shape, cuts, region := []int64{}, []grid.Cut{}, grid.Box{}
		for _, m := range models {
			shape, cuts = append(shape, m.extent), append(cuts, m.cut())
			from := rapid.Int64Range(0, m.extent).Draw(t, "from")
			region = append(region, grid.Interval{Start: from, Stop: rapid.Int64Range(from, m.extent).Draw(t, "to")})
		}
		g, err := grid.New(shape, cuts...)
		if err != nil {
			t.Fatal(err)
		}
		var all, want, got [][]int64
		for c := range g.All() {
			all = append(all, slices.Clone(c.Index))
			if n, _ := intersect(c.Box(), region).Len(); n > 0 {
				want = append(want, slices.Clone(c.Index))
			}
		}
		if n, ok := g.NumChunks(); !ok || n != int64(len(all)) || !slices.IsSortedFunc(all, slices.Compare) {
			t.Fatalf("%d chunks were walked, %d counted", len(all), n)
		}
		touching, err := g.Touching(region)
		if err != nil {
			t.Fatal(err)
		}
		for c := range touching {
			got = append(got, slices.Clone(c.Index))
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("region %v touches %v, want %v", region, got, want)
		}
	})
}

func intersect(a, b grid.Box) grid.Box {
	c := make(grid.Box, len(a))
	for i := range a {
		c[i] = a[i].Intersect(b[i])
	}
	return c
}

// TestYieldedValuesMayBeKept collects what iterators yield and compares it with what they
// yield one by one.
func TestYieldedValuesMayBeKept(t *testing.T) {
	g, err := grid.New([]int64{5, 7}, grid.Every(2), grid.Edges(1, 2, 4))
	if err != nil {
		t.Fatal(err)
	}
	indices, chunks := slices.Collect(grid.BoxOf(g.Chunks()).Indices()), slices.Collect(g.All())
	if len(indices) != 9 || len(chunks) != 9 {
		t.Fatalf("%d indices and %d chunks of 9", len(indices), len(chunks))
	}
	for i, c := range chunks {
		want, _ := g.Chunk([]int64{int64(i / 3), int64(i % 3)})
		if !reflect.DeepEqual(c, want) || !slices.Equal(indices[i], want.Index) {
			t.Errorf("chunk %d is %+v at %v, want %+v", i, c, indices[i], want)
		}
	}
}

func TestWalksDoNotAllocatePerChunk(t *testing.T) {
	g, err := grid.New([]int64{1000, 100}, grid.Every(1), grid.Edges(1, 2, 3, 4, 90))
	if err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(5, func() {
		c := grid.NewChunk(2)
		for index := range grid.BoxOf(g.Chunks()).IndicesInto(make([]int64, 2)) {
			g.Cell(index, c)
		}
	})
	if n > 12 {
		t.Errorf("%v allocations for 5,000 chunks", n)
	}
}

func TestOutOfRange(t *testing.T) {
	g, _ := grid.New([]int64{5, 7}, grid.Chunks(2, 3)...)
	if _, _, err := g.Locate([]int64{1, 7}); !errors.Is(err, grid.ErrOutOfRange) {
		t.Errorf("Locate: %v", err)
	}
	if _, err := g.Touched(grid.Box{{0, 6}, {0, 1}}); !errors.Is(err, grid.ErrOutOfRange) {
		t.Errorf("Touched: %v", err)
	}
	if _, ok := g.Chunk([]int64{3, 0}); ok {
		t.Error("a chunk beyond the grid was found")
	}
	if _, ok := g.Chunk([]int64{0}); ok {
		t.Error("an index of the wrong rank was found")
	}
}

func TestBoxSubtract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) grid.Box {
			b := make(grid.Box, 2)
			for i := range b {
				from := rapid.Int64Range(0, 6).Draw(t, label)
				b[i] = grid.Interval{Start: from, Stop: rapid.Int64Range(from, 6).Draw(t, label)}
			}
			return b
		}
		a, b := draw("a"), draw("b")
		seen := map[[2]int64]int{}
		for part := range a.Subtract(b) {
			for i := range part.Indices() {
				seen[[2]int64(i)]++
			}
		}
		for i := range grid.BoxOf([]int64{6, 6}).Indices() {
			want := 0
			if a.Contains(i) && !b.Contains(i) {
				want = 1
			}
			if seen[[2]int64(i)] != want {
				t.Fatalf("%v - %v holds %v %d times", a, b, i, seen[[2]int64(i)])
			}
		}
	})
}
