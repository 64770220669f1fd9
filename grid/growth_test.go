// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

func newAxis(t testing.TB, extent int64, cut grid.Cut) grid.Axis {
	t.Helper()
	a, err := grid.NewAxis(extent, cut)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestGrown(t *testing.T) {
	weeks := func(at int64) (int64, error) { return (at/7 + 1) * 7, nil }
	for _, tt := range []struct {
		name   string
		extent int64
		cut    grid.Cut
		to     int64
		how    grid.Growth
		want   []int64
	}{
		{"one edge", 6, grid.Edges(1, 2, 3), 10, grid.AppendOne(), []int64{1, 2, 3, 4}},
		{"the zero policy is one edge", 6, grid.Edges(1, 2, 3), 10, grid.Growth{}, []int64{1, 2, 3, 4}},
		{"one edge behind an overhang", 5, grid.Edges(1, 2, 3), 10, grid.AppendOne(), []int64{1, 2, 3, 4}},
		{"within the edges", 2, grid.Edges(1, 2, 3), 6, grid.Fixed(2), []int64{1, 2, 3}},
		{"the last again", 6, grid.Edges(1, 2, 3), 10, grid.RepeatLast(), []int64{1, 2, 3, 3, 3}},
		{"fixed overhangs", 6, grid.Edges(6), 11, grid.Fixed(2), []int64{6, 2, 2, 2}},
		{"fixed fills first", 4, grid.Edges(6), 8, grid.Fixed(2), []int64{6, 2}},
		{"pattern", 3, grid.Edges(3), 13, grid.Pattern(4, 1), []int64{3, 4, 1, 4, 1}},
		{"pattern overhangs", 3, grid.Edges(3), 14, grid.Pattern(4, 1), []int64{3, 4, 1, 4, 1, 4}},
		{"pattern begins anew at the sum", 3, grid.Edges(3, 4), 8, grid.Pattern(4, 1), []int64{3, 4, 4}},
		{"pattern of one length", 3, grid.Edges(3), 12, grid.Pattern(4, 4), []int64{3, 4, 4, 4}},
		{"plan beyond the extent", 3, grid.Edges(3), 5, grid.Preplanned(grid.Run{Length: 4, Count: 2}, grid.Run{Length: 5, Count: 1}), []int64{3, 4, 4, 5}},
		{"plan is followed", 5, grid.Edges(3, 4, 4, 5), 9, grid.Preplanned(grid.Run{Length: 4, Count: 2}, grid.Run{Length: 5, Count: 1}), []int64{3, 4, 4, 5}},
		{"plan is followed to its end", 8, grid.Edges(3, 4, 4, 5), 16, grid.Preplanned(grid.Run{Length: 4, Count: 2}, grid.Run{Length: 5, Count: 1}), []int64{3, 4, 4, 5}},
		{"plan that is done", 16, grid.Edges(3, 4, 4, 5), 16, grid.Preplanned(grid.Run{Length: 9, Count: 1}), []int64{3, 4, 4, 5}},
		{"from nothing", 0, grid.Edges(2), 5, grid.Pattern(1, 2), []int64{2, 1, 2}},
		{"boundaries", 3, grid.Edges(3), 15, grid.ByBoundaries("weeks", weeks), []int64{3, 4, 7, 7}},
		{"a step follows", 6, grid.Every(4), 9, grid.AppendOne(), []int64{4, 4, 4}},
		{"a step repeats", 6, grid.Every(4), 9, grid.RepeatLast(), []int64{4, 4, 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := newAxis(t, tt.extent, tt.cut).Grown(tt.to, tt.how)
			if err != nil {
				t.Fatal(err)
			}
			if got := expand(slices.Collect(a.Edges())); a.Extent() != tt.to || !slices.Equal(got, tt.want) {
				t.Errorf("extent %d, edges %v; want %d, %v", a.Extent(), got, tt.to, tt.want)
			}
		})
	}
}

func TestGrownRefuses(t *testing.T) {
	stuck := grid.ByBoundaries("stuck", func(at int64) (int64, error) { return at, nil })
	broken := errors.New("no clock")
	plan := grid.Preplanned(grid.Run{Length: 4, Count: 2})
	for _, tt := range []struct {
		name   string
		extent int64
		cut    grid.Cut
		to     int64
		how    grid.Growth
		want   error
		says   string
	}{
		{"smaller", 6, grid.Edges(6), 5, grid.AppendOne(), grid.ErrInvalid, "Shrunk"},
		{"length 0", 6, grid.Edges(6), 7, grid.Fixed(0), grid.ErrInvalid, "at least 1"},
		{"length 0 within the edges", 2, grid.Edges(6), 5, grid.Fixed(0), grid.ErrInvalid, "at least 1"},
		{"no pattern", 6, grid.Edges(6), 7, grid.Pattern(), grid.ErrInvalid, "at least one edge"},
		{"negative length", 6, grid.Edges(6), 7, grid.Pattern(3, -1), grid.ErrInvalid, "got -1"},
		{"pattern too long to sum", 6, grid.Edges(6), 7, grid.Pattern(math.MaxInt64, 1), grid.ErrOverflow, ""},
		{"too many edges", 6, grid.Edges(6), 1e18, grid.Pattern(1, 2), grid.ErrUnsupported, "too many"},
		{"too many boundaries", 6, grid.Edges(6), 1e18, grid.ByBoundaries("each", func(at int64) (int64, error) { return at + 1, nil }), grid.ErrUnsupported, ""},
		{"edge past 64 bits", 6, grid.Edges(6), math.MaxInt64, grid.Fixed(1 << 40), grid.ErrOverflow, "fixed"},
		{"plan too short", 6, grid.Edges(6), 20, plan, grid.ErrInvalid, "6 elements before"},
		{"plan contradicts", 2, grid.Edges(6, 4), 5, plan, grid.ErrInvalid, "cells 0 to 1 are not full and have lengths [6,4]"},
		{"plan ends otherwise", 0, grid.Edges(3, 4, 4), 5, plan, grid.ErrInvalid, "contradicts"},
		{"plan with a longer edge", 6, grid.Edges(6, 2, 4), 7, plan, grid.ErrInvalid, "contradicts"},
		{"fixed on a step", 6, grid.Every(4), 9, grid.Fixed(4), grid.ErrInvalid, "unlock"},
		{"boundary that stays", 6, grid.Edges(6), 9, stuck, grid.ErrInvalid, "after element 6"},
		{"boundary that fails", 6, grid.Edges(6), 9, grid.ByBoundaries("", func(int64) (int64, error) { return 0, broken }), broken, ""},
		{"no boundaries", 6, grid.Edges(6), 9, grid.ByBoundaries("nil", nil), grid.ErrInvalid, "nil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newAxis(t, tt.extent, tt.cut).Grown(tt.to, tt.how)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("got %v, want %v that says %q", err, tt.want, tt.says)
			}
		})
	}
}

