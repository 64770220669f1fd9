// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// TestRulersAreTrueToScale checks that strips are to scale or marked, that labels do not
// touch, and that there is no gap between strips.
func TestRulersAreTrueToScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]*rulerKind{&rowKind, &columnKind}).Draw(t, "kind")
		r := newRuler(kind, anyAxis(t), nil)
		end, unit := 0, 0.0 // unit: pixels per element of a strip without a mark
		for _, s := range r.strips {
			if s.at != end || s.size < thinnest {
				t.Fatalf("strip %+v after %d pixels", s, end)
			}
			end += s.size
			if s.elements > 0 && !s.stretched {
				unit = max(unit, float64(s.size-3)/float64(s.elements))
			}
		}
		for _, s := range r.strips {
			if s.elements > 0 && float64(s.size+3) < unit*float64(s.elements) {
				t.Fatalf("%+v is smaller than to scale, %f an element", s, unit)
			}
		}
		for i := range r.labels {
			if r.touch(i) {
				t.Fatalf("labels %d and %d of %+v touch", i, i+1, r.labels)
			}
		}
	})
}

// TestStretchedStripsAreMarked draws one long and several short chunks, and similar ones.
func TestStretchedStripsAreMarked(t *testing.T) {
	tests := []struct {
		edges []int64
		want  string // a letter for every strip, z for those with a mark
	}{
		{[]int64{366, 1, 1, 1}, ".zzz"},
		{[]int64{31, 28, 31, 30, 1}, "....."},
		{[]int64{1, 1, 1}, "..."},
	}
	for _, test := range tests {
		sum := int64(0)
		for _, n := range test.edges {
			sum += n
		}
		g, err := grid.New([]int64{sum, 4}, grid.Edges(test.edges...), grid.Every(4))
		if err != nil {
			t.Fatal(err)
		}
		p := newPlate(g, nil)
		got := ""
		for _, s := range p.rows.strips {
			got += map[bool]string{true: "z", false: "."}[s.stretched]
		}
		marked := strings.Contains(string(SVG(g, nil)), "larger than to scale")
		if got != test.want || marked != strings.Contains(test.want, "z") {
			t.Errorf("%v: %s, want %s; in the legend: %v", test.edges, got, test.want, marked)
		}
	}
}
