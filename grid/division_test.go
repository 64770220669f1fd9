// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
)

func TestDivided(t *testing.T) {
	for _, tt := range []struct {
		name   string
		extent int64
		shards grid.Cut
		inner  grid.Cut
		step   int64      // of the result, 0 for lists
		want   []grid.Run // edges, for lists
		sizes  []grid.Run
	}{
		{"regular", 95, grid.Every(50), grid.Every(10), 10, nil, []grid.Run{run(10, 9), run(5, 1)}},
		{"listed", 95, grid.Edges(60, 40), grid.Every(10), 10, nil, []grid.Run{run(10, 9), run(5, 1)}},
		{"as long as the shard", 95, grid.Every(50), grid.Every(50), 50, nil, []grid.Run{run(50, 1), run(45, 1)}},
		{"clipped", 15, grid.Every(10), grid.EveryTrimmed(8), 0, []grid.Run{run(8, 1), run(2, 1), run(8, 1), run(2, 1)},
			[]grid.Run{run(8, 1), run(2, 1), run(5, 1)}},
		{"clipped for nothing", 95, grid.Edges(60, 40), grid.EveryTrimmed(10), 10, nil, []grid.Run{run(10, 9), run(5, 1)}},
		{"longer than a shard", 35, grid.Every(10), grid.EveryTrimmed(80), 10, nil, []grid.Run{run(10, 3), run(5, 1)}},
		{"longer than some shards", 35, grid.Edges(10, 30), grid.EveryTrimmed(20), 0, []grid.Run{run(10, 1), run(20, 1), run(10, 1)}, nil},
		{"a list", 15, grid.Every(10), grid.Edges(3, 5, 2), 0, []grid.Run{run(3, 1), run(5, 1), run(2, 1), run(3, 1), run(5, 1), run(2, 1)}, nil},
		{"a list of equal lengths", 25, grid.Edges(10, 10, 10), grid.Runs(run(5, 2)), 5, nil, []grid.Run{run(5, 5)}},
		{"a list for listed shards", 6, grid.Edges(4, 4), grid.Edges(3, 1), 0, []grid.Run{run(3, 1), run(1, 1), run(3, 1), run(1, 1)},
			[]grid.Run{run(3, 1), run(1, 1), run(2, 1)}},
		{"no extent", 0, grid.Every(10), grid.EveryTrimmed(8), 0, []grid.Run{run(8, 1), run(2, 1)}, nil},
		{"no extent, by a step", 0, grid.Every(10), grid.Every(5), 5, nil, nil},
		{"trimmed shards", 25, grid.EveryTrimmed(10), grid.Every(5), 5, nil, []grid.Run{run(5, 5)}},
		{"trimmed shards, clipped", 25, grid.EveryTrimmed(10), grid.EveryTrimmed(4), 0, []grid.Run{run(4, 2), run(2, 1), run(4, 2), run(2, 1), run(4, 1), run(1, 1)}, nil},
		{"trimmed shards, not one there", 0, grid.EveryTrimmed(10), grid.EveryTrimmed(4), 0, []grid.Run{run(4, 2), run(2, 1)}, nil},
		{"padded shards", 25, grid.Every(10).EncodedAs(grid.Every(12)), grid.Every(4), 0, []grid.Run{run(4, 2), run(2, 1), run(4, 2), run(2, 1), run(4, 2), run(2, 1)}, nil},
		{"padding is a chunk of its own", 25, grid.Every(10).EncodedAs(grid.Every(15)), grid.Every(5), 5, nil, []grid.Run{run(5, 5)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := newAxis(t, tt.extent, tt.shards).Divided(tt.inner)
			if err != nil {
				t.Fatal(err)
			}
			if a.Extent() != tt.extent || a.Step() != tt.step {
				t.Fatalf("extent %d, step %d", a.Extent(), a.Step())
			}
			if got := slices.Collect(a.Edges()); tt.want != nil && !slices.Equal(expand(got), expand(tt.want)) {
				t.Errorf("edges %v, want %v", got, tt.want)
			}
			if got := a.Sizes(); tt.sizes != nil && !slices.Equal(got, tt.sizes) {
				t.Errorf("sizes %v, want %v", got, tt.sizes)
			}
		})
	}
}

