// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// axis returns the axis that the model describes.
func (m model) axis(t interface{ Fatal(...any) }) grid.Axis {
	a, err := grid.NewAxis(m.extent, m.cut())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// bounds returns where the chunks of an axis end, clipped at the extent.
func bounds(a grid.Axis) []int64 {
	at, ends := int64(0), []int64{}
	for _, n := range expand(a.Sizes()) {
		at += n
		ends = append(ends, at)
	}
	return ends
}

// lengths returns the lengths of all cells of an axis.
func lengths(a grid.Axis) []int64 { return expand(slices.Collect(a.Edges())) }

func TestConcatAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		models := rapid.SliceOfN(rapid.Custom(drawModel), 1, 4).Draw(t, "parts")
		axes := make([]grid.Axis, len(models))
		var edges, encoded []int64
		extent := int64(0)
		for i, m := range models {
			axes[i] = m.axis(t)
			start, length := m.cells()
			last := i == len(models)-1
			for k, n := range length {
				if last && m.extent == 0 && m.step > 0 || !last && start[k] >= m.extent {
					continue
				}
				edge := n
				if !last {
					edge = min(n, m.extent-start[k])
				}
				edges, encoded = append(edges, edge), append(encoded, n)
			}
			extent += m.extent
		}
		if lead := models[len(models)-1]; lead.extent == 0 && lead.step > 0 {
			return // another part would be the last one
		}
		a, err := axes[0].Concat(axes[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		stored := expand(slices.Collect(a.Encoded()))
		if got := lengths(a); a.Extent() != extent || !slices.Equal(got, edges) || !slices.Equal(stored, encoded) {
			t.Fatalf("extent %d, edges %v, encoded %v; want %d, %v, %v", a.Extent(), got, stored, extent, edges, encoded)
		}
	})
}

func TestConcat(t *testing.T) {
	for _, tt := range []struct {
		name  string
		parts []grid.Axis
		want  string // configuration of the axis as a grid, or part of the error
	}{
		{"one step that ends whole", []grid.Axis{newAxis(t, 8, grid.Every(4)), newAxis(t, 6, grid.Every(4))}, "14 [4]"},
		{"two steps", []grid.Axis{newAxis(t, 8, grid.Every(4)), newAxis(t, 6, grid.Every(5))}, "14 [[[4, 2], [5, 2]]]"},
		{"a step that ends early", []grid.Axis{newAxis(t, 7, grid.Every(4)), newAxis(t, 6, grid.Every(4))}, "13 [[4, 3, [4, 2]]] stored as [4 4 4 4]"},
		{"planned cells of the last only", []grid.Axis{newAxis(t, 3, grid.Edges(1, 2, 9)), newAxis(t, 2, grid.Edges(2, 3))}, "5 [[1, [2, 2], 3]]"},
		{"a plan of an empty last one", []grid.Axis{newAxis(t, 3, grid.Edges(1, 2, 9)), newAxis(t, 0, grid.Edges(2, 3))}, "3 [[1, [2, 2], 3]]"},
		{"empty ones leave no trace", []grid.Axis{newAxis(t, 0, grid.Every(9)), newAxis(t, 3, grid.Edges(1, 2, 9)), newAxis(t, 0, grid.Every(4))}, "3 [[1, 2, 9]]"},
		{"only empty ones", []grid.Axis{newAxis(t, 0, grid.Every(9)), newAxis(t, 0, grid.Every(4))}, "0 [4]"},
		{"the part behind an empty one", []grid.Axis{newAxis(t, 4, grid.Every(4)), newAxis(t, 0, grid.Every(9)), newAxis(t, 3, grid.Every(4)), newAxis(t, 0, grid.Edges(1))}, "7 [[4, 3, 1]] stored as [4 4 1]"},
		{"beyond 64 bits", []grid.Axis{newAxis(t, math.MaxInt64, grid.Every(1)), newAxis(t, 1, grid.Every(1))}, "64 bits"},
		{"edges beyond 64 bits", []grid.Axis{newAxis(t, 5, grid.Edges(5)), newAxis(t, 1, grid.Edges(math.MaxInt64))}, "64 bits"},
		{"huge", []grid.Axis{newAxis(t, 1e18, grid.Runs(grid.Run{Length: 1, Count: 1e18})), newAxis(t, 4e18, grid.Every(2))}, "5000000000000000000 [[[1, 1000000000000000000], [2, 2000000000000000000]]]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := tt.parts[0].Concat(tt.parts[1:]...)
			if got := written(a, err); !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// written returns the extent of an axis and its cut as in metadata, or the error.
func written(a grid.Axis, err error) string {
	if err != nil {
		return err.Error()
	}
	cut := grid.Every(a.Step())
	if !a.IsRegular() {
		cut = grid.Runs(slices.Collect(a.Edges())...)
	}
	g, err := grid.New([]int64{a.Extent()}, cut)
	if err != nil {
		return err.Error()
	}
	text := string(g.AppendConfiguration(nil))
	text = text[strings.Index(text, "["):]
	text = strings.TrimSuffix(strings.Join([]string{strconv.FormatInt(a.Extent(), 10), text}, " "), "}")
	if a.IsEncoded() {
		text += fmt.Sprint(" stored as ", expand(slices.Collect(a.Encoded())))
	}
	return text
}

func TestRefineAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, o := drawModel(t), drawModel(t)
		extent := min(m.extent, o.extent)
		m.extent, o.extent = extent, extent
		a, b := m.axis(t), o.axis(t)
		c, err := a.Refine(b)
		if err != nil {
			t.Fatal(err)
		}
		want := append(bounds(a), bounds(b)...)
		slices.Sort(want)
		want = slices.Compact(want)
		if got := bounds(c); c.Extent() != extent || !slices.Equal(got, want) {
			t.Fatalf("%v and %v: boundaries %v, want %v", m, o, got, want)
		}
		d, err := b.Refine(a)
		if err != nil || !slices.Equal(bounds(c), bounds(d)) {
			t.Fatalf("refinement depends on the order: %v", err)
		}
		again, err := c.Refine(a)
		if err != nil || extent > 0 && !slices.Equal(bounds(again), want) {
			t.Fatalf("refined twice: %v", err)
		}
	})
}

