// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"varve.dev/zarr/grid"
)

// TestRechunks checks that every case has a name of its own, a target, a candidate to
// compare with, and blocks that cover the array.
func TestRechunks(t *testing.T) {
	for name, z := range extents {
		seen := map[string]bool{}
		for _, r := range allRechunks(z, "") {
			if seen[r.id] || r.target == nil || r.request.Rechunking == nil {
				t.Errorf("%s: case %s has no name or no target of its own", name, r.id)
			}
			seen[r.id] = true
			if r.goal.beside != "" && !hasCandidate(r, r.goal.beside) {
				t.Errorf("%s: case %s has no candidate %q", name, r.id, r.goal.beside)
			}
			if _, err := grid.New(r.target.Shape, r.target.Chunks...); err != nil {
				t.Errorf("%s: case %s: %v", name, r.id, err)
			}
			if name == "full" {
				continue
			}
			n := int64(0)
			for _, box := range blocksOf(r.data.spec, *r.target, z.memory/4) {
				n += volume(box)
			}
			if want := volume(r.data.whole()); n != want {
				t.Errorf("%s: the blocks of case %s have %d of %d elements", name, r.id, n, want)
			}
		}
	}
}

func hasCandidate(r rechunking, name string) bool {
	for _, c := range r.candidates {
		if c.name == name {
			return true
		}
	}
	return false
}

// TestRechunked checks the ratios and the marks of goals.
func TestRechunked(t *testing.T) {
	of := func(name string, peak int64, seconds ...float64) result {
		var runs []sample
		for _, s := range seconds {
			runs = append(runs, sample{seconds: s, peak: peak, bytes: 1e9})
		}
		return result{Candidate: name, Varve: name == "varve", figures: gather(runs)}
	}
	r := &rechunked{Cases: []compared{
		{measured{ID: "a", Results: []result{of("varve", 20<<20, 1, 2, 3), of("cp", 1<<20, 2, 2, 2)}}, "cp", 1.25, 0},
		{measured{ID: "b", Results: []result{of("varve", 200<<20, 1, 1), of("zarrs", 1, 4, 5), of("slow", 1, 9, 9)}}, "", 0.67, 100 << 20},
		{measured{ID: "c", Results: []result{{Candidate: "varve", Varve: true, Why: "failed: took too long"}, of("zarrs", 1, 4)}}, "", 0.67, 100 << 20},
	}}
	var text bytes.Buffer
	r.markdown(&text)
	for _, want := range []string{
		"| a | 2 s | cp | 2 s | 1.00 (0.50–1.50) | 1.25 ✓ | 20 MiB | – |", "| b | 1 s | zarrs | 4.5 s | 0.23 (0.20–0.25) | 0.67 ✓ | 200 MiB | 100 MiB ✗ |",
		"| c | no figure ✗ | – | – | – | – | – | – |",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}
