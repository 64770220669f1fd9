// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// drawLine draws an axis whose runs have many cells or one.
func drawLine(t *rapid.T, extent int64) grid.Axis {
	var runs []grid.Run
	for sum := int64(0); sum < extent; {
		r := grid.Run{Length: rapid.Int64Range(1, 12).Draw(t, "length"), Count: rapid.SampledFrom([]int64{1, 1, 2, 30}).Draw(t, "count")}
		runs = append(runs, r)
		sum += r.Length * r.Count
	}
	a, err := grid.NewAxis(extent, grid.Runs(runs...))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustLine(t interface{ Fatal(...any) }, a grid.Axis) *line {
	l, err := lineOf(a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ends lists the borders of a line.
func (l *line) ends() []int64 {
	var all []int64
	for _, r := range l.runs {
		for j := range r.count {
			all = append(all, r.start+r.length*(j+1))
		}
	}
	return all
}

// TestSharedBorders compares with two sorted lists.
func TestSharedBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		extent := rapid.Int64Range(1, 400).Draw(t, "extent")
		a, b := mustLine(t, drawLine(t, extent)), mustLine(t, drawLine(t, extent))
		var want []int64
		for _, x := range a.ends() {
			if slices.Contains(b.ends(), x) {
				want = append(want, x)
			}
		}
		if got := sharedBorders(a, b).ends(); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if c := tallyOf(a, b); c.shared != int64(len(want)) {
			t.Fatalf("%d shared borders, want %d", c.shared, len(want))
		}
	})
}

// TestPiecesAreTheRefinement compares the number of pieces with that of Refine.
func TestPiecesAreTheRefinement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		extent := rapid.Int64Range(1, 400).Draw(t, "extent")
		a, b := drawLine(t, extent), drawLine(t, extent)
		both, err := gridOf(t, a).Refine(gridOf(t, b))
		if err != nil {
			t.Fatal(err)
		}
		if c := tallyOf(mustLine(t, a), mustLine(t, b)); c.pieces() != both.Axis(0).Chunks() {
			t.Fatalf("%d pieces, want %d", c.pieces(), both.Axis(0).Chunks())
		}
	})
}

func gridOf(t *rapid.T, a grid.Axis) *grid.Grid {
	g, err := grid.New([]int64{a.Extent()}, grid.Runs(a.Sizes()...))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestMergedAsGrid compares with the merge of package grid.
func TestMergedAsGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		extent := rapid.Int64Range(1, 400).Draw(t, "extent")
		a := drawLine(t, extent)
		// Package grid merges declared lengths, so let the edges end at the extent.
		a, err := grid.NewAxis(extent, grid.Runs(a.Sizes()...))
		if err != nil {
			t.Fatal(err)
		}
		longest := rapid.Int64Range(1, extent+5).Draw(t, "longest")
		want, err := a.MergedUpTo(longest)
		if err != nil {
			t.Fatal(err)
		}
		m := mustLine(t, a).mergeUpTo(longest)
		got, err := grid.NewAxis(extent, m.cut())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Sizes(), want.Sizes()) {
			t.Fatalf("%v up to %d: %v, want %v", a, longest, got.Sizes(), want.Sizes())
		}
	})
}

// TestMergeAlong checks that blocks end at borders of the units, are no longer than
// allowed, and cut no more units than blocks that ignore the other side.
func TestMergeAlong(t *testing.T) {
	along, plain := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		extent := rapid.Int64Range(1, 400).Draw(t, "extent")
		units, other := mustLine(t, drawLine(t, extent)), mustLine(t, drawLine(t, extent))
		longest := rapid.Int64Range(units.longest, extent+12).Draw(t, "longest")
		m := new(line)
		units.mergeAlong(sharedBorders(units, other), longest, m.addBlocks)
		if m.extent != extent || m.longest > longest {
			t.Fatalf("blocks %v of at most %d in %d elements", m.runs, longest, extent)
		}
		if c := tallyOf(m, units); c.shared != m.cells {
			t.Fatalf("%d of %d blocks end within a unit", m.cells-c.shared, m.cells)
		}
		a, p := tallyOf(m, other), tallyOf(units.mergeUpTo(longest), other)
		along += int(a.cells - a.shared)
		plain += int(p.cells - p.shared)
	})
	if along >= plain {
		t.Errorf("%d units are cut, %d if shared borders are ignored", along, plain)
	}
}

