// SPDX-License-Identifier: Apache-2.0

package input

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCompareNaturally(t *testing.T) {
	want := []string{"a", "a1", "a2", "a02b", "a10", "a10b2", "a10b11", "a99999999999999999999998", "a99999999999999999999999", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareNaturally)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestMatches lists files in the order of the numbers in their names, and nodes in files
// of other formats.
func TestMatches(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"day 10.nc", "day 9.nc", "day 11.npy", "x.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		"day*":            {"day 9.nc", "day 10.nc", "day 11.npy"},
		"day*.nc/t2m":     {"day 9.nc/t2m", "day 10.nc/t2m"},
		"day*.nc/land/t2": {"day 9.nc/land/t2", "day 10.nc/land/t2"},
		"*.csv/t2m":       nil,
		"none*/t2m":       nil,
	} {
		got, err := Matches(filepath.ToSlash(dir) + "/" + pattern)
		for i := range got {
			got[i] = strings.TrimPrefix(filepath.ToSlash(got[i]), filepath.ToSlash(dir)+"/")
		}
		if !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
}