// lengths returns the edges that cover the extent to under a policy, made cell by cell.
func (m model) lengths(to int64, how string, given []int64) []int64 {
	all := slices.Clone(m.edges)
	sum := func() (n int64) {
		for _, l := range all {
			n += l
		}
		return n
	}
	for i := 0; sum() < to; i++ {
		switch how {
		case "append-one":
			all = append(all, to-sum())
		case "repeat-last":
			all = append(all, all[len(all)-1])
		default:
			all = append(all, given[i%len(given)])
		}
	}
	return all
}

func TestGrownAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		if m.step > 0 {
			t.Skip("the model has no periodic axes")
		}
		to := m.extent + rapid.Int64Range(0, 120).Draw(t, "gain")
		given := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 5).Draw(t, "given")
		at := rapid.IntRange(0, 3).Draw(t, "policy")
		how := []string{"append-one", "repeat-last", "fixed", "pattern"}[at]
		if how == "fixed" {
			given = given[:1]
		}
		g := []grid.Growth{grid.AppendOne(), grid.RepeatLast(), grid.Fixed(given[0]), grid.Pattern(given...)}[at]
		a, err := grid.NewAxis(m.extent, m.cut())
		if err != nil {
			t.Fatal(err)
		}
		a, err = a.Grown(to, g)
		if err != nil {
			t.Fatal(err)
		}
		want := m.lengths(to, how, given)
		if got := expand(slices.Collect(a.Edges())); a.Extent() != to || !slices.Equal(got, want) {
			t.Fatalf("%v from %v to %d: edges %v, want %v", g, m.edges, to, got, want)
		}
	})
}

