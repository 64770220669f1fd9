// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// TestGridBox selects with the box of a chunk, and refuses types that only look like
// selections.
func TestGridBox(t *testing.T) {
	box := grid.Box{{Start: 1, Stop: 3}, {Start: 0, Stop: 4}}
	got, err := selection.Resolve(selection.BoxOf(box), []int64{6, 4})
	if err != nil {
		t.Fatal(err)
	}
	want, err := selection.Resolve(selection.Box{{1, 3}, {0, 4}}, []int64{6, 4})
	if err != nil || !slices.Equal(got.Shape(), want.Shape()) || got.Len() != want.Len() {
		t.Errorf("shape %v, want %v (%v)", got.Shape(), want.Shape(), err)
	}
	for _, sel := range []selection.Selection{selection.BoxOf(grid.Box{}), selection.BoxOf(grid.Box{{Start: 0, Stop: 7}, {}})} {
		if _, err := selection.Resolve(sel, []int64{6, 4}); !errors.Is(err, selection.ErrInvalid) {
			t.Errorf("%T %v: %v", sel, sel, err)
		}
	}
}

// fatal is a *testing.T or a *rapid.T.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// planned walks a plan. It returns the element that goes to each place of the result, and
// the number of chunks visited. It checks that chunks come in C order, each once.
func planned(t fatal, g *grid.Grid, r *selection.Resolved) (elements []string, chunks int) {
	t.Helper()
	elements = make([]string, r.Len())
	part, last := strided.NewVisit(g.Rank()), []int64(nil)
	for plan := subset.NewPlan((*subset.Elements)(r), g); plan.Next(part); chunks++ {
		if last != nil && slices.Compare(last, part.Chunk) >= 0 {
			t.Fatalf("chunk %v after %v", part.Chunk, last)
		}
		last = slices.Clone(part.Chunk)
		cell, ok := g.Chunk(part.Chunk)
		if !ok {
			t.Fatalf("no chunk %v", part.Chunk)
		}
		place := int64(-1)
		for _, p := range part.Picks.Points {
			if p.Place <= place {
				t.Fatalf("place %d after %d", p.Place, place)
			}
			place = p.Place
			at, n := make([]int64, g.Rank()), p.At
			for i := len(at) - 1; i >= 0; i-- {
				at[i] = cell.Start[i] + n%cell.Encoded[i]
				n /= cell.Encoded[i]
			}
			elements[p.Place] = fmt.Sprint(at)
		}
	}
	return elements, chunks
}

// TestPointsOfHugeGrids plans points of grids with more chunks than an int64 counts.
func TestPointsOfHugeGrids(t *testing.T) {
	g, err := grid.New([]int64{1 << 50, 1 << 40, 1 << 60}, grid.Chunks(1, 3, 1<<10)...)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "points")
		points, want := make(selection.Points, 3), make([]string, n)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		chunks := map[string]bool{}
		for k := range n {
			at, chunk := make([]int64, 3), make([]int64, 3)
			for i, extent := range g.Shape() {
				at[i] = r.Int64N(extent)
				if r.IntN(2) == 0 {
					at[i] = extent - 1 - at[i]%4
				}
				points[i].Data = append(points[i].Data, at[i])
				chunk[i], _, _ = g.Axis(i).Locate(at[i])
			}
			want[k] = fmt.Sprint(at)
			chunks[fmt.Sprint(chunk)] = true
		}
		res, err := selection.Resolve(points, g.Shape())
		if err != nil {
			t.Fatal(err)
		}
		got, visited := planned(t, g, res)
		if !slices.Equal(got, want) || visited != len(chunks) {
			t.Fatalf("planned %v in %d chunks, want %v in %d", got, visited, want, len(chunks))
		}
	})
}

// TestLargeMasks plans masks of many stretches, whole and in parts.
func TestLargeMasks(t *testing.T) {
	for _, share := range []float64{0.001, 0.3, 1} {
		shape := []int64{61, 1, 97}
		g, err := grid.New(shape, grid.Every(20), grid.Every(3), grid.Edges(1, 50, 7, 60))
		if err != nil {
			t.Fatal(err)
		}
		m := selection.Mask{Shape: shape, Data: make([]bool, 61*97)}
		var want []string
		r := rand.New(rand.NewPCG(1, 1))
		for i := range m.Data {
			if m.Data[i] = r.Float64() < share; m.Data[i] {
				want = append(want, fmt.Sprint([]int64{int64(i / 97), 0, int64(i % 97)}))
			}
		}
		res, err := selection.Resolve(m, shape)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := planned(t, g, res); !slices.Equal(got, want) {
			t.Fatalf("share %g: planned %v, want %v", share, got, want)
		}
		for from := int64(0); from < res.Len(); from += 700 {
			to := min(from+700, res.Len())
			if got, _ := planned(t, g, (*selection.Resolved)((*subset.Elements)(res).Part(grid.Box{{Start: from, Stop: to}}))); !slices.Equal(got, want[from:to]) {
				t.Fatalf("share %g: part from %d on: planned %v, want %v", share, from, got, want[from:to])
			}
		}
	}
}

