// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// elements returns the indices that a slice of one axis selects, by brute force.
func elements(start, stop, step int64) []int64 {
	var e []int64
	for i := start; i < stop; i += step {
		e = append(e, i)
	}
	return e
}

// TestPlanAgainstModel checks that the parts of a plan name each selected element once,
// at its place, and only chunks that hold one.
func TestPlanAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shape []int64
		var cuts []grid.Cut
		var want [][]int64
		basic := selection.Basic{}
		for range rapid.IntRange(0, 3).Draw(t, "rank") {
			edges := rapid.SliceOfN(rapid.Int64Range(1, 6), 1, 6).Draw(t, "edges")
			sum := int64(0)
			for _, n := range edges {
				sum += n
			}
			extent := rapid.Int64Range(0, sum).Draw(t, "extent")
			cut := grid.Edges(edges...)
			if rapid.Bool().Draw(t, "every") {
				cut = grid.Every(edges[0])
			}
			shape, cuts = append(shape, extent), append(cuts, cut)
			start := rapid.Int64Range(0, extent).Draw(t, "start")
			stop := rapid.Int64Range(0, extent).Draw(t, "stop")
			step := rapid.Int64Range(1, 9).Draw(t, "step")
			basic = append(basic, selection.Stepped(start, stop, step))
			want = append(want, elements(start, stop, step))
		}
		g, err := grid.New(shape, cuts...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := selection.Resolve(basic, shape)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, g, r, want)
		checkSeek(t, g, r)
	})
}

// TestSeekList checks that a plan finds the parts of lists, in any order and with
// repeats.
func TestSeekList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := []int64{rapid.Int64Range(1, 20).Draw(t, "n"), rapid.Int64Range(1, 20).Draw(t, "m")}
		var sel selection.Orthogonal
		for _, n := range shape {
			sel = append(sel, selection.List(rapid.SliceOfN(rapid.Int64Range(0, n-1), 0, 6).Draw(t, "list")...))
		}
		g, err := grid.New(shape, grid.Every(rapid.Int64Range(1, 7).Draw(t, "edge")), grid.Every(3))
		if err != nil {
			t.Fatal(err)
		}
		r, err := selection.Resolve(sel, shape)
		if err != nil {
			t.Fatal(err)
		}
		checkSeek(t, g, r)
	})
}

// checkSeek checks that a plan seeks just the parts that it visits.
func checkSeek(t *rapid.T, g *grid.Grid, r *selection.Resolved) {
	visited := map[string]string{}
	text := func(p *strided.Visit) string {
		if p.Picks != nil {
			return fmt.Sprint(p.Part.Start, p.Step, p.Count, p.Place, p.Picks.Lists)
		}
		return fmt.Sprint(p.Part.Start, p.Step, p.Count, p.Place)
	}
	plan, part := subset.NewPlan((*subset.Elements)(r), g), strided.NewVisit(g.Rank())
	for plan.Next(part) {
		visited[fmt.Sprint(part.Chunk)] = text(part)
	}
	again := subset.NewPlan((*subset.Elements)(r), g)
	if !again.Seeks() {
		t.Fatal("the plan does not seek")
	}
	for c := range g.All() {
		got, is := "", again.Seek(c.Index, part)
		if is {
			got = text(part)
		}
		if want := visited[fmt.Sprint(c.Index)]; got != want {
			t.Fatalf("chunk %v: %q, want %q", c.Index, got, want)
		}
	}
}

