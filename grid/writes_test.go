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

// drawRegion draws a grid with up to most axes, and a region of its array.
func drawRegion(t *rapid.T, most int) (*grid.Grid, grid.Box) {
	shape, cuts, region := []int64{}, []grid.Cut{}, grid.Box{}
	for _, m := range rapid.SliceOfN(rapid.Custom(drawModel), 0, most).Draw(t, "axes") {
		shape, cuts = append(shape, m.extent), append(cuts, m.cut())
		from := rapid.Int64Range(0, m.extent).Draw(t, "from")
		region = append(region, grid.Interval{Start: from, Stop: rapid.Int64Range(from, m.extent).Draw(t, "to")})
	}
	g, err := grid.New(shape, cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return g, region
}

func TestAlignAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, region := drawRegion(t, 3)
		got, err := g.Align(region)
		if err != nil {
			t.Fatal(err)
		}
		for i, in := range region {
			want, start := in, int64(0)
			for _, end := range bounds(g.Axis(i)) {
				if in.Len() > 0 && start < in.Stop && end > in.Start {
					want.Start, want.Stop = min(want.Start, start), max(want.Stop, end)
				}
				start = end
			}
			if got[i] != want {
				t.Fatalf("axis %d: %v is aligned to %v, want %v", i, in, got[i], want)
			}
		}
		again, err := g.Align(got)
		if err != nil || !slices.Equal(again, got) {
			t.Fatalf("%v is aligned, and again it is %v (%v)", got, again, err)
		}
	})
}

func TestSafeWritesAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, region := drawRegion(t, 3)
		n := rapid.IntRange(1, 40).Draw(t, "n")
		pieces, err := g.SafeWrites(region, n)
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := g.Touched(region)
		if err != nil {
			t.Fatal(err)
		}
		touched, _ := chunks.Len()
		if want := min(int64(n), touched); int64(len(pieces)) != want {
			t.Fatalf("%d pieces of %d chunks, asked for %d", len(pieces), touched, n)
		}
		total, _ := region.Len()
		sum, owner := int64(0), map[string]int{}
		most := float64(total)/float64(n) + row(g, region, chunks)
		for k, p := range pieces {
			elements, _ := p.Len()
			sum += elements
			if elements == 0 || float64(elements) > most || !slices.Equal(intersect(p, region), p) {
				t.Fatalf("piece %v of %v has %d elements, at most %v are wanted", p, region, elements, most)
			}
			if k > 0 && !startsBehind(p, pieces[k-1]) {
				t.Fatalf("%v comes before %v", pieces[k-1], p)
			}
			own, err := g.Touched(p)
			if err != nil {
				t.Fatal(err)
			}
			for c := range own.Indices() {
				if before, taken := owner[fmt.Sprint(c)]; taken {
					t.Fatalf("pieces %d and %d touch chunk %v", before, k, c)
				}
				owner[fmt.Sprint(c)] = k
			}
		}
		// Pieces that share no chunk share no element, so this sum shows that none is
		// left out.
		if sum != total {
			t.Fatalf("the pieces have %d elements, the region has %d", sum, total)
		}
	})
}

// row returns the elements of the largest row of chunks across an axis of the region.
func row(g *grid.Grid, region, chunks grid.Box) float64 {
	most := 1.0 // an array without axes is one element
	for i := range region {
		elements := float64(g.Axis(i).Longest(chunks[i]))
		for j, in := range region {
			if j != i {
				elements *= float64(in.Len())
			}
		}
		most = max(most, elements)
	}
	return most
}

func startsBehind(a, b grid.Box) bool {
	for i := range a {
		if a[i].Start != b[i].Start {
			return a[i].Start > b[i].Start
		}
	}
	return false
}