func TestRefine(t *testing.T) {
	runs := func(extent int64, r ...grid.Run) grid.Axis { return newAxis(t, extent, grid.Runs(r...)) }
	for _, tt := range []struct {
		name string
		a, b grid.Axis
		want string
	}{
		{"itself, with its plan", newAxis(t, 3, grid.Edges(1, 2, 9)), newAxis(t, 3, grid.Edges(1, 2, 9)), "3 [[1, 2, 9]]"},
		{"the finer step", newAxis(t, 30, grid.Every(6)), newAxis(t, 30, grid.Every(3)), "30 [3]"},
		{"steps that do not divide", newAxis(t, 12, grid.Every(6)), newAxis(t, 12, grid.Every(4)), "12 [[4, [2, 2], 4]]"},
		{"huge steps", newAxis(t, 1e18, grid.Every(7)), newAxis(t, 1e18, grid.Every(1)), "1000000000000000000 [1]"},
		{"a huge run and few cells", runs(1e18, grid.Run{Length: 1, Count: 1e18}), newAxis(t, 1e18, grid.Edges(1e17, 1e17, 8e17)), "1000000000000000000 [[[1, 1000000000000000000]]]"},
		{"huge runs", runs(1e18, grid.Run{Length: 2, Count: 5e17}), newAxis(t, 1e18, grid.Edges(99999, 1e18)), "1000000000000000000 [[[2, 49999], [1, 2], [2, 499999999999950000]]]"},
		{"huge runs half a cell apart", runs(1e18, grid.Run{Length: 2, Count: 5e17}), runs(1e18, grid.Run{Length: 1, Count: 1}, grid.Run{Length: 2, Count: 5e17}), "1000000000000000000 [[[1, 1000000000000000000]]]"},
		{"half a cell apart for less than a run", newAxis(t, 7, grid.Edges(1, 2, 2, 2)), newAxis(t, 7, grid.Edges(2, 3, 2)), "7 [[[1, 3], [2, 2]]]"},
		{"too many runs", newAxis(t, 1e18, grid.Every(2)), newAxis(t, 1e18, grid.Every(3)), "not supported"},
		{"empty", newAxis(t, 0, grid.Every(2)), newAxis(t, 0, grid.Edges(3)), "0 [2]"},
		{"other extents", newAxis(t, 1, grid.Every(2)), newAxis(t, 2, grid.Every(2)), "extents 1 and 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := written(tt.a.Refine(tt.b)); !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRestrictAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		a := m.axis(t)
		from := rapid.Int64Range(0, m.extent).Draw(t, "from")
		in := grid.Interval{Start: from, Stop: rapid.Int64Range(from, m.extent).Draw(t, "to")}
		b, err := a.Restrict(in)
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		for _, end := range bounds(a) {
			if end > in.Start && end < in.Stop {
				want = append(want, end-in.Start)
			}
		}
		if in.Len() > 0 {
			want = append(want, in.Len())
		}
		if got := bounds(b); b.Extent() != in.Len() || !slices.Equal(got, want) {
			t.Fatalf("%v of %v: boundaries %v, want %v", in, m, got, want)
		}
		if regular := m.step > 0 && (in.Len() == 0 || from%m.step == 0); regular != b.IsRegular() || !regular && in.Len() > 0 && b.Covered() != in.Len() {
			t.Fatalf("%v of %v: regular %v, %d elements covered", in, m, b.IsRegular(), b.Covered())
		}
	})
}

func TestMergedAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		a := m.axis(t)
		all := lengths(a)
		from := rapid.IntRange(0, len(all)).Draw(t, "from")
		to := rapid.IntRange(from, len(all)).Draw(t, "to")
		b, err := a.Merged(grid.Interval{Start: int64(from), Stop: int64(to)})
		if err != nil {
			t.Fatal(err)
		}
		want := all
		if to-from > 1 {
			sum := int64(0)
			for _, n := range all[from:to] {
				sum += n
			}
			want = slices.Concat(all[:from], []int64{sum}, all[to:])
		}
		if got := lengths(b); b.Extent() != m.extent || !slices.Equal(got, want) {
			t.Fatalf("cells %d to %d of %v: %v, want %v", from, to, all, got, want)
		}
	})
}

func TestMergedUpToAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		a := m.axis(t)
		longest := rapid.Int64Range(1, 50).Draw(t, "longest")
		b, err := a.MergedUpTo(longest)
		if err != nil {
			t.Fatal(err)
		}
		all, want, open := lengths(a), []int64{}, int64(0)
		chunks := int(a.Chunks())
		for _, n := range all[:chunks] {
			if open > 0 && open+n > longest {
				want, open = append(want, open), 0
			}
			open += n
		}
		if open > 0 {
			want = append(want, open)
		}
		want = append(want, all[chunks:]...)
		got := lengths(b)
		if m.step > 0 { // the last chunk of a regular axis has full length
			got, want = bounds(b), bounds(newEdgesAxis(t, m.extent, want))
		}
		if b.Extent() != m.extent || !slices.Equal(got, want) || b.IsRegular() != a.IsRegular() {
			t.Fatalf("%v up to %d: %v, want %v", all, longest, got, want)
		}
	})
}

// newEdgesAxis returns an axis with the given edges, or a regular one if it is empty.
func newEdgesAxis(t *rapid.T, extent int64, edges []int64) grid.Axis {
	if extent == 0 {
		return model{0, 1, nil}.axis(t)
	}
	return model{extent, 0, edges}.axis(t)
}