func checkPlan(t *rapid.T, g *grid.Grid, r *selection.Resolved, want [][]int64) {
	rank := g.Rank()
	plan, part := subset.NewPlan((*subset.Elements)(r), g), strided.NewVisit(rank)
	touched := (*subset.Elements)(r).Touched(g)
	seen := map[string]bool{}
	chunks := map[string]bool{}
	for plan.Next(part) {
		if !touched.Contains(part.Chunk) {
			t.Fatalf("chunk %v lies outside %v", part.Chunk, touched)
		}
		if key := fmt.Sprint(part.Chunk); chunks[key] {
			t.Fatalf("chunk %v was planned twice", part.Chunk)
		} else {
			chunks[key] = true
		}
		c, ok := g.Chunk(part.Chunk)
		if !ok {
			t.Fatalf("no chunk %v", part.Chunk)
		}
		for offset := range grid.BoxOf(part.Count).Indices() {
			place := make([]int64, rank)
			for i := range place {
				place[i] = part.Place[i] + offset[i]
				element := c.Start[i] + part.Start[i] + offset[i]*part.Step[i]
				if element != want[i][place[i]] {
					t.Fatalf("axis %d: element %d at place %d, want %d", i, element, place[i], want[i][place[i]])
				}
			}
			if seen[fmt.Sprint(place)] {
				t.Fatalf("place %v was planned twice", place)
			}
			seen[fmt.Sprint(place)] = true
		}
	}
	if plan.Next(part) {
		t.Fatal("a plan that ended began anew")
	}
	if int64(len(seen)) != r.Len() {
		t.Fatalf("%d elements were planned, %d selected", len(seen), r.Len())
	}
}

func TestPlanDoesNotAllocatePerChunk(t *testing.T) {
	g, err := grid.New([]int64{10_000}, grid.Chunks(1)...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := selection.Resolve(nil, g.Shape())
	if err != nil {
		t.Fatal(err)
	}
	part := strided.NewVisit(1)
	if n := testing.AllocsPerRun(3, func() {
		for plan := subset.NewPlan((*subset.Elements)(r), g); plan.Next(part); {
		}
	}); n > 3 {
		t.Errorf("%v allocations for 10,000 chunks", n)
	}
}

func TestResolve(t *testing.T) {
	shape := []int64{6, 4}
	for _, tt := range []struct {
		name string
		sel  selection.Selection
		want []int64 // nil is an error
		axis int
	}{
		{"everything", nil, []int64{6, 4}, 0},
		{"no items", selection.Basic{}, []int64{6, 4}, 0},
		{"box", selection.Box{{1, 3}, {0, 4}}, []int64{2, 4}, 0},
		{"empty box", selection.Box{{6, 6}, {0, 4}}, []int64{0, 4}, 0},
		{"index", selection.Basic{selection.At(-1)}, []int64{4}, 0},
		{"two indices", selection.Basic{selection.At(5), selection.At(3)}, []int64{}, 0},
		{"ellipsis", selection.Basic{selection.Ellipsis(), selection.At(0)}, []int64{6}, 0},
		{"empty ellipsis", selection.Basic{selection.At(0), selection.Ellipsis(), selection.At(0)}, []int64{}, 0},
		{"clipped", selection.Basic{selection.Span(2, 100)}, []int64{4, 4}, 0},
		{"from the end", selection.Basic{selection.Span(-2, selection.Open)}, []int64{2, 4}, 0},
		{"backwards is empty", selection.Basic{selection.Span(5, 0)}, []int64{0, 4}, 0},
		{"steps", selection.Basic{selection.Stepped(selection.Open, selection.Open, 4)}, []int64{2, 4}, 0},
		{"huge step", selection.Basic{selection.Stepped(1, selection.Open, 1<<62)}, []int64{1, 4}, 0},
		{"box beyond", selection.Box{{0, 6}, {0, 5}}, nil, 1},
		{"box backwards", selection.Box{{3, 1}, {0, 4}}, nil, 0},
		{"negative box", selection.Box{{-1, 1}, {0, 4}}, nil, 0},
		{"box of another rank", selection.Box{{0, 6}}, nil, -1},
		{"index beyond", selection.Basic{selection.All(), selection.At(4)}, nil, 1},
		{"index before", selection.Basic{selection.At(-7)}, nil, 0},
		{"too many", selection.Basic{selection.At(0), selection.At(0), selection.At(0)}, nil, -1},
		{"two ellipses", selection.Basic{selection.Ellipsis(), selection.Ellipsis()}, nil, -1},
		{"no step", selection.Basic{selection.Stepped(0, 1, 0)}, nil, 0},
		{"empty and backwards", selection.Basic{selection.Stepped(0, 1, -1)}, []int64{0, 4}, 0},
		{"reversed", selection.Basic{selection.Stepped(selection.Open, selection.Open, -1)}, []int64{6, 4}, 0},
		{"backwards", selection.Basic{selection.Stepped(-1, -100, -4)}, []int64{2, 4}, 0},
		{"backwards to the first", selection.Basic{selection.Stepped(100, 0, -2)}, []int64{3, 4}, 0},
		{"huge step backwards", selection.Basic{selection.Stepped(4, selection.Open, -1<<62)}, []int64{1, 4}, 0},
		{"list in basic", selection.Basic{selection.List(1)}, nil, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := selection.Resolve(tt.sel, shape)
			if tt.want != nil {
				if err != nil || !slices.Equal(r.Shape(), tt.want) {
					t.Fatalf("got %v, %v", r, err)
				}
				return
			}
			var on *grid.AxisError
			if !errors.Is(err, selection.ErrInvalid) || errors.As(err, &on) != (tt.axis >= 0) || on != nil && on.Axis != tt.axis {
				t.Errorf("%v does not name axis %d", err, tt.axis)
			}
		})
	}
}

