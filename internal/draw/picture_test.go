// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

// TestBandsAgreeWithAxis checks that bands add up to the extent, that those within it
// come first, and that only the cell that the extent cuts has two bands.
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

// TestBandsAreTrueToScale checks that sizes are to scale, or marked as larger.
func TestBandsAreTrueToScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(append([]scale{rowScale}, columnScales...)).Draw(t, "scale")
		a := anyAxis(t)
		list, _ := single(a, a.Cells())
		bands := unicodeText.bands(list, s, rapid.Bool().Draw(t, "columns"))
		for _, small := range bands {
			for _, b := range bands {
				// As many characters per element as small has, allowing for the rounding
				// of both.
				most := (float64(small.size)+.5)/float64(small.elements)*float64(b.elements) + .5
				if !b.stretched && float64(b.size) > most+1e-9*most {
					t.Fatalf("%+v has no mark beside %+v", b, small)
				}
			}
		}
		if len(bands) > 0 && !slices.ContainsFunc(bands, func(b band) bool { return !b.stretched }) {
			t.Fatalf("all is larger than to scale: %+v", bands)
		}
	})
}

// TestStretchedBandsAreMarked draws one long and several short chunks, and similar ones.
func TestStretchedBandsAreMarked(t *testing.T) {
	for _, test := range []struct {
		edges []int64
		want  string
	}{
		{[]int64{366, 1, 1}, "━┅┅"}, {[]int64{31, 28, 31, 30}, "━━━━"}, {[]int64{1, 1}, "━━"}, {[]int64{2, 1}, "━━"},
		{[]int64{100, 30, 1}, "━━┅"},
	} {
		sum := int64(0)
		for _, n := range test.edges {
			sum += n
		}
		g, err := grid.New([]int64{sum}, grid.Edges(test.edges...))
		if err != nil {
			t.Fatal(err)
		}
		drawing := Grid(g, nil)
		_, rest, _ := strings.Cut(drawing, "┏")
		top, _, _ := strings.Cut(rest, "┓")
		got := ""
		for line := range strings.SplitSeq(top, "┯") {
			r, _ := utf8.DecodeRuneInString(line)
			got += string(r)
		}
		marked := strings.Contains(drawing, "larger than to scale")
		if got != test.want || marked != strings.Contains(test.want, "┅") {
			t.Errorf("%v: %s, want %s:\n%s", test.edges, got, test.want, drawing)
		}
	}
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

// junction returns the index of the character with the given lines.
func junction(up, right, down, left int) int { return 27*up + 9*right + 3*down + left }

func TestUnicodeJunctions(t *testing.T) {
	if n := len(unicodeText.junctions); n != 81 {
		t.Fatalf("%d characters", n)
	}
	seen := map[rune]int{}
	for i, r := range unicodeText.junctions {
		if before, ok := seen[r]; ok {
			t.Errorf("%c stands for %d and for %d", r, before, i)
		}
		seen[r] = i
		if i > 0 && (r < 0x2500 || r > 0x257f) {
			t.Errorf("%c is no line", r)
		}
	}
	tests := map[rune]int{
		'┏': junction(0, 2, 2, 0), '┓': junction(0, 0, 2, 2), '┗': junction(2, 2, 0, 0), '┛': junction(2, 0, 0, 2),
		'┠': junction(2, 1, 2, 0), '┨': junction(2, 0, 2, 1), '┯': junction(0, 2, 1, 2), '┷': junction(1, 2, 0, 2),
		'┼': junction(1, 1, 1, 1), '│': junction(1, 0, 1, 0), '─': junction(0, 1, 0, 1), '╋': junction(2, 2, 2, 2),
		'┱': junction(0, 1, 2, 2), '┹': junction(2, 1, 0, 2), '╂': junction(2, 1, 2, 1), '┿': junction(1, 2, 1, 2),
	}
	for r, i := range tests {
		if got := unicodeText.junctions[i]; got != r {
			t.Errorf("character %d is %c, want %c", i, got, r)
		}
	}
}

// TestASCIIJunctions checks that the characters show the directions of the lines.
func TestASCIIJunctions(t *testing.T) {
	if n := len(asciiText.junctions); n != 81 {
		t.Fatalf("%d characters", n)
	}
	for i, r := range asciiText.junctions {
		upright, level := i/27 > 0 || i/3%3 > 0, i/9%3 > 0 || i%3 > 0
		want := map[[2]bool]string{{false, false}: " ", {true, false}: "|", {false, true}: "-=", {true, true}: "+"}[[2]bool{upright, level}]
		if r > unicode.MaxASCII || !strings.ContainsRune(want, r) {
			t.Errorf("character %d is %c, want one of %q", i, r, want)
		}
	}
}