func TestDividedRefuses(t *testing.T) {
	racing.Skip(t)
	random := make([]int64, 3000)
	for i := range random {
		random[i] = 2000 + int64(i*i%1999)
	}
	for _, tt := range []struct {
		name   string
		extent int64
		shards grid.Cut
		inner  grid.Cut
		want   error
		says   string
	}{
		{"no multiple", 95, grid.Edges(60, 45), grid.Every(10), grid.ErrInvalid, "shard 1 is stored with 45 elements, which inner chunks of 10 do not divide: " +
			"shards of 40 or 50 would do, or inner chunks of 1, 3, 5 or 15, which divide all shards; inner chunks that are clipped"},
		{"beyond the extent", 5, grid.Edges(10, 45), grid.Every(10), grid.ErrInvalid, "shard 1"},
		{"the step", 0, grid.Every(45), grid.Every(10), grid.ErrInvalid, "shard 0"},
		{"longer than the shard", 95, grid.Every(50), grid.Every(60), grid.ErrInvalid, "shards of 60 would do, or inner chunks of 2, 5, 10, 25 or 50"},
		{"an end that is trimmed", 95, grid.EveryTrimmed(50), grid.Every(10), grid.ErrInvalid, "shard 1 is stored with 45"},
		{"padding", 20, grid.Every(10).EncodedAs(grid.Every(12)), grid.Every(5), grid.ErrInvalid, "stored with 12"},
		{"padding of one", 20, grid.Edges(10, 10).EncodedAs(grid.Edges(10, 12)), grid.Every(5), grid.ErrInvalid, "shard 1 is stored with 12"},
		{"length 0", 20, grid.Every(10), grid.Every(0), grid.ErrInvalid, "at least 1"},
		{"negative length", 20, grid.Every(10), grid.EveryTrimmed(-1), grid.ErrInvalid, "at least 1"},
		{"a list that is too short", 20, grid.Edges(10, 12), grid.Edges(5, 5), grid.ErrInvalid, "inner chunks sum to 10 and have to fill every shard exactly, shard 1 is stored with 12"},
		{"an empty list", 20, grid.Every(10), grid.Edges(), grid.ErrInvalid, "at least one edge"},
		{"encoded", 20, grid.Every(10), grid.Every(5).EncodedAs(grid.Every(6)), grid.ErrInvalid, "encoded"},
		{"an end past 64 bits", math.MaxInt64, grid.Every(10), grid.EveryTrimmed(8), grid.ErrOverflow, ""},
		{"long lists times padding", 1, grid.Edges(random...).EncodedAs(grid.Every(4000)), grid.Edges(slices.Repeat([]int64{1, 3}, 1000)...), grid.ErrUnsupported, "4194304"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newAxis(t, tt.extent, tt.shards).Divided(tt.inner)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("got %v, want %v that says %q", err, tt.want, tt.says)
			}
		})
	}
	g, err := grid.New([]int64{20, 30}, grid.Every(10), grid.Every(15))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Divided(grid.Every(5)); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one cut for two axes: %v", err)
	}
	var on *grid.AxisError
	if _, err := g.Divided(grid.Every(5), grid.Every(4)); !errors.As(err, &on) || on.Axis != 1 {
		t.Errorf("axis 1 does not fit: %v", err)
	}
}

// sharded is an axis whose cells are shards, one by one.
type sharded struct {
	axis         grid.Axis
	edge, stored []int64
}

