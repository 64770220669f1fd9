// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

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