func TestTooManyElements(t *testing.T) {
	if _, err := selection.Resolve(nil, []int64{1 << 32, 1 << 32}); !errors.Is(err, selection.ErrInvalid) {
		t.Errorf("2^64 elements: %v", err)
	}
}

// TestLayer cuts random selections into slabs of one layer and checks that no two slabs
// touch the same chunk. If chunks are cut into inner chunks, slabs of one layer of these
// must not touch an inner chunk twice.
func TestLayer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 3).Draw(t, "rank")
		shape, cuts, inner := make([]int64, rank), make([]grid.Cut, rank), make([]grid.Cut, rank)
		sel := make(selection.Basic, rank)
		for i := range shape {
			shape[i] = rapid.Int64Range(1, 12).Draw(t, "length")
			n := rapid.Int64Range(1, 4).Draw(t, "inner")
			cuts[i], inner[i] = grid.Every(n*rapid.Int64Range(1, 3).Draw(t, "chunk")), grid.Every(n)
			start := rapid.Int64Range(0, shape[i]-1).Draw(t, "start")
			stop := rapid.Int64Range(start+1, shape[i]).Draw(t, "stop")
			sel[i] = selection.Stepped(start, stop, rapid.SampledFrom([]int64{1, 1, 2, 3}).Draw(t, "step"))
			if rapid.Bool().Draw(t, "backwards") {
				sel[i] = selection.Stepped(stop-1, start-1, -1)
				if start == 0 {
					sel[i] = selection.Span(start, stop)
				}
			}
		}
		g, err := grid.New(shape, cuts...)
		if err != nil {
			t.Fatal(err)
		}
		fine, err := g.Divided(inner...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := selection.Resolve(sel, shape)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []*grid.Grid{g, fine} {
			chunk, layer := (*subset.Elements)(r).Layer(cut, 8)
			if chunk < 8 || layer < chunk {
				t.Fatalf("a chunk of %d bytes, a layer of %d", chunk, layer)
			}
			touchedOnce(t, r, g, fine, cut, layer)
		}
	})
}

// touchedOnce fails if two slabs touch the same chunk of a grid.
func touchedOnce(t *rapid.T, r *selection.Resolved, g, fine, cut *grid.Grid, layer int64) {
	seen := map[string]bool{}
	e := (*subset.Elements)(r)
	for places := range e.Slabs(g, 8, layer, fine) {
		plan := subset.NewPlan(e.Part(places), cut)
		p := strided.NewVisit(cut.Rank())
		for plan.Next(p) {
			key := ""
			for _, k := range p.Chunk {
				key += string(rune('0' + k))
			}
			if seen[key] {
				t.Fatalf("chunk %v is touched twice", p.Chunk)
			}
			seen[key] = true
		}
	}
}
