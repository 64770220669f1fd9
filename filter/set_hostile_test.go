// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
)

// claim stores the document of an array of int8 without chunks. members follow those
// that it must have.
func claim(t *testing.T, s memtest.Store, path, shape, codec, members string) {
	t.Helper()
	fixture.Put(t, s, path+"/zarr.json", fmt.Sprintf(`{"zarr_format": 3, "node_type": "array", "shape": [%[1]s], "data_type": "int8", "fill_value": 0,
		"codecs": [{"name": %[2]q}], "chunk_key_encoding": {"name": "default"},
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [%[1]s]}}%[3]s}`, shape, codec, members))
}

// TestFilterClaimedSets filters stores of a kilobyte that claim billions of rows. Nothing
// is allocated for those.
func TestFilterClaimedSets(t *testing.T) {
	const many = "68719476736" // offsets of 512 GiB
	for name, c := range map[string]struct {
		group   string
		rows    string // the shape of the lengths
		lengths int
		request filter.Request
	}{
		"lengths":           {"{}", many, 1, filter.Request{Mask: []bool{true}, Dimension: "row"}},
		"more than 63 bits": {"{}", "9223372036854775807", 1, filter.Request{Mask: []bool{true}, Dimension: "row"}},
		"sets together":     {"{}", "1200", 3, filter.Request{Mask: make([]bool, 1200), Dimension: "row"}},
		"offsets":           {`{"encoding-type": "csr_matrix"}`, "1", 1, filter.Request{Mask: []bool{true}}},
	} {
		s := memtest.New()
		fixture.Put(t, s, "zarr.json", `{"zarr_format": 3, "node_type": "group", "attributes": `+c.group+`}`)
		for i := range c.lengths {
			claim(t, s, fmt.Sprint("row_size", i), c.rows, "bytes", fmt.Sprintf(`, "dimension_names": ["row"], "attributes": {"sample_dimension": "obs%d"}`, i))
		}
		for _, array := range []string{"indptr", "indices", "data"} {
			claim(t, s, array, many, "bytes", "")
		}
		opt := &filter.Options{Memory: 1 << 17} // of which each 1200 rows of a set take 3/10
		_, err := filter.Do(t.Context(), zarr.At(s, ""), zarr.At(memtest.New(), "of"), c.request, opt)
		fixture.Expect(t, err, zarr.ErrLimit, "limit", "Options.Memory")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestFilterTwoSets filters one of two sets of one group by its own lengths, also if
// consolidated metadata has only the other set.
func TestFilterTwoSets(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	g := fixture.Must(zarr.At(s, "g").CreateGroup(ctx, nil, nil))
	for _, set := range []struct {
		name    string
		lengths []int64
		values  []int32
	}{{"a", []int64{1, 0, 3}, []int32{1, 2, 3, 4}}, {"b", []int64{2, 2, 1}, []int32{5, 6, 7, 8, 9}}} {
		spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int64, DimensionNames: []string{"row_" + set.name}, Attributes: map[string]string{"sample_dimension": set.name}}
		if err := put(ctx, g.At(set.name+"_size"), spec, set.lengths); err != nil {
			t.Fatal(err)
		}
		spec = zarr.Spec{Shape: []int64{int64(len(set.values))}, Type: dtype.Int32, DimensionNames: []string{set.name}}
		if err := put(ctx, g.At(set.name+"_data"), spec, set.values); err != nil {
			t.Fatal(err)
		}
		if set.name == "a" {
			if err := g.Consolidate(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	byRow := filter.Request{Mask: []bool{false, true, true}, Dimension: "row_b"}
	if _, err := filter.Do(ctx, zarr.At(s, "g"), zarr.At(s, "of"), byRow, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]int32{"a_size": {1, 0, 3}, "a_data": {1, 2, 3, 4}, "b_size": {2, 1}, "b_data": {7, 8, 9}} {
		a := fixture.Must(zarr.At(s, "of/"+name).OpenArray(ctx, nil))
		if b, err := zarr.ReadAs[int32](ctx, a, nil); err != nil || !slices.Equal(b.Data, want) {
			t.Errorf("%s: %v, want %v (%v)", name, b, want, err)
		}
	}
	// Two arrays with lengths of the same elements contradict each other.
	spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int64, DimensionNames: []string{"row_b"}, Attributes: map[string]string{"sample_dimension": "b"}}
	if err := put(ctx, g.At("more_size"), spec, []int64{1, 1, 1}); err != nil {
		t.Fatal(err)
	}
	_, err := filter.Do(ctx, zarr.At(s, "g"), zarr.At(s, "more"), byRow, nil)
	fixture.Expect(t, err, zarr.ErrUnsupported, "unsupported", "b_size", "more_size", "both")
	// Lengths have one axis.
	claim(t, s, "g/more_size", "3, 2", "bytes", `, "dimension_names": ["row_b", "x"], "attributes": {"sample_dimension": "c"}`)
	_, err = filter.Do(ctx, zarr.At(s, "g"), zarr.At(s, "more"), byRow, nil)
	fixture.Expect(t, err, zarr.ErrUnsupported, "unsupported", "more_size", "2 axes")
}

// TestFilterUnopenedSets refuses arrays that cannot be opened, and whose attributes say
// that they would not fit the kept rows.
func TestFilterUnopenedSets(t *testing.T) {
	for attributes, words := range map[string][]string{
		`{"instance_dimension": "row"}`: {"odd", "numbers of rows along row"},
		`{"sample_dimension": "row"}`:   {"odd", "the lengths of rows of elements along row"},
		`{"instance_dimension": "far"}`: nil,
	} {
		s := memtest.New()
		err := put(t.Context(), fixture.Must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil)).At("id"), zarr.Spec{Shape: []int64{3}, Type: dtype.Int64, DimensionNames: []string{"row"}}, []int64{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		claim(t, s, "odd", "3", "acme", `, "dimension_names": ["event"], "attributes": `+attributes)
		_, err = filter.Do(t.Context(), zarr.At(s, ""), zarr.At(memtest.New(), "of"), filter.Request{Mask: []bool{true, false, true}, Dimension: "row"}, nil)
		if words != nil {
			fixture.Expect(t, err, zarr.ErrUnsupported, "unsupported", words...)
		} else if err != nil {
			t.Error(err)
		}
	}
}