// TestMergeAlongIsCompact checks that regular units have regular blocks.
func TestMergeAlongIsCompact(t *testing.T) {
	for _, tt := range []struct{ extent, units, other, longest, want int64 }{
		{1e18, 4, 6, 16, 12},          // the longest multiple of both
		{1e18, 4, 6, 11, 8},           // no multiple of both is short enough
		{1e18, 999, 1000, 1e6, 999e3}, // one multiple of both
		{1e18, 10, 100, 1000, 1000},
	} {
		axis := func(step int64) *line {
			l := new(line)
			l.addClipped(step, tt.extent, step, tt.extent)
			return l
		}
		units, other := axis(tt.units), axis(tt.other)
		m := new(line)
		units.mergeAlong(sharedBorders(units, other), tt.longest, m.addBlocks)
		if len(m.runs) > 3 || m.runs[0].length != tt.want {
			t.Errorf("%+v: %+v", tt, m.runs)
		}
	}
}

// TestCommonOfLargeNumbers checks progressions whose least common multiple, or whose
// products in between, exceed 64 bits.
func TestCommonOfLargeNumbers(t *testing.T) {
	for _, tt := range []struct {
		a, b   run
		lo, hi int64
		want   borders
	}{
		{run{0, 1000, 1e15, 0}, run{0, 999, 1e15, 0}, 0, 999e15, borders{999000, 999000, 1e12}},
		{run{0, 1, math.MaxInt64, 0}, run{5, math.MaxInt64 - 5, 1, 0}, 5, math.MaxInt64, borders{math.MaxInt64, 0, 1}},
		{run{0, 3e9, 3e9, 0}, run{1, 3e9, 3e9 - 1, 0}, 1, 8e18, borders{}},
		{run{0, 3037000499, 3037000500, 0}, run{0, 3037000500, 3037000499, 0}, 0, 3037000499 * 3037000500, borders{3037000499 * 3037000500, 0, 1}},
		{run{0, 1 << 31, 1 << 31, 0}, run{1 << 30, 3 << 30, 1 << 31, 0}, 1 << 30, 1 << 62, borders{4 << 30, 6 << 30, 715827883}},
	} {
		if got := commonBorders(tt.a, tt.b, tt.lo, tt.hi); got != tt.want {
			t.Errorf("%v and %v: %+v, want %+v", tt.a, tt.b, got, tt.want)
		}
		if got := commonBorders(tt.b, tt.a, tt.lo, tt.hi); got != tt.want {
			t.Errorf("%v and %v: %+v, want %+v", tt.b, tt.a, got, tt.want)
		}
	}
}

// TestGeometric compares with big numbers.
func TestGeometric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.Int64Range(1, 1e6).Draw(t, "from"), rapid.Int64Range(1, 1e6).Draw(t, "to")
		n := rapid.IntRange(1, 2).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		power := func(x int64, n int) *big.Int { return new(big.Int).Exp(big.NewInt(x), big.NewInt(int64(n)), nil) }
		limit := new(big.Int).Mul(power(from, n-k), power(to, k))
		x := geometric(from, to, k, n)
		if power(x, n).Cmp(limit) > 0 || power(x+1, n).Cmp(limit) <= 0 {
			t.Fatalf("%d between %d and %d, step %d of %d", x, from, to, k, n)
		}
	})
	for _, tt := range []struct {
		from, to int64
		k, n     int
		want     int64
	}{{1, 1e18, 1, 6, 1000}, {1, 1e18, 5, 6, 1e15}, {1e18, 1, 1, 2, 1e9}, {7, 7, 3, 5, 7}, {math.MaxInt64, math.MaxInt64, 7, 15, math.MaxInt64}} {
		if got := geometric(tt.from, tt.to, tt.k, tt.n); got != tt.want {
			t.Errorf("%d between %d and %d, step %d of %d, want %d", got, tt.from, tt.to, tt.k, tt.n, tt.want)
		}
	}
}

// TestTotal checks that sums stay at the largest int64, and continue as floats.
func TestTotal(t *testing.T) {
	big := count(math.MaxInt64/2).addProduct(1<<40, 1<<40)
	if big.exact != math.MaxInt64 || big.approx < 1.2e24 || big.approx > 1.3e24 {
		t.Errorf("%+v", big)
	}
	if n := big.times(count(0)); n != (total{}) {
		t.Errorf("%+v", n)
	}
	if n := count(3).addProduct(4, 5).times(count(2)).add(count(7)); n != (total{53, 53}) {
		t.Errorf("%+v", n)
	}
	if n := count(math.MaxInt64).add(count(1)); n.exact != math.MaxInt64 {
		t.Errorf("%+v", n)
	}
}

// TestThinned checks that the smallest state and the lightest one survive.
func TestThinned(t *testing.T) {
	var states []state
	for i := range int64(5000) {
		states = append(states, state{volume: 1000 + i, weight: float64(9000 - i)})
	}
	first, last := states[0], states[4999]
	kept := thin(states)
	if len(kept) > 100 || kept[0] != first || kept[len(kept)-1] != last {
		t.Errorf("%d states from %v to %v", len(kept), kept[0], kept[len(kept)-1])
	}
}
