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

// An axis of shards accepts a length that fits, or says which lengths would.
func ExampleAxis_FittingLengths() {
	shards, err := grid.NewAxis(95, grid.Edges(60, 40))
	if err != nil {
		panic(err)
	}
	grown, err := shards.Grown(95+12, grid.AppendOne())
	if err != nil {
		panic(err)
	}
	if grown.MultipleOf(10) != nil {
		below, above := shards.FittingLengths(12, 10)
		fmt.Println("12 elements do not fit inner chunks of 10;", below, "or", above, "do")
	}
	grown, err = shards.Grown(95+12, grid.AppendOne().RoundedUp(10))
	if err != nil {
		panic(err)
	}
	c, _ := grown.Cell(2)
	fmt.Println("rounded up,", c.Logical, "of", c.Edge, "are in the last shard", grown.MultipleOf(10))
	// Output:
	// 12 elements do not fit inner chunks of 10; 5 or 15 do
	// rounded up, 7 of 10 are in the last shard <nil>
}
