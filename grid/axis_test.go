// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// vacant returns an axis of extent 0 without edges.
func vacant(t testing.TB) grid.Axis {
	t.Helper()
	return newAxis(t, 0, grid.Edges())
}

// TestVacant checks an axis without edges, and that documents keep it.
func TestVacant(t *testing.T) {
	g, err := grid.New([]int64{0, 6}, grid.Runs(), grid.Every(4))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kind": "inline", "chunk_shapes": [[[1, 1]], 4]}`
	document := g.AppendConfiguration(nil)
	if string(document) != want {
		t.Fatalf("document %s, want %s", document, want)
	}
	parsed, err := grid.Parse(g.Shape(), g.Name(), document, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*grid.Grid{g, parsed} {
		a := g.Axis(0)
		if a.IsRegular() || a.Cells() != 0 || a.Covered() != 0 || a.NumRuns() != 0 || a.Longest(grid.Interval{Stop: 5}) != 0 {
			t.Errorf("%d cells, %d elements, %d runs", a.Cells(), a.Covered(), a.NumRuns())
		}
		if _, ok := a.Cell(0); ok || len(slices.Collect(a.Edges())) > 0 || len(slices.Collect(g.All())) > 0 {
			t.Error("there is a cell")
		}
		if g.String() != "(0, 6) in chunks of ([], 4)" {
			t.Error(g)
		}
	}
	if !g.Equal(parsed) || !g.SameCells(parsed, grid.BoxOf(g.Cells())) {
		t.Errorf("%v, want %v", parsed, g)
	}
	if listed := string(g.AppendListed(nil)); listed != `{"kind": "inline", "chunk_shapes": [[[1, 1]], [[4, 2]]]}` {
		t.Error(listed)
	}
}

// TestSingleEdge checks that a single edge of length 1 is not taken for the placeholder.
func TestSingleEdge(t *testing.T) {
	for _, tt := range []struct {
		extent int64
		list   string
		cells  int64
	}{
		{0, "[1]", 1}, {0, "[[1, 2]]", 2}, {0, "[[1, 1], 1]", 2}, {0, "[[2, 1]]", 1}, {1, "[[1, 1]]", 1}, {0, "[ [ 1 , 1 ] ]", 0},
	} {
		g, err := grid.Parse([]int64{tt.extent}, "rectilinear", fmt.Appendf(nil, `{"kind": "inline", "chunk_shapes": [%s]}`, tt.list), nil)
		if err != nil || g.Axis(0).Cells() != tt.cells {
			t.Errorf("%s for extent %d: %v, %v", tt.list, tt.extent, g, err)
		}
	}
	if vacant(t).Equal(newAxis(t, 0, grid.Edges(1))) {
		t.Error("no edges equal one")
	}
}

// TestVacantGrows lets every policy cut the first elements of an axis without edges.
func TestVacantGrows(t *testing.T) {
	tens := grid.ByBoundaries("tens", func(at int64) (int64, error) { return at - at%10 + 10, nil })
	for _, tt := range []struct {
		how  grid.Growth
		want string
	}{
		{grid.AppendOne(), "25 [[25]]"},
		{grid.AppendOne().RoundedUp(4), "25 [[28]]"},
		{grid.RepeatLast(), "25 [[25]]"},
		{grid.Fixed(10), "25 [[[10, 3]]]"},
		{grid.Pattern(20, 10), "25 [[20, 10]]"},
		{grid.Preplanned(grid.Run{Length: 9, Count: 4}), "25 [[[9, 4]]]"},
		{tens, "25 [[[10, 3]]]"},
	} {
		if got := written(vacant(t).Grown(25, tt.how)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.how, got, tt.want)
		}
		if a, err := vacant(t).Grown(0, tt.how); err != nil || a.Cells() != 0 {
			t.Errorf("%v to 0: %v, %v", tt.how, a, err)
		}
	}
	if _, err := vacant(t).Grown(25, grid.Preplanned(grid.Run{Length: 9, Count: 2})); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a plan that is too short: %v", err)
	}
}

