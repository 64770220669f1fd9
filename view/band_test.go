package view

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// TestBandsAgreeWithAxis checks that bands add up to the extent, that those inside come first, and that only the cell
// that the extent cuts has two.
func TestBandsAgreeWithAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyAxis(t)
		list, _ := single(a, a.Cells())
		bands := unicodeText.bands(list, columnScales[0], true)
		inside := insideOf(bands)
		joined := 0
		for i, b := range bands {
			if b.inside != (i < inside) {
				t.Fatalf("band %d of %d inside ones: %+v", i, inside, b)
			}
			if b.size < max(1, utf8.RuneCountInString(b.label)) {
				t.Fatalf("no room in %+v", b)
			}
			if b.joined {
				joined++
			}
		}
		if int64(inside) != a.Chunks() || int64(len(bands)-joined) != a.Cells() || joined > 1 {
			t.Fatalf("%d bands, %d inside, %d joined, for %d chunks and %d cells", len(bands), inside, joined, a.Chunks(), a.Cells())
		}
	})
}

// TestSizer checks that longer cells are never narrower, and that all are within the scale.
func TestSizer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.Int64Range(1, 1<<62), 1, 10).Draw(t, "lengths")
		var list []span
		for _, n := range lengths {
			list = append(list, span{edge: n, inside: n})
		}
		s := rapid.SampledFrom(append([]scale{rowScale}, columnScales...)).Draw(t, "scale")
		size := s.sizer(list)
		for _, a := range lengths {
			if n := size(a); n < s.low || n > s.high {
				t.Fatalf("length %d has size %d in %+v", a, n, s)
			}
			for _, b := range lengths {
				if a < b && size(a) > size(b) {
					t.Fatalf("%d is wider than %d", a, b)
				}
			}
		}
	})
}

func TestLabel(t *testing.T) {
	cells := func(n int64) grid.Interval { return grid.Interval{Start: 0, Stop: n} }
	tests := []struct {
		s    span
		want string
	}{
		{span{cells(1), 25, 25}, "25"},
		{span{cells(4), 365, 365}, "365 ×4"},
		{span{cells(1), 25, 0}, "(25)"},
		{span{cells(3), 25, 0}, "(25 ×3)"},
		{span{cells(1_000_000), 1, 1}, "1 ×10^6"},
		{span{cells(12), 0, 1}, "12 more"},
		{span{cells(12), 0, 0}, "(12 more)"},
	}
	for _, test := range tests {
		if got := unicodeText.label(test.s); got != test.want {
			t.Errorf("label of %+v is %q, want %q", test.s, got, test.want)
		}
	}
}

func TestNumber(t *testing.T) {
	tests := map[int64]string{
		0: "0", 7: "7", 1000: "1000", 100_000: "100000", 1_000_000: "10^6", 2_000_000: "2000000", 1_000_001: "1000001",
		1_000_000_000_000_000_000: "10^18", 1<<63 - 1: "9223372036854775807",
	}
	for n, want := range tests {
		if got := number(n); got != want {
			t.Errorf("number(%d) is %q, want %q", n, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	tests := []struct {
		text  string
		width int
		want  string
	}{
		{"größe", 5, "größe"}, {"größer", 5, "größ…"}, {"ab", 1, "…"}, {"ab", 0, ""}, {"", 0, ""},
	}
	for _, test := range tests {
		if got := clip(test.text, test.width, "…"); got != test.want {
			t.Errorf("clip(%q, %d) is %q, want %q", test.text, test.width, got, test.want)
		}
	}
	if got := clip("abcdef", 2, "..."); got != "ab" {
		t.Errorf("where dots have no room: %q", got)
	}
}
