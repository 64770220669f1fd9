// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"fmt"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestNullFill writes arrays of format 2 whose fill value is null. Every written chunk
// is stored, including one of zeros, and a missing chunk reads as zero.
func TestNullFill(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	spec := zarr.Spec{
		Format: 2, Shape: []int64{10}, Type: dtype.Int32, Chunks: grid.Chunks(3), FillValue: zarr.FillJSON(" null "),
	}
	a, err := zarr.At(s, "a").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Metadata().HasNullFill() || a.Spec().FillValue.JSON() != "null" {
		t.Errorf("the fill value is %s", a.Spec().FillValue.JSON())
	}
	stored := func(what, want string) {
		t.Helper()
		var names []string
		for i := range int64(8) {
			if info, err := a.ChunkInfo(ctx, []int64{i}); err == nil && info.Size > 0 {
				names = append(names, fmt.Sprint(i))
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: chunks %s are stored, want %s", what, got, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(zarr.Write(ctx, a, selection.Box{{0, 4}}, make([]int32, 4)))
	stored("zeros", "0 1")
	must(zarr.Fill(ctx, a, selection.Box{{1, 2}}, int32(5)))
	must(zarr.Fill(ctx, a, selection.Box{{1, 2}}, int32(0)))
	stored("zeros again", "0 1")
	must(zarr.Append(ctx, a, 0, make([]int32, 5), nil))
	stored("zeros appended", "0 1 3 4")
	must(a.Resize(ctx, []int64{20}, nil))
	stored("grown", "0 1 3 4")
	must(a.Resize(ctx, []int64{11}, nil))
	stored("shrunk", "0 1 3")
	b, err := zarr.Read[int32](ctx, a, nil)
	if err != nil || fmt.Sprint(b.Data) != "[0 0 0 0 0 0 0 0 0 0 0]" {
		t.Errorf("%v: %v", b, err)
	}
	must(zarr.Fill(ctx, a, nil, int32(0)))
	stored("filled", "0 1 2 3")
}

// TestNullFillByDefault creates arrays of format 2. xarray takes a fill value for
// missing data, so arrays that it can open have none unless one is given.
func TestNullFillByDefault(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		spec zarr.Spec
		null bool
		text string // in .zattrs
	}{
		"named":          {zarr.Spec{Shape: []int64{2}, DimensionNames: []string{"x"}}, true, `{"_ARRAY_DIMENSIONS":["x"]}`},
		"by attribute":   {zarr.Spec{Shape: []int64{2}, Attributes: map[string][]string{"_ARRAY_DIMENSIONS": {"x"}}}, true, `{"_ARRAY_DIMENSIONS":["x"]}`},
		"asked for":      {zarr.Spec{Shape: []int64{2}, DimensionNames: []string{"x"}, FillValue: zarr.FillJSON("0")}, false, `{"_ARRAY_DIMENSIONS":["x"]}`},
		"without names":  {zarr.Spec{Shape: []int64{2}}, false, ""},
		"without a name": {zarr.Spec{Shape: []int64{2}, DimensionNames: []string{""}}, false, ""},
		"rank 0":         {zarr.Spec{}, true, `{"_ARRAY_DIMENSIONS":[]}`},
		"rank 0, asked":  {zarr.Spec{FillValue: zarr.FillJSON("1")}, false, `{"_ARRAY_DIMENSIONS":[]}`},
	} {
		s := memstore.New()
		for _, typ := range []dtype.Type{dtype.Int16, dtype.Float32, dtype.String, dtype.Bool} {
			if c.spec.FillValue != (zarr.FillValue{}) && typ != dtype.Int16 {
				continue
			}
			spec := c.spec
			spec.Type, spec.Format = typ, 2
			a, err := zarr.At(s, typ.Name()).CreateArray(ctx, spec, nil)
			if err != nil {
				t.Fatal(name, err)
			}
			if a.Metadata().HasNullFill() != c.null {
				t.Errorf("%s, %s: null is %t, want %t", name, typ, !c.null, c.null)
			}
			if c.text == "" {
				continue
			}
			if got := strings.Join(strings.Fields(valueAt(t, s, typ.Name()+"/.zattrs")), ""); got != c.text {
				t.Errorf("%s, %s: attributes %s, want %s", name, typ, got, c.text)
			}
		}
	}
}