// TestVacantAlgebra applies the operations on axes to one without edges.
func TestVacantAlgebra(t *testing.T) {
	none := vacant(t)
	four := newAxis(t, 3, grid.Edges(4))
	padded := newAxis(t, 0, grid.Edges().EncodedAs(grid.Every(8)))
	for _, tt := range []struct {
		name, got, want string
	}{
		{"resized", written(none.Resized(7)), "7 [[7]]"},
		{"extended", written(none.Extended(grid.Run{Length: 3, Count: 2})), "0 [[[3, 2]]]"},
		{"shrunk", written(none.Shrunk(0, grid.TrimExact)), "0 [[[1, 1]]]"},
		{"unlocked", written(none.Unlocked()), "0 [[[1, 1]]]"},
		{"restricted", written(none.Restrict(grid.Interval{})), "0 [[[1, 1]]]"},
		{"merged", written(none.Merged(grid.Interval{})), "0 [[[1, 1]]]"},
		{"merged up to a length", written(none.MergedUpTo(9)), "0 [[[1, 1]]]"},
		{"refined", written(none.Refine(none)), "0 [[[1, 1]]]"},
		{"after another", written(four.Concat(none)), "3 [[3]] stored as [4]"},
		{"before another", written(none.Concat(four)), "3 [[4]]"},
		{"twice", written(none.Concat(none)), "0 [[[1, 1]]]"},
		{"padded, short", written(padded.Resized(5)), "5 [[5]] stored as [8]"},
		{"padded, long", written(padded.Resized(9)), "9 [[9]]"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
		}
	}
	if below, above := none.FittingLengths(10, 4); below != 8 || above != 12 {
		t.Errorf("fitting lengths %d and %d", below, above)
	}
	// Other programs see one edge of length 1, which is no shard of 4.
	if err := none.MultipleOf(4); !errors.Is(err, grid.ErrInvalid) || none.MultipleOf(1) != nil {
		t.Error(err)
	}
	for _, inner := range []grid.Cut{grid.Every(4), grid.EveryTrimmed(4), grid.Edges(3, 1), grid.Edges()} {
		if _, err := none.Divided(inner); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("divided by %v: %v", inner, err)
		}
	}
	if a, err := none.Divided(grid.Every(1)); err != nil || a.Chunks() != 0 {
		t.Errorf("divided by 1: %v, %v", a, err)
	}
}

// months returns the lengths of months in days.
func months(year int, month time.Month, count int) []int64 {
	var days []int64
	for i := range count {
		days = append(days, int64(time.Date(year, month+time.Month(i)+1, 0, 0, 0, 0, 0, time.UTC).Day()))
	}
	return days
}

func sumOf(lengths []int64) (sum int64) {
	for _, n := range lengths {
		sum += n
	}
	return sum
}

func TestMonthsAreOnePeriod(t *testing.T) {
	ones := slices.Repeat([]int64{1}, 100)
	for _, tt := range []struct {
		name  string
		edges []int64
		want  []grid.Repeated
	}{
		{"80 years", months(1950, time.January, 960), []grid.Repeated{{48, 20}}},
		{"1901 to 2099", months(1901, time.January, 199*12), []grid.Repeated{{48, 49}, {36, 1}}},
		{"in March", months(1950, time.March, 958), []grid.Repeated{{48, 19}, {46, 1}}},
		{"30 years without leap days", slices.Repeat(months(2001, time.January, 12), 30), []grid.Repeated{{12, 30}}},
		{"one odd chunk before", append([]int64{7}, months(1950, time.January, 960)...), []grid.Repeated{{1, 1}, {48, 20}}},
		{"days behind", append(months(1950, time.January, 960), ones...), []grid.Repeated{{48, 20}, {100, 1}}},
		{"both", slices.Concat([]int64{7, 9}, months(1950, time.January, 960), ones), []grid.Repeated{{2, 1}, {48, 20}, {100, 1}}},
		{"many days behind", append(months(1950, time.January, 960), slices.Repeat(ones, 100)...), []grid.Repeated{{1, 1}, {48, 19}, {10047, 1}}},
		{"two calendars", append(months(1950, time.January, 480), slices.Repeat([]int64{10, 10, 11, 10, 9}, 50)...), []grid.Repeated{{48, 10}, {5, 50}}},
		{"through 1900", months(1890, time.January, 960), nil},
		{"one year", months(1950, time.January, 12), []grid.Repeated{{12, 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := grid.NewAxis(sumOf(tt.edges), grid.Edges(tt.edges...))
			if err != nil {
				t.Fatal(err)
			}
			got := a.Stretches()
			if tt.want != nil && !slices.Equal(got, tt.want) || len(got) > 4 {
				t.Errorf("kept in stretches of %v, want %v", got, tt.want)
			}
			checkAxis(t, a, model{sumOf(tt.edges), 0, tt.edges})
		})
	}
}

// drawPeriodic draws a list of repeated patterns with some noise between them.
func drawPeriodic(t *rapid.T) []int64 {
	var edges []int64
	for range rapid.IntRange(1, 4).Draw(t, "stretches") {
		pattern := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 30).Draw(t, "pattern")
		edges = append(edges, slices.Repeat(pattern, rapid.IntRange(1, 12).Draw(t, "repeats"))...)
		edges = append(edges, pattern[:rapid.IntRange(0, len(pattern)-1).Draw(t, "rest")]...)
	}
	return edges
}

