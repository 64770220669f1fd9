// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/draw"
)

var update = flag.Bool("update", false, "write the drawings to testdata instead of comparing them")

func newGrid(t testing.TB, shape []int64, cuts ...grid.Cut) *grid.Grid {
	t.Helper()
	g, err := grid.New(shape, cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// irregular returns a million lengths with hardly any equal neighbours.
func irregular() (edges []int64, sum int64) {
	r := rand.New(rand.NewPCG(1, 2))
	edges = make([]int64, 1_000_000)
	for i := range edges {
		edges[i] = 1 + r.Int64N(1000)
		sum += edges[i]
	}
	return edges, sum
}

// eightyYears returns the lengths of the months from 1940 to 2019, in days.
func eightyYears() (days []int64) {
	for year := 1940; year < 2020; year++ {
		for month := time.January; month <= time.December; month++ {
			days = append(days, int64(time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()))
		}
	}
	return days
}

func TestGrid(t *testing.T) {
	huge := int64(1_000_000_000_000_000_000)
	edges, sum := irregular()
	months := []int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	// The chunks on and below the diagonal, up to 100 × 100.
	lower := func(b grid.Box) (n int64) {
		for r := b[0].Start; r < min(100, b[0].Stop); r++ {
			n += b[1].Intersect(grid.Interval{Start: 0, Stop: r + 1}).Len()
		}
		return n
	}
	tests := []struct {
		name  string
		shape []int64
		cuts  []grid.Cut
		opt   *draw.GridOptions
	}{
		{"regular-boundary", []int64{60, 100}, grid.Chunks(25, 30), nil},
		{"rectilinear", []int64{60, 100}, []grid.Cut{grid.Edges(10, 20, 30), grid.Runs(grid.Run{Length: 25, Count: 4})}, nil},
		{"rectilinear-ascii", []int64{60, 90}, []grid.Cut{grid.Edges(10, 20, 30), grid.Every(25)}, &draw.GridOptions{ASCII: true, Names: []string{"y", "größe"}}},
		{"daily-tail", []int64{376, 4, 8}, []grid.Cut{grid.Runs(grid.Run{Length: 366, Count: 1}, grid.Run{Length: 1, Count: 10}), grid.Every(4), grid.Edges(4, 4)},
			&draw.GridOptions{Names: []string{"time", "lat", "lon"}}},
		{"daily-tail-time", []int64{376, 4, 8}, []grid.Cut{grid.Runs(grid.Run{Length: 366, Count: 1}, grid.Run{Length: 1, Count: 10}), grid.Every(4), grid.Edges(4, 4)},
			&draw.GridOptions{Names: []string{"time", "lat", "lon"}, Axes: []int{1, 0}}},
		{"ties", []int64{10, 10, 10}, grid.Chunks(5, 5, 5), nil},
		{"months", []int64{365}, []grid.Cut{grid.Edges(months...)}, nil},
		{"century", []int64{29220}, []grid.Cut{grid.Edges(eightyYears()...)}, nil},
		{"unknown", []int64{40_000, 30}, []grid.Cut{grid.Every(1), grid.Edges(10, 20)},
			&draw.GridOptions{ASCII: true, Stored: func(b grid.Box) int64 {
				if n, _ := b.Len(); n < 10 {
					return b[1].Intersect(grid.Interval{Stop: 1}).Len()
				}
				return -1
			}}},
		{"months-narrow", []int64{365}, []grid.Cut{grid.Edges(months...)}, &draw.GridOptions{Width: 40}},
		{"rank-0", nil, nil, &draw.GridOptions{Stored: func(grid.Box) int64 { return 1 }}},
		{"zero-extent", []int64{0, 5}, []grid.Cut{grid.Edges(2, 2), grid.Every(5)}, nil},
		{"zero-extent-regular", []int64{0, 5}, grid.Chunks(2, 5), nil},
		{"overhang", []int64{11, 30}, []grid.Cut{grid.Edges(4, 4, 4, 4, 4), grid.Edges(10, 10, 25, 10)}, nil},
		{"stored", []int64{300, 30, 40}, grid.Chunks(1, 8, 1),
			&draw.GridOptions{Axes: []int{1, 2}, Stored: func(b grid.Box) int64 {
				return b[2].Intersect(grid.Interval{Start: 0, Stop: 20}).Len() * b[0].Len() * b[1].Len()
			}}},
		{"diagonal", []int64{60, 60}, grid.Chunks(10, 10), &draw.GridOptions{Stored: lower}},
		{"huge", []int64{huge, huge}, []grid.Cut{grid.Runs(grid.Run{Length: 1, Count: huge}), grid.Every(1)}, &draw.GridOptions{Stored: lower}},
		{"irregular", []int64{sum, sum - 7000}, []grid.Cut{grid.Edges(edges...), grid.Edges(edges...)}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			compare(t, test.name, draw.Grid(newGrid(t, test.shape, test.cuts...), test.opt))
		})
	}
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	compareFile(t, filepath.Join("testdata", name+".txt"), got)
}

func compareFile(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("drawing differs from %s:\n%s", file, got)
	}
}

