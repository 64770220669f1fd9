// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// gridOf returns a grid of n chunks.
func gridOf(t *testing.T, n int64) *grid.Grid {
	t.Helper()
	g, err := grid.New([]int64{n}, grid.Every(1))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestShares checks that the ranges of all shares of an array follow each other without
// gaps, and that chunk i is in range i*of/n.
func TestShares(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n, of := r.Int64N(40), 1+r.Int64N(30)
		g, path := gridOf(t, n), strconv.Itoa(r.Int())
		owner := make([]int64, n)
		for i := range owner {
			owner[i] = -1
		}
		for task := range of {
			s := share{task, of}
			p := s.of(path, g)
			if p.all != n || p.size != p.to-p.from || p.from < 0 || p.size < 0 {
				t.Fatalf("%v of %d chunks: %+v", s, n, p)
			}
			for i := p.from; i < p.to; i++ {
				if owner[i] >= 0 || i*of/n != s.place(path) {
					t.Fatalf("%v of %d chunks has chunk %d, and so has part %d", s, n, i, owner[i])
				}
				owner[i] = task
			}
		}
		for i, task := range owner {
			if task < 0 {
				t.Fatalf("chunk %d of %d is in no part of %d", i, n, of)
			}
		}
	}
}

// TestSharesOfMany takes the numbers from which products overflow.
func TestSharesOfMany(t *testing.T) {
	for _, n := range []int64{0, 1, 5, 1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
		g := gridOf(t, n)
		for _, of := range []int64{1, 2, 3, 1 << 33, math.MaxInt64} {
			if p := (share{0, of}); p.place("") >= of || p.place("") < 0 {
				t.Errorf("%v has place %d", p, p.place(""))
			}
			if from, to := bound(n, 0, of), bound(n, of, of); from != 0 || to != n {
				t.Errorf("%d parts of %d chunks: %d to %d", of, n, from, to)
			}
			for _, k := range []int64{0, of / 3, of - 1} {
				if p := (share{k, of}).of("a", g); p.size < n/of || p.size-1 > n/of || p.from < 0 || p.to > n {
					t.Errorf("%d of %d parts of %d chunks: %+v", k, of, n, p)
				}
			}
		}
	}
}

// TestUnnumbered gives all chunks of a grid that has too many to number to one part.
func TestUnnumbered(t *testing.T) {
	g, err := grid.New([]int64{1 << 40, 1 << 40}, grid.Every(1), grid.Every(1))
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for task := range int64(7) {
		p := share{task, 7}.of("x", g)
		if sum += p.size; p.from != 0 || p.to != 0 || p.all != 1 {
			t.Errorf("%+v", p)
		}
	}
	if sum != 1 {
		t.Errorf("%d parts have the chunks", sum)
	}
}

// TestSmallArraysSpread gives arrays of one chunk to different parts.
func TestSmallArraysSpread(t *testing.T) {
	g, counts := gridOf(t, 1), make([]int64, 8)
	for i := range 800 {
		for task := range counts {
			counts[task] += share{int64(task), 8}.of("group/v"+strconv.Itoa(i), g).size
		}
	}
	for task, n := range counts {
		if n < 50 || n > 150 {
			t.Errorf("part %d has %d of 800 arrays", task, n)
		}
	}
}

// TestSentinels checks that an error of each kind that is restored is of the same kind.
func TestSentinels(t *testing.T) {
	for kind := range sentinels {
		for _, corrupt := range []bool{false, kind == zarr.KindDecided || kind == zarr.KindChecksum} {
			err, ok := errorJSON{kind, corrupt, "text"}.restored()
			if !ok || zarr.KindOf(err) != kind || err.Error() != "text" {
				t.Errorf("%s (corrupt %t) becomes %v, of kind %s", kind, corrupt, err, zarr.KindOf(err))
			}
			if again := newErrorJSON(err); again.Kind != kind || again.Message != "text" {
				t.Errorf("%s becomes %+v", kind, again)
			}
		}
	}
	source, err := os.ReadFile("../errors.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`Kind\w+ +Kind = "(.+)"`).FindAllSubmatch(source, -1) {
		if _, known := sentinels[zarr.Kind(m[1])]; !known {
			t.Errorf("kind %s has no sentinel", m[1])
		}
	}
	if err, ok := (errorJSON{Kind: "other"}).restored(); ok {
		t.Error(err)
	}
}