// TestPickedErrors checks that errors of lists, points and masks name the axis.
func TestPickedErrors(t *testing.T) {
	shape := []int64{6, 4}
	for _, tt := range []struct {
		name string
		sel  selection.Selection
		axis int // -1 if no axis is at fault
	}{
		{"list beyond", selection.Orthogonal{selection.All(), selection.List(0, 4)}, 1},
		{"list before", selection.Orthogonal{selection.List(-7)}, 0},
		{"short booleans", selection.Orthogonal{selection.Where(true)}, 0},
		{"no booleans", selection.Orthogonal{selection.All(), selection.Where()}, 1},
		{"too many items", selection.Orthogonal{selection.All(), selection.All(), selection.List()}, -1},
		{"point beyond", selection.Points{selection.Coords(6), selection.Coords(0)}, 0},
		{"too few coordinates", selection.Points{selection.Coords(0)}, -1},
		{"no broadcast", selection.Points{selection.Coords(0, 1), selection.Coords(0, 1, 2)}, 1},
		{"wrong shape", selection.Points{{Shape: []int64{3}, Data: []int64{1}}, selection.Coords(0)}, 0},
		{"negative shape", selection.Points{{Shape: []int64{-1, -1}, Data: []int64{1}}, selection.Coords(0)}, 0},
		{"huge shape", selection.Points{{Shape: []int64{1 << 40, 1 << 40}, Data: []int64{1}}, selection.Coords(0)}, 0},
		{"mask of another shape", selection.Mask{Shape: []int64{4, 6}, Data: make([]bool, 24)}, -1},
		{"mask too short", selection.Mask{Shape: []int64{6, 4}, Data: make([]bool, 23)}, -1},
		{"blocks of nothing", selection.Blocks{}, -1},
		{"names of nothing", selection.Named{"x": selection.At(0)}, -1},
	} {
		_, err := selection.Resolve(tt.sel, shape)
		var on *grid.AxisError
		if !errors.Is(err, selection.ErrInvalid) || errors.As(err, &on) != (tt.axis >= 0) || on != nil && on.Axis != tt.axis {
			t.Errorf("%s: %v does not name axis %d", tt.name, err, tt.axis)
		}
	}
}

// TestBroadcastIsNotMade resolves points whose result would be far larger than memory.
func TestBroadcastIsNotMade(t *testing.T) {
	many := make([]int64, 1<<16)
	p := selection.Points{{Shape: []int64{1 << 16, 1}, Data: many}, {Data: many}, {Shape: []int64{1 << 16, 1, 1}, Data: many}}
	r, err := selection.Resolve(p, []int64{1, 1, 1})
	if err != nil || r.Len() != 1<<48 || !slices.Equal(r.Shape(), []int64{1 << 16, 1 << 16, 1 << 16}) {
		t.Fatal(r, err)
	}
	within, err := selection.Resolve(selection.Basic{selection.At(7), selection.Stepped(selection.Open, selection.Open, -1000)}, r.Shape())
	if err != nil {
		t.Fatal(err)
	}
	if n := (*subset.Elements)(r).Select((*subset.Elements)(within)).Len(); n != 66<<16 {
		t.Fatal(n)
	}
	p = append(p, selection.Coordinates{Shape: []int64{1 << 16, 1, 1, 1}, Data: many})
	if _, err := selection.Resolve(p, []int64{1, 1, 1, 1}); !errors.Is(err, selection.ErrInvalid) {
		t.Errorf("2^64 points: %v", err)
	}
}

// TestUnchangedLists checks that the lists of callers are not modified.
func TestUnchangedLists(t *testing.T) {
	list := []int64{-1, 2, 2, 0}
	for _, sel := range []selection.Selection{selection.Orthogonal{selection.List(list...)}, selection.Points{{Data: list}}} {
		if _, err := selection.Resolve(sel, []int64{3}); err != nil || !slices.Equal(list, []int64{-1, 2, 2, 0}) {
			t.Errorf("%v became %v (%v)", sel, list, err)
		}
	}
}
