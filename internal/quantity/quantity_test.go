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

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n      int64
		plural string
		want   string
	}{
		{0, "axes", "0 axes"}, {1, "axes", "1 axis"}, {2, "axes", "2 axes"}, {21, "axes", "21 axes"}, {-1, "values", "-1 values"}, {1001, "bytes", "1001 bytes"},
		{1, "dimension names", "1 dimension name"}, {1, "entries", "1 entry"}, {1, "indices", "1 index"}, {1, "tries", "1 try"}, {1, "policies", "1 policy"},
		{1, "bytes are", "1 byte is"}, {2, "bytes are", "2 bytes are"}, {1, "values follow", "1 value follows"}, {1, "bytes do", "1 byte does"},
		{1, "elements have", "1 element has"}, {1, "more rows", "1 more row"}, {1, "axes cannot", "1 axis cannot"}, {1, "rows were", "1 row was"},
	} {
		if got := quantity.Count(c.n, c.plural); got != c.want {
			t.Errorf("%d: %q, want %q", c.n, got, c.want)
		}
	}
	if got := quantity.Count(uint8(1), "bits"); got != "1 bit" {
		t.Error(got)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1 << 10: "1.0 KiB", 1<<20 - 1: "1.0 MiB", math.MaxInt64: "8.0 EiB"} {
		if got := quantity.Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestList(t *testing.T) {
	got := quantity.List(quantity.Some(2, "chunk", "copied"), quantity.Some(0, "chunk", "encoded"), quantity.SomeBytes(0, "read"), quantity.SomeBytes(1536, "copied"))
	if got != "2 chunks copied, 1.5 KiB copied" {
		t.Error(got)
	}
	if got := quantity.Of(2, "miss"); got != "2 misses" {
		t.Error(got)
	}
}