func drawSharded(t *rapid.T) sharded {
	m := drawModel(t)
	cut := m.cut()
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	longer := func(n int64) int64 { return n + rapid.SampledFrom([]int64{0, 0, 1, 2, 5}).Draw(t, "padding") }
	_, edges := m.cells()
	switch {
	case kind == 1:
		cut = cut.EncodedAs(grid.Every(longer(max(m.step, 1, slices.Max(append(edges, 1))))))
	case kind == 2 && len(edges) > 0:
		stored := slices.Clone(edges)
		for i := range stored {
			stored[i] = longer(stored[i])
		}
		cut = cut.EncodedAs(grid.Edges(stored...))
	case kind == 3 && m.step > 0:
		cut = grid.EveryTrimmed(m.step)
	}
	a, err := grid.NewAxis(m.extent, cut)
	if err != nil {
		t.Fatal(err)
	}
	s := sharded{axis: a, edge: lengths(a), stored: expand(slices.Collect(a.Encoded()))}
	for i, n := range s.stored {
		s.edge[i] = min(s.edge[i], n)
	}
	return s
}

func drawInner(t *rapid.T, stored []int64) (cut grid.Cut, list func(stored int64) []int64) {
	n := rapid.Int64Range(1, 6).Draw(t, "length")
	switch rapid.IntRange(0, 2).Draw(t, "inner") {
	case 0:
		return grid.Every(n), func(stored int64) []int64 {
			if stored%n != 0 {
				return nil
			}
			return slices.Repeat([]int64{n}, int(stored/n))
		}
	case 1:
		return grid.EveryTrimmed(n), func(stored int64) []int64 {
			all := slices.Repeat([]int64{n}, int(stored/n))
			if stored%n > 0 {
				all = append(all, stored%n)
			}
			return all
		}
	}
	sum := n
	if len(stored) > 0 {
		sum = stored[0]
	}
	var all []int64
	for left := sum; left > 0; left -= all[len(all)-1] {
		all = append(all, rapid.Int64Range(1, left).Draw(t, "piece"))
	}
	return grid.Edges(all...), func(stored int64) []int64 {
		if stored != sum {
			return nil
		}
		return all
	}
}

// TestDividedAgainstModel cuts one inner chunk after another and compares every cell.
func TestDividedAgainstModel(t *testing.T) {
	listed, stepped, refused := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawSharded(t)
		cut, pieces := drawInner(t, s.stored)
		var want []grid.Cell
		at, fits := int64(0), true
		for i, stored := range s.stored {
			within := int64(0)
			inner := pieces(stored)
			fits = fits && inner != nil
			for _, n := range inner {
				if within < s.edge[i] {
					edge := min(n, s.edge[i]-within)
					start := at + within
					want = append(want, grid.Cell{Index: int64(len(want)), Start: start, Edge: edge, Logical: max(0, min(edge, s.axis.Extent()-start)), Encoded: n})
				}
				within += n
			}
			at += s.edge[i]
		}
		if step := s.axis.Step(); step > 0 && !s.axis.IsEncoded() {
			fits = fits && pieces(step) != nil // even if no shard is that long
		}
		a, err := s.axis.Divided(cut)
		if len(s.stored) == 0 {
			return // the tables of TestDivided cover the number of cells
		}
		if (err == nil) != fits {
			t.Fatalf("shards %v stored with %v: %v, want them to fit %v", s.edge, s.stored, err, fits)
		}
		if err != nil {
			refused++
			return
		}
		if stepped++; !a.IsRegular() {
			stepped, listed = stepped-1, listed+1
			if a.Cells() != int64(len(want)) {
				t.Fatalf("%d cells, want %d", a.Cells(), len(want))
			}
		}
		compareCells(t, s.axis, a, want)
	})
	t.Logf("%d lists, %d steps, %d refused", listed, stepped, refused)
	if listed == 0 || stepped == 0 || refused == 0 {
		t.Error("one of them never came: the test tests too little")
	}
}