// anyGrid draws grids of all forms, with edges beyond the extent, long runs and empty
// axes.
func anyGrid(t *rapid.T) *grid.Grid {
	shape := make([]int64, rapid.IntRange(0, 4).Draw(t, "rank"))
	cuts := make([]grid.Cut, len(shape))
	length := rapid.OneOf(rapid.Int64Range(1, 40), rapid.Int64Range(1, 1_000_000))
	for i := range shape {
		if rapid.Bool().Draw(t, "regular") {
			shape[i] = rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "extent")
			cuts[i] = grid.Every(length.Draw(t, "step"))
			continue
		}
		var runs []grid.Run
		var sum int64
		for range rapid.IntRange(1, 60).Draw(t, "runs") {
			r := grid.Run{Length: length.Draw(t, "length"), Count: rapid.SampledFrom([]int64{1, 1, 1, 2, 7, 100_000_000_000}).Draw(t, "count")}
			runs, sum = append(runs, r), sum+r.Length*r.Count
		}
		shape[i] = rapid.Int64Range(0, sum).Draw(t, "extent")
		if rapid.Bool().Draw(t, "full") {
			shape[i] = sum
		}
		cuts[i] = grid.Runs(runs...)
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGridWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid(t)
		opt := &draw.GridOptions{
			Width: rapid.IntRange(1, 150).Draw(t, "width"),
			ASCII: rapid.Bool().Draw(t, "ascii"),
			Names: rapid.SliceOfN(rapid.String(), g.Rank(), g.Rank()).Draw(t, "names"),
			Axes:  rapid.SliceOfN(rapid.IntRange(-1, 4), 0, 3).Draw(t, "axes"),
		}
		if rapid.Bool().Draw(t, "shaded") {
			opt.Stored = func(b grid.Box) int64 {
				if !within(b, g.Chunks()) {
					t.Fatalf("asked for chunks %v of %v", b, g.Chunks())
				}
				return 1
			}
		}
		drawing := draw.Grid(g, opt)
		if !strings.HasSuffix(drawing, "\n") {
			t.Fatal("the last line does not end")
		}
		for line := range strings.Lines(drawing) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > opt.Width {
				t.Fatalf("%d characters in a line of at most %d:\n%s", n, opt.Width, drawing)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) || opt.ASCII && r > unicode.MaxASCII }) {
				t.Fatalf("line %q has a character that does not belong there", line)
			}
		}
	})
}

func within(b grid.Box, chunks []int64) bool {
	for i, n := range chunks {
		if b[i].Start < 0 || b[i].Stop > n || b[i].Start > b[i].Stop {
			return false
		}
	}
	return true
}

// TestStoredCoversAllChunks checks that the blocks of a drawing cover each chunk once.
func TestStoredCoversAllChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid(t)
		all, ok := g.NumChunks()
		var asked int64
		draw.Grid(g, &draw.GridOptions{Width: 1000, Stored: func(b grid.Box) int64 {
			n, _ := b.Len()
			asked += n
			return 0
		}})
		if ok && asked != all {
			t.Fatalf("asked for %d of %d chunks", asked, all)
		}
	})
}

func TestGridFollowsOptions(t *testing.T) {
	g := newGrid(t, []int64{6, 8}, grid.Every(3), grid.Every(2))
	whole, last := draw.Grid(g, nil), draw.Grid(g, &draw.GridOptions{Axes: []int{1}})
	if a, b := strings.Count(whole, "\n"), strings.Count(last, "\n"); a <= b {
		t.Errorf("two axes take %d lines, one takes %d", a, b)
	}
	for _, axes := range [][]int{{}, {0, 1}, {1, 1}, {0, 7}, {-1}, {0, 1, 0}} {
		if got := draw.Grid(g, &draw.GridOptions{Axes: axes}); got != whole {
			t.Errorf("axes %v:\n%s", axes, got)
		}
	}
	if got := draw.Grid(g, &draw.GridOptions{Names: []string{"\x1b[31mred", ""}}); strings.Contains(got, "\x1b") {
		t.Errorf("a name reaches the terminal: %q", got)
	}
}

func BenchmarkGrid(b *testing.B) {
	edges, sum := irregular()
	huge := int64(1_000_000_000_000_000_000)
	grids := map[string]*grid.Grid{
		"ten":       newGrid(b, []int64{10}, grid.Every(1)),
		"huge":      newGrid(b, []int64{huge, huge}, grid.Every(1), grid.Runs(grid.Run{Length: 1, Count: huge})),
		"irregular": newGrid(b, []int64{sum, sum}, grid.Edges(edges...), grid.Edges(edges...)),
	}
	for name, g := range grids {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				draw.Grid(g, nil)
			}
		})
	}
}