func TestSafeWrites(t *testing.T) {
	domains, err := grid.New([]int64{44, 44}, grid.Edges(10, 8, 8, 8, 10), grid.Edges(10, 8, 8, 8, 10))
	if err != nil {
		t.Fatal(err)
	}
	huge, err := grid.New([]int64{1e18, 1e18}, grid.Every(1), grid.Runs(grid.Run{Length: 1, Count: 1e18}))
	if err != nil {
		t.Fatal(err)
	}
	scalar, _ := grid.New(nil)
	uneven, err := grid.New([]int64{101, 2}, grid.Edges(100, 1), grid.Every(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		g      *grid.Grid
		region grid.Box
		n      int
		want   string
	}{
		{"one", domains, grid.Box{{3, 44}, {0, 20}}, 1, "[[{3 44} {0 20}]]"},
		{"along the first axis", domains, grid.Box{{0, 44}, {0, 44}}, 2, "[[{0 18} {0 44}] [{18 44} {0 44}]]"},
		{"a start within a chunk", domains, grid.Box{{9, 44}, {0, 44}}, 5, "[[{9 10} {0 44}] [{10 18} {0 44}] [{18 26} {0 44}] [{26 34} {0 44}] [{34 44} {0 44}]]"},
		{"along the second", domains, grid.Box{{0, 9}, {0, 44}}, 3, "[[{0 9} {0 10}] [{0 9} {10 26}] [{0 9} {26 44}]]"},
		{"along both", domains, grid.Box{{0, 18}, {0, 18}}, 3, "[[{0 10} {0 10}] [{0 10} {10 18}] [{10 18} {0 18}]]"},
		{"more than chunks", domains, grid.Box{{0, 18}, {0, 18}}, 9, "[[{0 10} {0 10}] [{0 10} {10 18}] [{10 18} {0 10}] [{10 18} {10 18}]]"},
		{"C order, whatever is cut first", domains, grid.Box{{0, 18}, {10, 26}}, 4, "[[{0 10} {10 18}] [{0 10} {18 26}] [{10 18} {10 18}] [{10 18} {18 26}]]"},
		{"C order after rows across the second axis", domains, grid.Box{{10, 26}, {10, 34}}, 6, "[[{10 18} {10 18}] [{10 18} {18 26}] [{10 18} {26 34}] [{18 26} {10 18}] [{18 26} {18 26}] [{18 26} {26 34}]]"},
		{"a long row that takes no more", uneven, grid.Box{{0, 101}, {0, 2}}, 4, "[[{0 100} {0 1}] [{0 100} {1 2}] [{100 101} {0 1}] [{100 101} {1 2}]]"},
		{"empty", domains, grid.Box{{0, 18}, {7, 7}}, 9, "[]"},
		{"huge", huge, grid.Box{{0, 1e18}, {0, 1e18}}, 3, "[[{0 333333333333333333} {0 1000000000000000000}] [{333333333333333333 666666666666666666} {0 1000000000000000000}] [{666666666666666666 1000000000000000000} {0 1000000000000000000}]]"},
		{"no axes", scalar, grid.Box{}, 3, "[[]]"},
		{"nothing to write with", domains, grid.Box{{0, 44}, {0, 44}}, 0, "not into 0"},
		{"hostile", huge, grid.Box{{0, 1e18}, {0, 1e18}}, math.MaxInt, "4194304 pieces, not into"},
		{"outside", domains, grid.Box{{0, 45}, {0, 44}}, 1, "axis 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pieces, err := tt.g.SafeWrites(tt.region, tt.n)
			got := fmt.Sprint(pieces)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) || err != nil && !errors.Is(err, grid.ErrInvalid) && !errors.Is(err, grid.ErrOutOfRange) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestSafeWritesOfManyChunks(t *testing.T) {
	g, err := grid.New([]int64{1e18, 3}, grid.Runs(grid.Run{Length: 3, Count: 1e17}, grid.Run{Length: 7, Count: 1e17}), grid.Edges(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := g.SafeWrites(grid.BoxOf(g.Shape()), 1000)
	if err != nil || len(pieces) != 1000 {
		t.Fatalf("%d pieces (%v)", len(pieces), err)
	}
	for _, p := range pieces {
		if n := p[0].Len(); n < 1e15-7 || n > 1e15+7 || p[1].Len() != 3 {
			t.Fatalf("a piece of %v", p)
		}
	}
}

func BenchmarkSafeWrites(b *testing.B) {
	g, err := grid.New([]int64{1e18, 1000}, grid.Every(1000), grid.Every(10))
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{16, 1024, 65536} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := g.SafeWrites(grid.BoxOf(g.Shape()), n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