// compareCells compares the cells of an axis with the wanted ones. A regular axis only
// has cells that overlap the array, with edges of one length.
func compareCells(t *rapid.T, shards, a grid.Axis, want []grid.Cell) {
	for k, w := range want {
		c, ok := a.Cell(int64(k))
		if a.IsRegular() {
			if w.Logical == 0 {
				if ok {
					t.Fatalf("cell %d is there", k)
				}
				continue
			}
			c.Edge = w.Edge
		}
		if !ok || c != w {
			t.Fatalf("cell %d is %+v (%v), want %+v", k, c, ok, w)
		}
		if w.Logical > 0 {
			first, _, _ := shards.Locate(c.Start)
			last, _, ok := shards.Locate(c.Start + c.Logical - 1)
			if !ok || first != last {
				t.Fatalf("cell %+v lies in shards %d to %d", c, first, last)
			}
		}
	}
	if n := a.NumRuns(); n < int64(len(slices.Collect(a.Edges()))) || n < int64(len(slices.Collect(a.Encoded()))) || n+1 < int64(len(a.Sizes())) {
		t.Fatalf("%d runs are too few", n)
	}
}

// TestDividedLists has more shards of one length than are written out, so that lists
// repeat.
func TestDividedLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) grid.Run {
			return run(rapid.Int64Range(1, 12).Draw(t, "length"), rapid.Int64Range(1, 60).Draw(t, "count"))
		}), 1, 5).Draw(t, "runs")
		extent := rapid.Int64Range(0, sumOf(expand(runs))).Draw(t, "extent")
		n := rapid.Int64Range(1, 7).Draw(t, "length")
		shards, err := grid.NewAxis(extent, grid.Runs(runs...))
		if err != nil {
			t.Fatal(err)
		}
		a, err := shards.Divided(grid.EveryTrimmed(n))
		if err != nil {
			t.Fatal(err)
		}
		var edges []int64
		for _, shard := range expand(runs) {
			for ; shard > n; shard -= n {
				edges = append(edges, n)
			}
			edges = append(edges, shard)
		}
		b, err := grid.NewAxis(extent, grid.Edges(edges...))
		if err != nil {
			t.Fatal(err)
		}
		if a.IsRegular() {
			if !slices.Equal(expand(a.Sizes()), expand(b.Sizes())) {
				t.Fatalf("sizes %v, want %v", a.Sizes(), b.Sizes())
			}
			return
		}
		checkAxis(t, a, model{extent, 0, edges})
		if !a.Equal(b) || !b.Equal(a) {
			t.Fatal("it differs from the list that was read at once")
		}
		i := rapid.IntRange(0, len(edges)-1).Draw(t, "changed")
		j := rapid.IntRange(0, len(edges)-1).Draw(t, "with")
		edges[i], edges[j] = edges[j], edges[i]
		c, err := grid.NewAxis(extent, grid.Edges(edges...))
		if err != nil {
			t.Fatal(err)
		}
		if same := edges[i] == edges[j]; a.Equal(c) != same || c.Equal(a) != same {
			t.Fatalf("edges %d and %d changed places, and equality is %v", i, j, a.Equal(c))
		}
		first := min(i, j) + 1
		if edges[i] == edges[j] {
			first = len(edges) + 1
		}
		cells := rapid.IntRange(0, len(edges)).Draw(t, "cells")
		if got := grid.OfAxis(a).SameCells(grid.OfAxis(c), grid.Box{{Stop: int64(cells)}}); got != (cells < first) {
			t.Fatalf("the first %d cells of %d, of which %d are the same: %v", cells, len(edges), first-1, got)
		}
	})
}

