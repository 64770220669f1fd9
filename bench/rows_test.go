// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

// TestRows checks that every row has a unique name and a data set, and that a pattern
// does not match a longer number.
func TestRows(t *testing.T) {
	for _, z := range sizes {
		sets, seen := allSets(z), map[string]bool{}
		for _, r := range allRows(z) {
			if seen[r.id] {
				t.Errorf("%s: two rows %s", z.name, r.id)
			}
			seen[r.id] = true
			if _, ok := sets[r.set]; !ok {
				t.Errorf("%s: row %s has no data set %q", z.name, r.id, r.set)
			}
		}
	}
	small := sizes[0]
	if n := len(chosen(small, nil)); n < 30 || n >= len(allRows(small)) {
		t.Errorf("the small size has %d of %d rows", n, len(allRows(small)))
	}
	if got := chosen(small, []string{"1"}); slices.ContainsFunc(got, func(r row) bool { return r.id[:2] != "1/" }) {
		t.Errorf("rows of 1: %v", got)
	}
	if got := chosen(small, []string{"10/raw/synced", "4/*/all"}); len(got) != 2 {
		t.Errorf("%d rows, want 2", len(got))
	}
	for _, p := range brief {
		if len(chosen(small, []string{p})) == 0 {
			t.Errorf("no row is called %s", p)
		}
	}
}

// TestEdges checks that uneven edges cover the cubes.
func TestEdges(t *testing.T) {
	for _, z := range sizes {
		for name, s := range allSets(z) {
			if s.group != nil || s.values == nil {
				continue
			}
			boxes, err := s.boxes(s.spec.InnerChunks != nil)
			n, whole := int64(0), int64(1)
			for _, box := range boxes {
				n += volume(box)
			}
			for _, extent := range s.spec.Shape {
				whole *= extent
			}
			if err != nil || n != whole {
				t.Errorf("%s %s: chunks have %d of %d elements: %v", z.name, name, n, whole, err)
			}
		}
	}
}

func volume(box []int64) int64 {
	n, rank := int64(1), len(box)/2
	for k := range rank {
		n *= box[rank+k] - box[k]
	}
	return n
}

func TestPlanes(t *testing.T) {
	boxes := planes([]int64{8, 4}, 2)
	want := [][]int64{{2, 0, 3, 4}, {6, 0, 7, 4}, {0, 1, 8, 2}, {0, 3, 8, 4}}
	if !slices.EqualFunc(boxes, want, slices.Equal) {
		t.Errorf("planes %v, want %v", boxes, want)
	}
}