func TestPeriodicAgainstModel(t *testing.T) {
	periodic := 0
	rapid.Check(t, func(t *rapid.T) {
		edges := drawPeriodic(t)
		m := model{rapid.Int64Range(0, sumOf(edges)).Draw(t, "extent"), 0, edges}
		a, err := grid.NewAxis(m.extent, m.cut())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(a.Stretches(), func(p grid.Repeated) bool { return p.Repeats > 1 }) {
			periodic++
		}
		checkAxis(t, a, m)
		from := rapid.Int64Range(0, a.Cells()-1).Draw(t, "from")
		to := rapid.Int64Range(from+1, a.Cells()).Draw(t, "to")
		if got, want := a.Longest(grid.Interval{Start: from, Stop: to}), slices.Max(edges[from:to]); got != want {
			t.Fatalf("the longest of cells %d to %d is %d, want %d", from, to, got, want)
		}
	})
	t.Logf("%d lists were kept with periods", periodic)
	if periodic == 0 {
		t.Error("no list was kept with a period: the test tests nothing")
	}
}

// failer is what checks need of a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkAxis compares an axis with its model, cell by cell.
func checkAxis(t failer, a grid.Axis, m model) {
	t.Helper()
	start, length := m.cells()
	if a.Cells() != int64(len(start)) {
		t.Fatalf("%d cells, want %d", a.Cells(), len(start))
	}
	chunks, sizes := int64(0), []int64(nil)
	for k := range start {
		logical := max(0, min(length[k], m.extent-start[k]))
		if logical > 0 {
			chunks++
			sizes = append(sizes, logical)
		}
		want := grid.Cell{Index: int64(k), Start: start[k], Edge: length[k], Logical: logical, Encoded: length[k]}
		if c, ok := a.Cell(int64(k)); !ok || c != want {
			t.Fatalf("cell %d is %+v (%v), want %+v", k, c, ok, want)
		}
		for i := start[k]; i < start[k]+length[k]; i++ {
			chunk, within, ok := a.Locate(i)
			if ok != (i < m.extent) || ok && (chunk != int64(k) || within != i-start[k]) {
				t.Fatalf("element %d is at %d of chunk %d (%v)", i, within, chunk, ok)
			}
		}
	}
	if a.Chunks() != chunks || !slices.Equal(expand(a.Sizes()), sizes) {
		t.Fatalf("%d chunks of sizes %v, want %d of %v", a.Chunks(), a.Sizes(), chunks, sizes)
	}
	if got := slices.Collect(a.Edges()); !slices.Equal(expand(got), length) || !isMerged(got) {
		t.Fatalf("edges %v, want %v in as few runs as possible", got, length)
	}
	for _, out := range []int64{-1, math.MinInt64, m.extent, math.MaxInt64} {
		if _, _, ok := a.Locate(out); ok {
			t.Fatalf("element %d was found", out)
		}
		if _, ok := a.Cell(out); ok && out >= a.Cells() {
			t.Fatalf("cell %d was found", out)
		}
	}
}

// isMerged reports whether no two neighbours have the same length.
func isMerged(runs []grid.Run) bool {
	for i := 1; i < len(runs); i++ {
		if runs[i].Length == runs[i-1].Length {
			return false
		}
	}
	return true
}

// TestLengthenedAgainstModel grows a list edge by edge and run by run, and compares it
// with a list that was built at once.
func TestLengthenedAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := drawPeriodic(t)
		if rapid.Bool().Draw(t, "long") {
			for i := range int64(5000) {
				edges = append(edges, 1+i*i%7)
			}
		}
		a, err := grid.NewAxis(sumOf(edges), grid.Edges(edges...))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "resize") {
				n := rapid.Int64Range(1, 9).Draw(t, "by")
				edges = append(edges, n)
				a, err = a.Resized(sumOf(edges))
			} else {
				more := drawPeriodic(t)
				edges = append(edges, more...)
				if a, err = a.Extended(asRuns(more)...); err == nil {
					a, err = a.Resized(sumOf(edges))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		b, err := grid.NewAxis(sumOf(edges), grid.Edges(edges...))
		if err != nil {
			t.Fatal(err)
		}
		if !a.Equal(b) || !b.Equal(a) || len(a.Stretches()) > 48 {
			t.Fatalf("in %d stretches it differs from the list read at once", len(a.Stretches()))
		}
		c, err := grid.NewAxis(sumOf(edges), grid.Edges(append(edges[:len(edges)-2:len(edges)-2], edges[len(edges)-1], edges[len(edges)-2])...))
		if err != nil || a.Equal(c) != (edges[len(edges)-1] == edges[len(edges)-2]) {
			t.Fatalf("two edges changed places (%v), and equality is %v", err, a.Equal(c))
		}
		checkAxis(t, a, model{sumOf(edges), 0, edges})
	})
}

// asRuns lists cells as runs of one cell each.
func asRuns(lengths []int64) []grid.Run {
	var runs []grid.Run
	for _, n := range lengths {
		runs = append(runs, grid.Run{Length: n, Count: 1})
	}
	return runs
}

func TestLookUpsDoNotAllocate(t *testing.T) {
	a, err := grid.NewAxis(29220, grid.Edges(months(1950, time.January, 960)...))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { a.Locate(20000); a.Cell(700); a.Longest(grid.Interval{Start: 3, Stop: 900}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