// TestDividedHuge has axes with as many chunks as an int64 can count. They must take
// little memory, and must refuse to be listed.
func TestDividedHuge(t *testing.T) {
	shards := newAxis(t, 9e18, grid.Every(10))
	padded := newAxis(t, 7e18, grid.Every(10).EncodedAs(grid.Every(12)))
	list := newAxis(t, 9e18, grid.Runs(run(10, 1e17), run(16, 5e17)))
	for _, tt := range []struct {
		name   string
		shards grid.Axis
		inner  grid.Cut
		cell   int64
		want   grid.Cell
	}{
		{"clipped", shards, grid.EveryTrimmed(8), 1e18 + 1, grid.Cell{Index: 1e18 + 1, Start: 5e18 + 8, Edge: 2, Logical: 2, Encoded: 2}},
		{"listed", shards, grid.Edges(2, 3, 5), 21e17 + 1, grid.Cell{Index: 21e17 + 1, Start: 7e18 + 2, Edge: 3, Logical: 3, Encoded: 3}},
		{"padded", padded, grid.Every(4), 3e17 + 2, grid.Cell{Index: 3e17 + 2, Start: 1e18 + 8, Edge: 2, Logical: 2, Encoded: 4}},
		{"padded list", padded, grid.Edges(5, 7), 2e17 + 1, grid.Cell{Index: 2e17 + 1, Start: 1e18 + 5, Edge: 5, Logical: 5, Encoded: 7}},
		{"two lengths", list, grid.EveryTrimmed(6), 2e17 + 2, grid.Cell{Index: 2e17 + 2, Start: 1e18 + 12, Edge: 4, Logical: 4, Encoded: 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			a, err := tt.shards.Divided(tt.inner)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 16<<10 {
				t.Errorf("%d bytes were allocated", used)
			}
			if c, ok := a.Cell(tt.cell); !ok || c != tt.want {
				t.Errorf("cell %+v, want %+v", c, tt.want)
			}
			if k, within, ok := a.Locate(tt.want.Start + 1); !ok || k != tt.cell || within != 1 {
				t.Errorf("located in chunk %d at %d", k, within)
			}
			refuseToList(t, a, tt.name == "padded list")
			again, err := tt.shards.Divided(tt.inner)
			if err != nil || !a.Equal(again) || !grid.OfAxis(a).SameCells(grid.OfAxis(again), grid.Box{{Stop: a.Chunks()}}) {
				t.Errorf("made again it differs (%v)", err)
			}
			if err := a.MultipleOf(4); (err == nil) != (tt.name == "padded") {
				t.Errorf("multiple of 4: %v", err)
			}
		})
	}
}

