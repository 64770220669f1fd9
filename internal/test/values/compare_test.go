// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// numbered returns an array in memory whose elements are numbered in C order.
func numbered(t interface {
	Helper()
	Fatal(...any)
}, shape []int64, cuts ...grid.Cut) *zarr.Array {
	t.Helper()
	spec := zarr.Spec{Shape: shape, Type: dtype.Int32, Chunks: cuts}
	a, err := zarr.At(memstore.New(), "").CreateArray(context.Background(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := grid.BoxOf(shape).Len()
	data := make([]int32, n)
	for i := range data {
		data[i] = int32(i)
	}
	if err := zarr.Write(context.Background(), a, nil, data); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestCompare(t *testing.T) {
	base := func() *zarr.Array { return numbered(t, []int64{6, 4}, grid.Every(2), grid.Every(3)) }
	same := numbered(t, []int64{6, 4}, grid.Edges(1, 5), grid.Every(4))
	if d, err := zarr.Compare(context.Background(), base(), same); d != nil || err != nil {
		t.Errorf("another grid: %v, %v", d, err)
	}
	changed := base()
	for _, at := range [][2]int64{{4, 1}, {3, 3}} {
		if err := zarr.Fill(context.Background(), changed, selection.Basic{selection.At(at[0]), selection.At(at[1])}, int32(-1)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := zarr.Compare(context.Background(), base(), changed)
	if err != nil || d == nil {
		t.Fatal(d, err)
	}
	if d.What != "element" || !slices.Equal(d.Index, []int64{3, 3}) || d.A != "15" || d.B != "-1" {
		t.Errorf("%+v", d)
	}
	if got := d.String(); got != "element [3 3] differs: 15 and -1" {
		t.Error(got)
	}
}

func TestCompareShapeAndType(t *testing.T) {
	a := numbered(t, []int64{2, 3})
	d, err := zarr.Compare(context.Background(), a, numbered(t, []int64{3, 2}))
	if err != nil || d == nil || d.String() != "the shape differs: [2 3] and [3 2]" {
		t.Error(d, err)
	}
	spec := zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Uint32}
	b, err := zarr.At(memstore.New(), "").CreateArray(context.Background(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err = zarr.Compare(context.Background(), a, b)
	if err != nil || d == nil || d.String() != "the data type differs: int32 and uint32" {
		t.Error(d, err)
	}
}

// TestSlabs checks that slabs of any size together equal one read, and keep the limit.
func TestSlabs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 7), 0, 3).Draw(t, "shape")
		var cuts []grid.Cut
		var sel selection.Basic
		for _, n := range shape {
			cuts = append(cuts, grid.Every(rapid.Int64Range(1, 4).Draw(t, "chunk")))
			start := rapid.Int64Range(0, n).Draw(t, "start")
			sel = append(sel, selection.Stepped(start, rapid.Int64Range(start, n).Draw(t, "stop"), rapid.Int64Range(1, 3).Draw(t, "step")))
			if n > 0 && rapid.Bool().Draw(t, "index") {
				sel[len(sel)-1] = selection.At(rapid.Int64Range(0, n-1).Draw(t, "at"))
			}
		}
		if cuts == nil {
			cuts = []grid.Cut{}
		}
		a := numbered(t, shape, cuts...)
		limit := rapid.Int64Range(1, 100).Draw(t, "limit")
		want, err := zarr.Read[int32](context.Background(), a, sel)
		if err != nil {
			t.Fatal(err)
		}
		checkSlabs(t, a, sel, limit, want.Data)
	})
}

func checkSlabs(t *rapid.T, a *zarr.Array, sel selection.Basic, limit int64, want []int32) {
	slabs, err := a.Slabs(sel, limit)
	if err != nil {
		t.Fatal(err)
	}
	got := []int32{}
	for slab := range slabs {
		r, err := a.Select(slab)
		if err != nil {
			t.Fatal(err)
		}
		if r.Len() == 0 || r.Len() > 1 && r.Len()*4 > limit {
			t.Fatalf("a slab of %d elements, the limit is %d bytes", r.Len(), limit)
		}
		data := make([]byte, r.Len()*4)
		if err := a.ReadBytes(context.Background(), slab, data); err != nil {
			t.Fatal(err)
		}
		for ; len(data) > 0; data = data[4:] {
			got = append(got, int32(binary.NativeEndian.Uint32(data)))
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestSlabsEndAtChunks(t *testing.T) {
	a := numbered(t, []int64{20, 2}, grid.Edges(3, 4, 13), grid.Every(2))
	slabs, err := a.Slabs(nil, 5*8)
	if err != nil {
		t.Fatal(err)
	}
	var rows []int64
	for slab := range slabs {
		r, err := a.Select(slab)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r.Shape()[0])
	}
	if want := []int64{3, 4, 5, 5, 3}; !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
}