// TestPlanAgainstModel follows a plan in steps. Whatever the steps, the resulting edges
// are those before, followed by the plan.
func TestPlanAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 5).Draw(t, "before")
		plan := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 8).Draw(t, "plan")
		runs, sum, end := make([]grid.Run, len(plan)), int64(0), int64(0)
		for _, n := range before {
			sum += n
		}
		end = sum
		for i, n := range plan {
			runs[i], end = grid.Run{Length: n, Count: 1}, end+n
		}
		a, err := grid.NewAxis(sum, grid.Edges(before...))
		for to := sum; err == nil && to < end; {
			to = rapid.Int64Range(to+1, end).Draw(t, "to")
			a, err = a.Grown(to, grid.Preplanned(runs...))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, want := expand(slices.Collect(a.Edges())), append(before, plan...); !slices.Equal(got, want) {
			t.Fatalf("edges %v, want %v", got, want)
		}
	})
}

// TestContradictionsAgainstModel compares the check of a plan with one on lists of cells.
func TestContradictionsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []int64 {
			return rapid.SliceOfN(rapid.Int64Range(1, 3), 1, 5).Draw(t, label)
		}
		edges, plan, runs, sum := draw("edges"), draw("plan"), []grid.Run{}, int64(0)
		for _, n := range edges {
			sum += n
		}
		for _, n := range plan {
			runs = append(runs, grid.Run{Length: n, Count: 1})
		}
		extent := rapid.Int64Range(0, sum).Draw(t, "extent")
		at, open := int64(0), []int64{}
		for _, n := range edges {
			if at += n; at > extent {
				open = append(open, n)
			}
		}
		want := len(open) <= len(plan) && slices.Equal(open, plan[max(0, len(plan)-len(open)):])
		a, err := grid.NewAxis(extent, grid.Edges(edges...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = a.Grown(sum, grid.Preplanned(runs...)); (err == nil) != want {
			t.Fatalf("edges %v filled to %d, plan %v: %v, want it to fit %v", edges, extent, plan, err, want)
		}
	})
}

func TestHugeGrowth(t *testing.T) {
	a := newAxis(t, 10, grid.Edges(10))
	for _, how := range []grid.Growth{grid.AppendOne(), grid.Fixed(7), grid.RepeatLast(), grid.Pattern(7, 7), grid.Preplanned(grid.Run{Length: 1, Count: 1e18})} {
		b, err := a.Grown(1e18, how)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(slices.Collect(b.Edges())); n > 2 || b.Extent() != 1e18 {
			t.Errorf("%v: %d runs, extent %d", how, n, b.Extent())
		}
	}
}

func TestGridGrown(t *testing.T) {
	g, err := grid.New([]int64{6, 10, 4}, grid.Edges(1, 2, 3), grid.Every(4), grid.Edges(2, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		shape []int64
		how   []grid.Growth
		want  string // of the configuration, or of the error
	}{
		{[]int64{8, 12, 4}, nil, "[[1, 2, 3, 2], 4, [[2, 2]]]"},
		{[]int64{9, 12, 7}, []grid.Growth{grid.Fixed(3)}, "[[1, 2, [3, 2]], 4, [[2, 2], 3]]"},
		{[]int64{9, 12, 7}, []grid.Growth{grid.RepeatLast(), grid.AppendOne(), grid.Fixed(5)}, "[[1, 2, [3, 2]], 4, [[2, 2], 5]]"},
		{[]int64{3, 12, 7}, []grid.Growth{grid.Fixed(3)}, "[[1, 2, 3], 4, [[2, 2], 3]]"},
		{[]int64{6, 12, 4}, []grid.Growth{grid.Fixed(3)}, "axis 1: invalid chunk grid: growth fixed:3 on an axis whose chunks of 4 follow the extent: unlock turns it into a list"},
		{[]int64{9, 12, 7}, []grid.Growth{grid.RepeatLast(), grid.Fixed(4), grid.Fixed(5)}, "axis 1:"},
		{[]int64{9, 12, 7}, []grid.Growth{grid.RepeatLast(), grid.Fixed(4)}, "2 growth policies for 3 axes"},
		{[]int64{6, 10, 4}, []grid.Growth{grid.Fixed(4)}, "[[1, 2, 3], 4, [[2, 2]]]"},
		{[]int64{6, 10}, nil, "the new shape has 2 axes"},
		{[]int64{6, 10, -1}, nil, "axis 2:"},
	} {
		h, err := g.Grown(tt.shape, tt.how...)
		got := fmt.Sprint(err)
		if err == nil {
			got = string(h.AppendConfiguration(nil))
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%v by %v: %s, want %s", tt.shape, tt.how, got, tt.want)
		}
	}
}

func TestGrownByOneIsResized(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shape, to []int64
		var cuts []grid.Cut
		for _, m := range rapid.SliceOfN(rapid.Custom(drawModel), 0, 3).Draw(t, "axes") {
			shape, cuts = append(shape, m.extent), append(cuts, m.cut())
			to = append(to, rapid.Int64Range(0, 200).Draw(t, "to"))
		}
		g, err := grid.New(shape, cuts...)
		if err != nil {
			t.Fatal(err)
		}
		a, errA := g.Resized(to)
		b, errB := g.Grown(to)
		c, errC := g.Grown(to, grid.AppendOne())
		if errA != nil || errB != nil || errC != nil || !a.Equal(b) || !a.Equal(c) {
			t.Fatalf("resized and grown by one differ: %v, %v, %v", errA, errB, errC)
		}
	})
}

