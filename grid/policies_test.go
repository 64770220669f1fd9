// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"testing"

	"varve.dev/zarr/grid"
)

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
