// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

func TestGroups(t *testing.T) {
	for _, tt := range []struct {
		labels []string
		want   []int64
		says   string
	}{
		{[]string{"a"}, []int64{1}, ""},
		{[]string{"a", "a", "b", "c", "c", "c"}, []int64{2, 1, 3}, ""},
		{nil, nil, "no labels"},
		{[]string{"a", "b", "b", "a"}, nil, `label "a" at index 3 belongs to the group that begins at index 0`},
		{[]string{"b", "c", "a"}, nil, `label "a" at index 2 comes after "c"`},
	} {
		cut, err := grid.Groups(tt.labels)
		if tt.says != "" {
			if !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v: %v, want %s", tt.labels, err, tt.says)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := lengths(newAxis(t, int64(len(tt.labels)), cut)); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.labels, got, tt.want)
		}
	}
	if cut, err := grid.Groups([]float64{math.NaN(), math.NaN(), 1}); err != nil || len(lengths(newAxis(t, 3, cut))) != 2 {
		t.Errorf("labels that are no numbers are not one group: %v", err)
	}
}

func TestGroupsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 30).Draw(t, "labels")
		if rapid.Bool().Draw(t, "sorted") {
			slices.Sort(labels)
		}
		cut, err := grid.Groups(labels)
		if sorted := slices.IsSorted(labels); !sorted || err != nil {
			if sorted == (err != nil) {
				t.Fatalf("%v: %v", labels, err)
			}
			return
		}
		count := map[int]int64{}
		for _, l := range labels {
			count[l]++
		}
		var want []int64
		for _, l := range slices.Compact(slices.Clone(labels)) {
			want = append(want, count[l])
		}
		a, err := grid.NewAxis(int64(len(labels)), cut)
		if err != nil || !slices.Equal(lengths(a), want) {
			t.Fatalf("%v: %v (%v), want %v", labels, lengths(a), err, want)
		}
		b, extent, err := grid.Counts(want)
		if err != nil || extent != int64(len(labels)) {
			t.Fatalf("counts %v sum to %d (%v)", want, extent, err)
		}
		if c, err := grid.NewAxis(extent, b); err != nil || !c.Equal(a) {
			t.Fatalf("counts %v are not the groups of %v (%v)", want, labels, err)
		}
	})
}

func TestCountsRefused(t *testing.T) {
	for _, tt := range []struct {
		counts []int64
		want   error
		says   string
	}{
		{nil, grid.ErrInvalid, "no counts"},
		{[]int64{3, 0}, grid.ErrInvalid, "index 1 is 0"},
		{[]int64{-3}, grid.ErrInvalid, "index 0 is -3"},
		{[]int64{math.MaxInt64, 1}, grid.ErrOverflow, "index 1"},
	} {
		if _, _, err := grid.Counts(tt.counts); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v, want %v that says %s", tt.counts, err, tt.want, tt.says)
		}
	}
}