func TestHugeAlgebra(t *testing.T) {
	a := newAxis(t, 1e18, grid.Runs(grid.Run{Length: 1, Count: 1e18}))
	for _, tt := range []struct{ got, want string }{
		{written(a.Restrict(grid.Interval{Start: 5, Stop: 1e18})), "999999999999999995 [[[1, 999999999999999995]]]"},
		{written(a.Merged(grid.Interval{Start: 5, Stop: 1e17})), "1000000000000000000 [[[1, 5], 99999999999999995, [1, 900000000000000000]]]"},
		{written(a.MergedUpTo(1e6)), "1000000000000000000 [[[1000000, 1000000000000]]]"},
		{written(newAxis(t, 6, grid.Edges(1, 2, 3)).Restrict(grid.Interval{Start: 6, Stop: 6})), "0 [[3]]"},
		{written(a.Merged(grid.Interval{Start: 0, Stop: 1e18 + 1})), "out of range"},
		{written(a.Merged(grid.Interval{Start: -1, Stop: 1})), "out of range"},
		{written(a.MergedUpTo(0)), "at least 1"},
		{written(a.Restrict(grid.Interval{Start: 1, Stop: math.MaxInt64})), "out of range"},
		{written(newAxis(t, math.MaxInt64, grid.Every(3<<61)).Merged(grid.Interval{Start: 0, Stop: 2})), "64 bits"},
	} {
		if !strings.Contains(tt.got, tt.want) {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestGridAlgebra(t *testing.T) {
	g, err := grid.New([]int64{8, 30}, grid.Every(4), grid.Every(10))
	if err != nil {
		t.Fatal(err)
	}
	o, err := grid.New([]int64{8, 30}, grid.Every(4), grid.Edges(15, 15))
	if err != nil {
		t.Fatal(err)
	}
	small, _ := grid.New([]int64{8}, grid.Chunks(4)...)
	for _, tt := range []struct {
		name   string
		of     func() (*grid.Grid, error)
		want   string
		target error
	}{
		{"concat", func() (*grid.Grid, error) { return g.Concat(0, g, g) }, `{"chunk_shape": [4, 10]}`, nil},
		{"concat of lists", func() (*grid.Grid, error) { return g.Concat(1, o) }, `{"kind": "inline", "chunk_shapes": [4, [[10, 3], [15, 2]]]}`, nil},
		{"concat across other cuts", func() (*grid.Grid, error) { return g.Concat(0, o) }, "axis 1: invalid chunk grid: part 1", grid.ErrInvalid},
		{"concat of another rank", func() (*grid.Grid, error) { return g.Concat(0, small) }, "part 1 has 1 axis", grid.ErrInvalid},
		{"concat along no axis", func() (*grid.Grid, error) { return g.Concat(2, g) }, "axis 2 of a grid with 2", grid.ErrOutOfRange},
		{"refine", func() (*grid.Grid, error) { return g.Refine(o) }, `{"kind": "inline", "chunk_shapes": [4, [10, [5, 2], 10]]}`, nil},
		{"refine of another rank", func() (*grid.Grid, error) { return g.Refine(small) }, "2 axes", grid.ErrInvalid},
		{"restrict", func() (*grid.Grid, error) { return g.Restrict(grid.Box{{4, 8}, {10, 25}}) }, `{"chunk_shape": [4, 10]}`, nil},
		{"restrict within chunks", func() (*grid.Grid, error) { return g.Restrict(grid.Box{{4, 8}, {5, 25}}) }, `{"kind": "inline", "chunk_shapes": [4, [5, 10, 5]]}`, nil},
		{"restrict outside", func() (*grid.Grid, error) { return g.Restrict(grid.Box{{4, 8}, {5, 31}}) }, "axis 1:", grid.ErrOutOfRange},
		{"merged", func() (*grid.Grid, error) { return g.Merged(1, grid.Interval{Start: 1, Stop: 3}) }, `{"kind": "inline", "chunk_shapes": [4, [10, 20]]}`, nil},
		{"merged up to", func() (*grid.Grid, error) { return g.MergedUpTo(1, 25) }, `{"chunk_shape": [4, 20]}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := tt.of()
			got := ""
			if err == nil {
				got = string(h.AppendConfiguration(nil))
			} else {
				got = err.Error()
			}
			if !errors.Is(err, tt.target) || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func BenchmarkRefine(b *testing.B) {
	lengths := make([]int64, 100_000)
	for i := range lengths {
		lengths[i] = int64(28 + i%4)
	}
	list := grid.Edges(lengths...)
	extent := newAxis(b, 0, list).Covered()
	x, y := newAxis(b, extent, list), newAxis(b, extent, grid.Every(100))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Refine(y); err != nil {
			b.Fatal(err)
		}
	}
}
