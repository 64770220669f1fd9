// SPDX-License-Identifier: Apache-2.0

package quantity_test

import (
	"math"
	"testing"

	"varve.dev/zarr/internal/quantity"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		n    int64
		noun string
		want string
	}{
		{0, "chunk", "0 chunks are"}, {1, "chunk", "1 chunk is"}, {999, "chunk", "999 chunks are"}, {1000, "chunk", "1,000 chunks are"},
		{1, "axis", "1 axis is"}, {2, "axis", "2 axes are"}, {-1000, "byte", "-1,000 bytes are"}, {-100, "byte", "-100 bytes are"},
		{math.MaxInt64, "byte", "9,223,372,036,854,775,807 bytes are"},
	} {
		if got := quantity.Of(c.n, c.noun) + " " + quantity.Be(c.n); got != c.want {
			t.Errorf("%d: %q, want %q", c.n, got, c.want)
		}
	}
}
