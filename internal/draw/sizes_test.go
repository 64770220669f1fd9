// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/draw"
)

func TestSizes(t *testing.T) {
	edges, sum := irregular()
	months := strings.Split(strings.Repeat("31 28 31 30 31 30 31 31 30 31 30 31 ", 10), " ")
	var decade []int64
	for _, m := range months[:len(months)-1] {
		n, _ := strconv.ParseInt(m, 10, 64)
		decade = append(decade, n)
	}
	tests := []struct {
		extent int64
		cut    grid.Cut
		want   string
	}{
		{100, grid.Every(25), "25×4"},
		{90, grid.Every(25), "25×3, 15"},
		{10, grid.Every(25), "10 of 25"},
		{10, grid.Edges(25), "10"},
		{0, grid.Every(25), "none"},
		{0, grid.Edges(2, 3), "none"},
		{1836, grid.Runs(grid.Run{Length: 365, Count: 4}, grid.Run{Length: 366, Count: 1}, grid.Run{Length: 1, Count: 10}), "365×4, 366, 1×10"},
		{20, grid.Edges(10, 20, 30), "10×2"},
		{1_000_000_000_000, grid.Every(1), "1×10^12"},
		{36, grid.Edges(1, 2, 3, 4, 5, 6, 7, 8), "1, 2, 3, 4, 5, 6, 7, 8"},
		{3650, grid.Edges(decade...), "31, 28, 31, 30, … 113 more …, 31, 30, 31"},
		{sum, grid.Edges(edges...), ""},
		{sum - edges[999_999] - 1, grid.Edges(edges...), ""},
	}
	for _, test := range tests {
		a, err := grid.NewAxis(test.extent, test.cut)
		if err != nil {
			t.Fatal(err)
		}
		got := draw.Sizes(a)
		if test.want == "" {
			if !strings.Contains(got, " more …, ") || strings.Count(got, ",") > 9 {
				t.Errorf("a million lengths are %q", got)
			}
			continue
		}
		if got != test.want {
			t.Errorf("sizes of %d are %q, want %q", test.extent, got, test.want)
		}
	}
}

// TestSizesAddUp parses the line and compares it with the runs of package grid.
func TestSizesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid(t)
		for i := range g.Rank() {
			a := g.Axis(i)
			line := draw.Sizes(a)
			if runs := a.Sizes(); len(runs) <= 8 {
				want := plain(runs)
				if a.Step() > a.Extent() && a.Extent() > 0 {
					want = exact(a.Extent()) + " of " + exact(a.Step())
				}
				if line != want {
					t.Fatalf("%q, want %q", line, want)
				}
				continue
			}
			if n := strings.Count(line, ","); n > 9 {
				t.Fatalf("%q is too long", line)
			}
			if got := chunksIn(line); got != a.Chunks() {
				t.Fatalf("%q tells of %d chunks, there are %d", line, got, a.Chunks())
			}
		}
	})
}

func plain(runs []grid.Run) string {
	if len(runs) == 0 {
		return "none"
	}
	var parts []string
	for _, r := range runs {
		part := exact(r.Length)
		if r.Count > 1 {
			part += "×" + exact(r.Count)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func exact(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n >= 1_000_000 && s == "1"+strings.Repeat("0", len(s)-1) {
		return "10^" + strconv.Itoa(len(s)-1)
	}
	return s
}

func chunksIn(line string) (n int64) {
	for part := range strings.SplitSeq(line, ", ") {
		if words := strings.Fields(part); len(words) == 4 {
			n += value(words[1])
			continue
		}
		count := int64(1)
		if _, text, ok := strings.Cut(part, "×"); ok {
			count = value(text)
		}
		n += count
	}
	return n
}

func value(text string) int64 {
	if zeros, ok := strings.CutPrefix(text, "10^"); ok {
		k, _ := strconv.Atoi(zeros)
		text = "1" + strings.Repeat("0", k)
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
