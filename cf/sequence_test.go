// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// TestUnordered looks for the first value of coordinates that is out of order, and among
// elements that follow.
func TestUnordered(t *testing.T) {
	ctx := context.Background()
	days := map[string]any{"units": "days since 2024-01-01"}
	for name, c := range map[string]struct {
		name       string
		attributes map[string]any
		has, more  []int32
		want, then string // parts of the texts; "" for none
		times      bool
	}{
		"times":            {"x", days, []int32{0, 1, 2}, []int32{3}, "", "", false},
		"times that fall":  {"x", days, []int32{9, 8}, []int32{7}, "", "", false},
		"a time again":     {"x", days, []int32{1, 1}, []int32{1}, "element 1 is 2024-01-02, but element 0 before it is 2024-01-02", "was this appended before?", true},
		"unwritten times":  {"x", days, []int32{1, 0, 3}, []int32{4}, "1 element from 1 on is the fill value", "", true},
		"unwritten at end": {"x", days, []int32{1, 2, 0, 0}, nil, "", "", false},
		"numbers":          {"x", nil, []int32{5, 7, 6}, []int32{8}, "its values neither rise nor fall throughout: element 2 is 6", "element 3 is 8", false},
		"no coordinate":    {"y", days, []int32{1, 1}, []int32{0}, "", "", false},
	} {
		spec := zarr.Spec{Shape: []int64{int64(len(c.has))}, Type: dtype.Of[int32](), Chunks: []grid.Cut{grid.Every(2)}, DimensionNames: []string{"x"}, Attributes: c.attributes}
		a, err := zarr.At(memstore.New(), "").At(c.name).CreateArray(ctx, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := zarr.Write(ctx, a, nil, c.has); err != nil {
			t.Fatal(err)
		}
		got, times := cf.Unordered(ctx, a)
		if !strings.Contains(got, c.want) || c.want == "" && got != "" || times != c.times {
			t.Errorf("%s: %q, times %t", name, got, times)
		}
		more := &zarr.Source{Shape: []int64{int64(len(c.more))}, Read: func(_ context.Context, box grid.Box, dst []byte) error {
			for i, v := range c.more[box[0].Start:box[0].Stop] {
				binary.NativeEndian.PutUint32(dst[4*i:], uint32(v))
			}
			return nil
		}}
		if got := cf.UnorderedAfter(ctx, a, more, int64(len(c.more))); !strings.Contains(got, c.then) || c.then == "" && got != "" {
			t.Errorf("%s: after it %q", name, got)
		}
	}
}
