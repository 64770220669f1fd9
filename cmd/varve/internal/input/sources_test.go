// SPDX-License-Identifier: Apache-2.0

package input

import (
	"slices"
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
