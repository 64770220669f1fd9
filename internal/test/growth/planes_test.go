// SPDX-License-Identifier: Apache-2.0

package growth_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// empties are arrays without elements whose first axis can grow.
var empties = map[string]zarr.Spec{
	"regular":     {Shape: []int64{3, 0}, Chunks: grid.Chunks(2, 4)},
	"listed":      {Shape: []int64{3, 0}, Chunks: []grid.Cut{grid.Edges(3), grid.Every(4)}},
	"both listed": {Shape: []int64{3, 0}, Chunks: []grid.Cut{grid.Edges(3), grid.Edges(4)}},
	"shards":      {Shape: []int64{3, 0}, Chunks: grid.Chunks(4, 4), InnerChunks: grid.Chunks(2, 2)},
	"format 2":    {Shape: []int64{3, 0}, Chunks: grid.Chunks(2, 4), Format: 2},
	"text":        {Shape: []int64{3, 0}, Chunks: []grid.Cut{grid.Edges(3), grid.Every(4)}, Type: dtype.String},
	"three axes":  {Shape: []int64{3, 0, 7}, Chunks: []grid.Cut{grid.Edges(3), grid.Every(4), grid.Every(7)}},
}

// TestAppendPlanesWithoutElements appends two planes to arrays that are empty along
// another axis. The arrays grow.
func TestAppendPlanesWithoutElements(t *testing.T) {
	for name, spec := range empties {
		for kind, s := range map[string]store.Store{"memory": memstore.New(), "conditional": fixture.Conditional(memstore.New()), "local": fixture.FileStore(vfs.NewDisk())} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				ctx := t.Context()
				if spec.Type.IsZero() {
					spec.Type = dtype.Int32
				}
				a, err := zarr.At(s, "g/a").CreateArray(ctx, spec, nil)
				if err != nil {
					t.Fatal(err)
				}
				two := &zarr.AppendOptions{Planes: 2}
				if err := appendNothing(t, a, two); err != nil {
					t.Fatal(err)
				}
				g, err := zarr.At(s, "g").OpenGroup(ctx, &zarr.Options{Write: true})
				if err != nil {
					t.Fatal(err)
				}
				if err := g.Append(ctx, zarr.Addition{Path: "a", Options: two}); err != nil {
					t.Fatal(err)
				}
				if err := a.Refresh(ctx); err != nil {
					t.Fatal(err)
				}
				if got := a.Shape(); got[0] != 7 || got[1] != 0 {
					t.Errorf("shape %v", got)
				}
				fillsLater(t, a)
			})
		}
	}
}

// appendNothing appends no elements, of the type of the array.
func appendNothing(t *testing.T, a *zarr.Array, opt *zarr.AppendOptions) error {
	if a.Type().Variable() {
		return zarr.Append(t.Context(), a, 0, []string{}, opt)
	}
	return a.AppendBytes(t.Context(), 0, nil, opt)
}

// fillsLater grows the empty axis, and expects all planes to have the fill value.
func fillsLater(t *testing.T, a *zarr.Array) {
	t.Helper()
	shape := a.Shape()
	shape[1] = 4
	if err := a.Resize(t.Context(), shape, nil); err != nil {
		t.Fatal(err)
	}
	if a.Type().Variable() {
		return
	}
	b, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || slices.ContainsFunc(b.Data, func(v int32) bool { return v != 0 }) || !slices.Equal(b.Shape, shape) {
		t.Errorf("%v, %v", b, err)
	}
}

// TestPlanesCount checks AppendOptions.Planes: numbers that contradict the elements, and
// appends that need the number but do not give it.
func TestPlanesCount(t *testing.T) {
	ctx := t.Context()
	h := zarr.At(memstore.New(), "")
	made := func(path string, shape ...int64) *zarr.Array {
		a, err := h.At(path).CreateArray(ctx, zarr.Spec{Shape: shape, Type: dtype.Int8, DimensionNames: []string{"t", "x"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	none, some := made("g/none", 3, 0), made("g/some", 3, 2)
	for name, err := range map[string]error{
		"not said":  zarr.Append(ctx, none, 0, []int8{}, nil),
		"negative":  zarr.Append(ctx, none, 0, []int8{}, &zarr.AppendOptions{Planes: -1}),
		"elements":  zarr.Append(ctx, none, 0, []int8{1, 2}, &zarr.AppendOptions{Planes: 1}),
		"too many":  zarr.Append(ctx, some, 0, []int8{1, 2}, &zarr.AppendOptions{Planes: 2}),
		"a part":    zarr.Append(ctx, some, 0, []int8{1, 2, 3}, &zarr.AppendOptions{Planes: 2}),
		"no source": some.AppendBytes(ctx, 0, nil, &zarr.AppendOptions{Planes: 2}),
	} {
		if !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := zarr.Append(ctx, some, 0, []int8{1, 2}, &zarr.AppendOptions{Planes: 1}); err != nil {
		t.Error(err)
	}
	if err := zarr.Append(ctx, some, 0, []int8{}, nil); err != nil { // no plane, because planes of this array have elements
		t.Error(err)
	}
	if got := fmt.Sprint(none.Shape(), some.Shape()); got != "[3 0] [4 2]" {
		t.Error(got)
	}
	if err := none.Resize(ctx, []int64{5, 0}, nil); err != nil || none.Shape()[0] != 5 {
		t.Errorf("%v, %v", none.Shape(), err)
	}
}
