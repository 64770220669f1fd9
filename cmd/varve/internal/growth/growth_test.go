// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/grid"
)

// TestPolicyWords compares the words of --grow with those that package grid reads.
func TestPolicyWords(t *testing.T) {
	_, err := grid.ParseGrowth("unknown")
	_, list, found := strings.Cut(err.Error(), "there are ")
	if !found {
		t.Fatalf("the error lists no policies: %v", err)
	}
	want := []string{"calendar:"} // a policy of this package
	for word := range strings.SplitSeq(list, ", ") {
		name, _, more := strings.Cut(word, ":")
		if more {
			name += ":"
		}
		want = append(want, name)
	}
	slices.Sort(want)
	var got []string
	for _, p := range policies {
		got = append(got, p.word)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the command knows %q, and package grid %q", got, want)
	}
}