// refuseToList checks that whatever iterates over all cells of an axis returns an error.
func refuseToList(t *testing.T, a grid.Axis, even bool) {
	t.Helper()
	if a.NumRuns() < 1e15 || a.Sizes() != nil {
		t.Fatalf("%d runs, %d sizes", a.NumRuns(), len(a.Sizes()))
	}
	small := newAxis(t, 10, grid.Edges(10))
	for name, change := range map[string]func() (grid.Axis, error){
		"refine":      func() (grid.Axis, error) { return newAxis(t, a.Extent(), grid.Every(7)).Refine(a) },
		"refine by":   func() (grid.Axis, error) { return a.Refine(newAxis(t, a.Extent(), grid.Every(7))) },
		"restrict":    func() (grid.Axis, error) { return a.Restrict(grid.Interval{Start: 3, Stop: 1e18}) },
		"merge":       func() (grid.Axis, error) { return a.Merged(grid.Interval{Start: 1, Stop: 3}) },
		"merge up to": func() (grid.Axis, error) { return a.MergedUpTo(100) },
		"concat":      func() (grid.Axis, error) { return small.Concat(a) },
		"trim":        func() (grid.Axis, error) { return a.Shrunk(a.Extent()-20, grid.TrimEdges) },
		"plan": func() (grid.Axis, error) {
			b, _ := a.Resized(1e18)
			return b.Grown(2e18, grid.Preplanned(run(1, 4e18)))
		},
		"divide further": func() (grid.Axis, error) { return a.Divided(grid.EveryTrimmed(3)) },
	} {
		if _, err := change(); !errors.Is(err, grid.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := a.Resized(a.Covered() + 3)
	if err != nil || b.Cells() != a.Cells()+1 || b.Sizes() != nil {
		t.Errorf("growth by a cell: %d cells (%v)", b.Cells(), err)
	}
	if err == nil && (b.Equal(a) || grid.OfAxis(a).SameCells(grid.OfAxis(b), grid.Box{{Stop: a.Cells() + 1}}) ||
		!even && !grid.OfAxis(a).SameCells(grid.OfAxis(b), grid.Box{{Stop: a.Cells()}})) {
		t.Error("with another cell it is the same, or its cells are not")
	}
}

// TestDividedTwice divides inner chunks again, as shards within shards do.
func TestDividedTwice(t *testing.T) {
	a := newAxis(t, 95, grid.Every(40))
	a, err := a.Divided(grid.Edges(24, 16))
	if err != nil {
		t.Fatal(err)
	}
	if a, err = a.Divided(grid.EveryTrimmed(10)); err != nil {
		t.Fatal(err)
	}
	if got, want := expand(a.Sizes()), []int64{10, 10, 4, 10, 6, 10, 10, 4, 10, 6, 10, 5}; !slices.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
	if a, err = a.Divided(grid.Every(2)); err != nil || a.Step() != 2 {
		t.Errorf("step %d (%v), want 2", a.Step(), err)
	}
}

// TestShardedFacts compares with the grids of sharded arrays as zarr-python 3.4.1 opens
// them.
func TestShardedFacts(t *testing.T) {
	data, err := os.ReadFile("testdata/sharded_facts.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Rows []struct {
			fact
			Inner []int64   `json:"inner_chunk_shape"`
			Read  [][]int64 `json:"read_chunk_sizes"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, f := range file.Rows {
		t.Run(f.ID, func(t *testing.T) {
			shape, _ := integers(f.Shape)
			var doc struct {
				Name          string
				Configuration json.RawMessage
			}
			if err := json.Unmarshal(f.ChunkGrid, &doc); err != nil {
				t.Fatal(err)
			}
			g, err := grid.Parse(shape, doc.Name, doc.Configuration, nil)
			var cuts []grid.Cut
			for _, n := range f.Inner {
				cuts = append(cuts, grid.Every(n))
			}
			if err == nil {
				g, err = g.Divided(cuts...)
			}
			if (err == nil) != f.OK {
				t.Fatalf("got %v, want it to be accepted %v", err, f.OK)
			}
			if err != nil {
				return
			}
			accepted++
			if !g.IsRegular() || g.Name() != "regular" {
				t.Errorf("name %s", g.Name())
			}
			for i, sizes := range g.Sizes() {
				if !slices.Equal(expand(sizes), f.Read[i]) {
					t.Errorf("axis %d: sizes %v, want %v", i, sizes, f.Read[i])
				}
			}
		})
	}
	t.Logf("%d of %d grids accepted", accepted, len(file.Rows))
	if accepted < 26 || len(file.Rows) < 37 {
		t.Error("rows are missing")
	}
}

func BenchmarkDivided(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	edges, tens := make([]int64, 1_000_000), make([]int64, 1_000_000)
	for i := range edges {
		edges[i] = 1 + r.Int64N(100_000)
		tens[i] = 10 * edges[i]
	}
	huge, err := grid.NewAxis(9e18, grid.Every(10))
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name   string
		shards grid.Axis
		inner  grid.Cut
	}{
		{"edges=1e6/every", axisOf(b, tens), grid.Every(10)},
		{"edges=1e6/trimmed", axisOf(b, edges), grid.EveryTrimmed(64)},
		{"shards=9e17/trimmed", huge, grid.EveryTrimmed(8)},
		{"shards=9e17/every", huge, grid.Every(5)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			var a grid.Axis
			for b.Loop() {
				var err error
				if a, err = bench.shards.Divided(bench.inner); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(heldBytes(&a))/float64(max(1, bench.shards.NumRuns())), "held-B/run")
		})
	}
}

// The shards have 60 and 40 elements along axis 0. Inner chunks must divide both lengths,
// unless they are clipped at the end of a shard.
func ExampleGrid_Divided() {
	shards, err := grid.New([]int64{95, 20}, grid.Edges(60, 40), grid.Every(20))
	if err != nil {
		panic(err)
	}
	inner, err := shards.Divided(grid.Every(10), grid.Every(5))
	if err != nil {
		panic(err)
	}
	fmt.Println(shards.Chunks(), "shards,", inner.Chunks(), "inner chunks; along axis 0", inner.Sizes()[0])
	_, err = shards.Divided(grid.Every(8), grid.Every(5))
	fmt.Println(err)
	clipped, err := shards.Divided(grid.EveryTrimmed(8), grid.Every(5))
	if err != nil {
		panic(err)
	}
	fmt.Println("clipped at the shards' ends", clipped.Sizes()[0])
	// Output:
	// [2 1] shards, [10 4] inner chunks; along axis 0 [{10 9} {5 1}]
	// axis 0: invalid chunk grid: shard 0 is stored with 60 elements, which inner chunks of 8 do not divide: shards of 56 or 64 would do, or inner chunks of 1, 2, 4, 5 or 10, which divide all shards; inner chunks that are clipped at the end of a shard are an experiment
	// clipped at the shards' ends [{8 7} {4 1} {8 4} {3 1}]
}

func TestMultipleOf(t *testing.T) {
	huge := int64(1) << 62
	for _, tt := range []struct {
		name   string
		extent int64
		cut    grid.Cut
		n      int64
		says   string // "" where it is one
	}{
		{"a step", 95, grid.Every(50), 10, ""},
		{"edges", 95, grid.Edges(60, 40), 20, ""},
		{"edges beyond", 5, grid.Edges(60, 45), 10, "shard 1 is stored with 45 elements, which inner chunks of 10 do not divide: shards of 40 or 50 would do, or inner chunks of 1, 3, 5 or 15,"},
		{"all divisors", 45, grid.Every(45), 10, "inner chunks of 1, 3, 5, 9 or 15, which"},
		{"the nearest divisors", 720, grid.Every(720), 7, "inner chunks of 4, 5, 6, 8 or 9, which"},
		{"the first of a run", 50, grid.Runs(run(4, 10), run(6, 3)), 4, "shard 10 is stored with 6"},
		{"behind a pattern that repeats", 600, grid.Edges(append(slices.Repeat([]int64{2, 4}, 100), 5)...), 2, "shard 200 is stored with 5"},
		{"nothing but 1", 7, grid.Edges(4, 3), 2, "shards of 2 or 4 would do, or inner chunks of 1, which"},
		{"shorter", 7, grid.Every(7), 10, "shards of 10 would do, or inner chunks of 1 or 7, which"},
		{"nothing above", 7, grid.Edges(math.MaxInt64), huge, fmt.Sprintf("shards of %d would do", huge)},
		{"large divisors", 7, grid.Every(3 << 60), 7, "inner chunks of 2, 3, 4, 6 or 8, which"},
		{"what is stored", 20, grid.Every(10).EncodedAs(grid.Every(12)), 6, ""},
		{"not the edges", 20, grid.Every(10).EncodedAs(grid.Every(12)), 5, "shard 0 is stored with 12"},
		{"what is stored of one", 20, grid.Edges(10, 10).EncodedAs(grid.Edges(10, 12)), 5, "shard 1 is stored with 12"},
		{"trimmed", 20, grid.EveryTrimmed(10), 5, ""},
		{"trimmed, the last", 27, grid.EveryTrimmed(10), 5, "shard 2 is stored with 7 elements"},
		{"trimmed, the step", 5, grid.EveryTrimmed(12), 5, "shard 0 is stored with 12 elements"},
		{"no extent", 0, grid.Every(10), 3, "shard 0"},
		{"1", 9, grid.Edges(2, 3, 5), 1, ""},
		{"0", 9, grid.Every(3), 0, "at least 1, got 0"},
		{"negative", 9, grid.Every(3), math.MinInt64, "at least 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := newAxis(t, tt.extent, tt.cut).MultipleOf(tt.n)
			if tt.says == "" && err != nil || tt.says != "" && (!errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), tt.says)) {
				t.Fatalf("got %v, want one that says %q", err, tt.says)
			}
		})
	}
}

// TestMultipleOfAgainstModel compares with a loop over all cells.
func TestMultipleOfAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSharded(t)
		n := rapid.Int64Range(1, 6).Draw(t, "length")
		all := s.stored
		if step := s.axis.Step(); step > 0 && !s.axis.IsEncoded() {
			all = append(slices.Clone(all), step)
		}
		if len(all) == 0 {
			return
		}
		want := !slices.ContainsFunc(all, func(m int64) bool { return m%n != 0 })
		if err := s.axis.MultipleOf(n); (err == nil) != want {
			t.Fatalf("cells of %v: %v, want multiples of %d: %v", all, err, n, want)
		}
	})
}

func TestFittingLengths(t *testing.T) {
	for _, tt := range []struct {
		name         string
		extent       int64
		cut          grid.Cut
		length, n    int64
		below, above int64
	}{
		{"fits", 60, grid.Edges(60), 20, 10, 20, 20},
		{"between", 60, grid.Edges(60), 25, 10, 20, 30},
		{"too short", 60, grid.Edges(60), 7, 10, 0, 10},
		{"fills what is open", 95, grid.Edges(60, 40), 5, 10, 5, 5},
		{"part of it", 95, grid.Edges(60, 40), 3, 10, 3, 3},
		{"and more", 95, grid.Edges(60, 40), 7, 10, 5, 15},
		{"and a shard", 95, grid.Edges(60, 40), 15, 10, 15, 15},
		{"a step follows", 60, grid.Every(60), 7, 10, 7, 7},
		{"trimmed", 60, grid.EveryTrimmed(20), 27, 10, 20, 30},
		{"as long as all are stored", 60, grid.Edges(15, 20, 25).EncodedAs(grid.Every(30)), 7, 10, 7, 7},
		{"longer than all are stored", 60, grid.Edges(15, 20, 25).EncodedAs(grid.Every(30)), 33, 10, 30, 40},
		{"up to what all are stored with", 60, grid.Edges(15, 20, 25).EncodedAs(grid.Every(36)), 38, 12, 36, 48},
		{"nothing above", math.MaxInt64 - 5, grid.Edges(math.MaxInt64-7, 2), 5, 10, 0, 0},
		{"too long", 10, grid.Edges(10), math.MaxInt64, 4, math.MaxInt64 - 11, 0},
		{"no length", 10, grid.Edges(10), 0, 4, 0, 0},
		{"negative", 10, grid.Edges(10), -4, 4, 0, 0},
		{"no inner chunk", 10, grid.Edges(10), 4, 0, 0, 0},
	} {
		if below, above := newAxis(t, tt.extent, tt.cut).FittingLengths(tt.length, tt.n); below != tt.below || above != tt.above {
			t.Errorf("%s: %d and %d, want %d and %d", tt.name, below, above, tt.below, tt.above)
		}
	}
}

// TestFittingLengthsAgainstModel tries one length after another.
func TestFittingLengthsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSharded(t)
		n := rapid.Int64Range(1, 9).Draw(t, "inner")
		if s.axis.MultipleOf(n) != nil {
			t.Skip("the inner chunks do not divide the shards")
		}
		fits := func(length int64) bool {
			a, err := s.axis.Grown(s.axis.Extent()+length, grid.AppendOne())
			return err == nil && a.MultipleOf(n) == nil
		}
		length := rapid.Int64Range(1, 60).Draw(t, "length")
		below, above := length, length
		for below > 0 && !fits(below) {
			below--
		}
		for !fits(above) {
			if above++; above > length+1000 {
				t.Skip("trimmed shards that cannot grow at all")
			}
		}
		if b, a := s.axis.FittingLengths(length, n); b != below || a != above {
			t.Fatalf("shards %v stored with %v, extent %d: by %d in inner chunks of %d fit %d and %d, want %d and %d",
				s.edge, s.stored, s.axis.Extent(), length, n, b, a, below, above)
		}
	})
}
