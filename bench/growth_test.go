// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// brieflyGrown is a reach that takes seconds.
var brieflyGrown = reach{
	counts: []int64{10, 100}, cell: 256, appends: 3, listed: []int64{10, 100}, cuts: []int64{512, 4096}, cut: 64 * kib,
	arrays: []int64{8 * kib, 64 * kib}, chunk: 4 * kib, shard: 8 * kib, inner: 512, flying: []int{1, 4}, flown: 32 * kib,
}

// built builds Varve's program in a cache folder.
func built(t *testing.T, cache string) []candidate {
	t.Helper()
	program := filepath.Join(cache, "bin", "varve-peer")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./peers/varve")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found, _, err := present(cache, []string{"varve"})
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", names(found), err)
	}
	return found
}

// TestGrow measures all series with Varve, and draws them.
func TestGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program and runs it for seconds")
	}
	cache := t.TempDir()
	found := built(t, cache)
	s := settings{cache: cache, size: sizes[0], rounds: 1, limit: time.Minute, slow: time.Second}
	all := allSeries(brieflyGrown)
	done, err := measureSeries(t.Context(), s, all, found)
	if err != nil || len(done) != len(all) {
		t.Fatalf("%d of %d series: %v", len(done), len(all), err)
	}
	for _, g := range done {
		for _, p := range g.Places {
			if r := p.Results[0]; r.Why != "" || r.Median <= 0 {
				t.Errorf("%s at %v: %+v", g.ID, p.X, r)
			}
			if far := g.ID == "concurrency/far"; far != (p.Ideal > 0) || far && p.Results[0].Median < p.Ideal {
				t.Errorf("%s at %v: %v seconds, ideal are %v", g.ID, p.X, p.Results[0].Median, p.Ideal)
			}
		}
		if svg := g.chart().svg(); !bytes.Contains(svg, []byte(">varve<")) || bytes.Contains(svg, []byte("NaN")) {
			t.Errorf("%s: %s", g.ID, svg)
		}
	}
	left, err := filepath.Glob(filepath.Join(cache, "data", "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("data sets that are left: %v, %v", left, err)
	}
}

// TestSeries checks that names of series are unique, that data sets with the same name
// are equal, and the ranges of numbers.
func TestSeries(t *testing.T) {
	for _, z := range sizes {
		seen, sets, last := map[string]bool{}, map[string]string{}, ""
		for _, s := range allSeries(reaches[z.name]) {
			if q := question(s.id); seen[s.id] || questions[q] == "" || q != last && seen[q] {
				t.Errorf("%s: series %s is there twice, has no heading, or stands apart", z.name, s.id)
			} else {
				seen[s.id], seen[q], last = true, true, q
			}
			if first, last := s.points[0].x, s.points[len(s.points)-1].x; last < 100*first {
				t.Errorf("%s: %s goes from %v to %v, less than two orders of magnitude", z.name, s.id, first, last)
			}
			for _, p := range s.points {
				text, _ := json.Marshal(p.data.spec)
				if old, ok := sets[p.data.name]; ok && old != string(text) {
					t.Errorf("%s: two sets %s", z.name, p.data.name)
				}
				sets[p.data.name] = string(text)
			}
		}
	}
}

// TestSpecs checks the sizes of arrays, chunks and inner chunks, and the number of
// chunks.
func TestSpecs(t *testing.T) {
	size := func(sides []int64, element int64) int64 {
		for _, n := range sides {
			element *= n
		}
		return element
	}
	for _, z := range []reach{brieflyGrown, reaches["small"], reaches["full"]} {
		for _, n := range z.counts {
			for _, s := range []set{cellsOf(n, z.cell), emptyOf(n, z.cell)} {
				if got := size(s.spec.Shape, int64(s.spec.Type.Size())); got != n*z.cell {
					t.Errorf("%s has %d bytes, want %d chunks of %d", s.name, got, n, z.cell)
				}
			}
		}
		for _, n := range slices.Concat(z.cuts, z.arrays, []int64{z.cut, z.chunk, z.shard, z.inner, z.flown}) {
			if got := size(near(n/2, 3), 2); got != n {
				t.Errorf("a box of %d bytes has %d", n, got)
			}
		}
	}
	if got := near(1<<13, 3); !slices.Equal(got, []int64{16, 16, 32}) {
		t.Errorf("8192 elements are a box of %v", got)
	}
}

// TestEmpty checks that empty sets store no chunks, and that appended values follow the
// empty part.
func TestEmpty(t *testing.T) {
	s := emptyOf(10, 256)
	dir, err := s.make(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v, want a document alone", entries, err)
	}
	plane := s.elements([]int64{9, 0, 0}, []int64{11, 8, 8})
	if !bytes.Equal(plane[:256], make([]byte, 256)) || !bytes.Equal(plane[256:260], []byte{0, 0, 32, 65}) {
		t.Errorf("planes 9 and 10 are %v", plane)
	}
}