func BenchmarkGrown(b *testing.B) {
	a := newAxis(b, 365*80, grid.Runs(grid.Run{Length: 365, Count: 80}))
	for _, g := range []grid.Growth{grid.AppendOne(), grid.Fixed(30), grid.Pattern(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)} {
		b.Run(g.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Grown(365*180, g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestParseGrowth(t *testing.T) {
	for _, text := range []string{"append-one", "repeat-last", "fixed:10", "pattern:31,28", "pattern:5", "preplanned:[31,28]", "preplanned:[[10,80],[1,3],5]", "preplanned:[[1,1000000000000000000]]"} {
		g, err := grid.ParseGrowth(text)
		if err != nil || g.String() != text {
			t.Errorf("%s was read as %v (%v)", text, g, err)
		}
	}
	for text, want := range map[string]error{
		"calendar:month": grid.ErrCalendar, "calendar:": grid.ErrCalendar, "": grid.ErrInvalid, "fixed": grid.ErrInvalid, "fixed:": grid.ErrInvalid,
		"fixed:0": grid.ErrInvalid, "fixed:-1": grid.ErrInvalid, "fixed:9223372036854775808": grid.ErrInvalid, "pattern:": grid.ErrInvalid,
		"pattern:1,,2": grid.ErrInvalid, "pattern:1,0": grid.ErrInvalid, "pattern:9223372036854775807,1": grid.ErrOverflow, "append-one:": grid.ErrInvalid,
		"preplanned:5": grid.ErrInvalid, "preplanned:[]": grid.ErrInvalid, "preplanned:[1],[2]": grid.ErrInvalid, "preplanned:": grid.ErrInvalid,
		"preplanned:[[1,0]]": grid.ErrInvalid, "preplanned:[0]": grid.ErrInvalid, "preplanned:[[3,9000000000000000000]]": grid.ErrOverflow, "weekly": grid.ErrInvalid,
	} {
		if _, err := grid.ParseGrowth(text); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// TestGrowthKind checks that a policy is known by what it does, not by its text: the name
// of boundaries may be any.
func TestGrowthKind(t *testing.T) {
	next := func(at int64) (int64, error) { return at + 1, nil }
	for _, c := range []struct {
		g             grid.Growth
		keeps, append bool
	}{
		{grid.Growth{}, true, true},
		{grid.AppendOne(), true, true},
		{grid.AppendOne().RoundedUp(4), true, true},
		{grid.RepeatLast(), true, false},
		{grid.Fixed(3), false, false},
		{grid.Pattern(3), false, false},
		{grid.Preplanned(grid.Run{Length: 3, Count: 1}), false, false},
		{grid.ByBoundaries("append-one", next), false, false},
		{grid.ByBoundaries("repeat-last", next), false, false},
	} {
		if keeps, one := c.g.KeepsRegular(), c.g.IsAppendOne(); keeps != c.keeps || one != c.append {
			t.Errorf("%v keeps regular: %t, appends one: %t", c.g, keeps, one)
		}
		a, err := grid.NewAxis(10, grid.Every(5))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Grown(12, c.g); (err == nil) != c.keeps {
			t.Errorf("%v on a regular axis: %v", c.g, err)
		}
	}
}

func TestParseShrink(t *testing.T) {
	for _, s := range []grid.Shrink{grid.KeepEdges, grid.TrimEdges, grid.TrimExact} {
		if got, err := grid.ParseShrink(s.String()); err != nil || got != s {
			t.Errorf("%v was read as %v (%v)", s, got, err)
		}
	}
	if _, err := grid.ParseShrink("trim"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("trim: %v", err)
	}
}

// FuzzParseGrowth checks that a policy, once written, is read again as the same policy,
// and that it either grows an axis or returns an error.
func FuzzParseGrowth(f *testing.F) {
	for _, text := range []string{"append-one", "repeat-last", "fixed:3", "pattern:31, 28", "preplanned:[[10,80],[1,3],5]", "calendar:month", "preplanned:[1],[2]", "fixed:0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := grid.ParseGrowth(text)
		if err != nil {
			if !errors.Is(err, grid.ErrInvalid) && !errors.Is(err, grid.ErrOverflow) && !errors.Is(err, grid.ErrCalendar) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := grid.ParseGrowth(g.String())
		if err != nil || again.String() != g.String() {
			t.Fatalf("%q is written as %s and read again as %v (%v)", text, g, again, err)
		}
		a, err := grid.NewAxis(10, grid.Edges(4, 9))
		if err != nil {
			t.Fatal(err)
		}
		b, err := a.Grown(100, g)
		c, errC := a.Grown(100, again)
		if (err == nil) != (errC == nil) || err == nil && (b.Extent() != 100 || !b.Equal(c)) {
			t.Fatalf("%q: extent %d, %v and %v", text, b.Extent(), err, errC)
		}
	})
}

// FuzzParseShrink checks that only the names of policies are accepted.
func FuzzParseShrink(f *testing.F) {
	f.Add("keep-edges")
	f.Add("trim-exact ")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := grid.ParseShrink(text)
		named := text == "keep-edges" || text == "trim-edges" || text == "trim-exact"
		if (err == nil) != named || named && s.String() != text {
			t.Fatalf("%q was read as %v (%v)", text, s, err)
		}
	})
}

func run(length, count int64) grid.Run { return grid.Run{Length: length, Count: count} }

func TestRoundedUp(t *testing.T) {
	plan := grid.Preplanned(run(4, 2), run(5, 1))
	for _, tt := range []struct {
		name   string
		extent int64
		cut    grid.Cut
		to     int64
		how    grid.Growth
		want   []int64
	}{
		{"one edge", 10, grid.Edges(10), 17, grid.AppendOne().RoundedUp(5), []int64{10, 10}},
		{"one that fits", 10, grid.Edges(10), 20, grid.AppendOne().RoundedUp(5), []int64{10, 10}},
		{"within the edges", 7, grid.Edges(10), 9, grid.AppendOne().RoundedUp(7), []int64{10}},
		{"the last of many", 10, grid.Edges(10), 24, grid.Fixed(7).RoundedUp(4), []int64{10, 7, 8}},
		{"the last again", 6, grid.Edges(6), 18, grid.RepeatLast().RoundedUp(4), []int64{6, 6, 8}},
		{"of a pattern", 3, grid.Edges(3), 12, grid.Pattern(4, 1).RoundedUp(4), []int64{3, 4, 1, 4}},
		{"of a pattern that ends short", 3, grid.Edges(3), 8, grid.Pattern(4, 1).RoundedUp(4), []int64{3, 4, 4}},
		{"of a plan", 3, grid.Edges(3), 5, plan.RoundedUp(4), []int64{3, 4, 4, 8}},
		{"of a plan that is too short otherwise", 3, grid.Edges(3), 19, plan.RoundedUp(4), []int64{3, 4, 4, 8}},
		{"of a plan that is followed", 5, grid.Edges(3, 4, 4, 8), 12, plan.RoundedUp(4), []int64{3, 4, 4, 8}},
		{"by 1", 10, grid.Edges(10), 17, grid.AppendOne().RoundedUp(1), []int64{10, 7}},
		{"a step follows", 6, grid.Every(4), 9, grid.AppendOne().RoundedUp(3), []int64{4, 4, 4}},
		{"a large one", 10, grid.Edges(10), 11, grid.AppendOne().RoundedUp(1 << 60), []int64{10, 1 << 60}},
		{"the later number", 10, grid.Edges(10), 17, grid.AppendOne().RoundedUp(5).RoundedUp(4), []int64{10, 8}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := newAxis(t, tt.extent, tt.cut).Grown(tt.to, tt.how)
			if err != nil {
				t.Fatal(err)
			}
			if got := lengths(a); a.Extent() != tt.to || !slices.Equal(got, tt.want) {
				t.Errorf("extent %d, edges %v; want %d, %v", a.Extent(), got, tt.to, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		name string
		cut  grid.Cut
		how  grid.Growth
		want error
		says string
	}{
		{"0", grid.Edges(10), grid.AppendOne().RoundedUp(0), grid.ErrInvalid, "at least 1, got 0"},
		{"negative", grid.Edges(10), grid.Fixed(3).RoundedUp(-5), grid.ErrInvalid, "growth fixed:3: "},
		{"0 of a step", grid.Every(10), grid.AppendOne().RoundedUp(0), grid.ErrInvalid, "at least 1"},
		{"past 64 bits", grid.Edges(10), grid.AppendOne().RoundedUp(math.MaxInt64), grid.ErrOverflow, ""},
		{"past 64 bits itself", grid.Edges(10), grid.Fixed(math.MaxInt64 - 11).RoundedUp(1 << 62), grid.ErrOverflow, ""},
		{"a plan past 64 bits", grid.Edges(10), grid.Preplanned(run(math.MaxInt64, 1)).RoundedUp(2), grid.ErrOverflow, ""},
		{"a plan that contradicts", grid.Edges(14, 4, 4, 5), grid.Preplanned(run(4, 2), run(5, 1)).RoundedUp(4), grid.ErrInvalid, "contradicts"},
	} {
		if _, err := newAxis(t, 10, tt.cut).Grown(15, tt.how); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %v that says %q", tt.name, err, tt.want, tt.says)
		}
	}
	if text := grid.Fixed(7).RoundedUp(4).String(); text != "fixed:7" {
		t.Errorf("text %q", text)
	}
}

// TestRoundedUpAgainstModel compares with the same growth without rounding. Only the last
// new edge may be longer.
func TestRoundedUpAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		a := m.axis(t)
		to := m.extent + rapid.Int64Range(0, 120).Draw(t, "gain")
		given := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 5).Draw(t, "given")
		n := rapid.Int64Range(1, 12).Draw(t, "multiple")
		g := []grid.Growth{grid.AppendOne(), grid.RepeatLast(), grid.Fixed(given[0]), grid.Pattern(given...)}[rapid.IntRange(0, 3).Draw(t, "policy")]
		plain, err := a.Grown(to, g)
		rounded, also := a.Grown(to, g.RoundedUp(n))
		if (err == nil) != (also == nil) {
			t.Fatalf("%v, and %v", err, also)
		}
		if err != nil {
			return
		}
		want := lengths(plain)
		if last := len(want) - 1; m.step == 0 && plain.Cells() > a.Cells() {
			want[last] = (want[last] + n - 1) / n * n
		}
		if got := lengths(rounded); rounded.Extent() != to || !slices.Equal(got, want) {
			t.Fatalf("%v to %d, rounded up to %d: edges %v, want %v", g, to, n, got, want)
		}
	})
}

// TestRoundedUpDoesNotTouch checks that the original policy, which may be in use
// elsewhere, stays as it is.
func TestRoundedUpDoesNotTouch(t *testing.T) {
	plan := grid.Preplanned(run(4, 3))
	before := plan.String()
	if _, err := newAxis(t, 3, grid.Edges(3)).Grown(6, plan.RoundedUp(5)); err != nil || plan.String() != before {
		t.Errorf("plan %v (%v), before %v", plan, err, before)
	}
}
