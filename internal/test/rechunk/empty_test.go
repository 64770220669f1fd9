// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// emptyRequests are requests of every kind for an array of a shape. Each leaves it
// without elements if it has none.
func emptyRequests(shape []int64) []rechunk.Request {
	cuts := func(n int64) rechunk.Cuts {
		c := rechunk.Cuts{}
		for range shape {
			c = append(c, grid.Every(n))
		}
		return c
	}
	requests := []rechunk.Request{
		rechunk.Compaction{UpTo: 4}, rechunk.Compaction{Multiple: 4}, rechunk.Regularization{},
		rechunk.Rechunking{Chunks: cuts(4)}, rechunk.Rechunking{Chunks: cuts(4), Inner: cuts(2)},
		rechunk.Compaction{UpTo: 8}, rechunk.Rechunking{Unpack: true},
		rechunk.Removal{Range: grid.Interval{Start: 0, Stop: 1}, Unlock: true},
	}
	if len(shape) < 2 || !slices.Contains(shape[1:], 0) {
		return requests
	}
	plane := slices.Clone(shape)
	plane[0] = 1
	nothing := &zarr.Source{Shape: plane, Read: func(context.Context, grid.Box, []byte) error { return nil }}
	return append(requests, rechunk.Insertion{From: nothing, Identity: "nothing", Unlock: true})
}

// TestEmpty gives other grids to arrays of rank 0 and to arrays without elements. A
// request either refuses the array as an argument, or leaves it sound, with its elements
// and the shape that the request says.
func TestEmpty(t *testing.T) {
	for _, shape := range [][]int64{{}, {0}, {0, 4}, {4, 0}, {0, 0}, {3, 0, 2}} {
		for _, format := range []int{3, 2} {
			for k := range emptyRequests(shape) {
				t.Run(fmt.Sprint(shape, format, k), func(t *testing.T) { rechunkEmpty(t, shape, format, k) })
			}
		}
	}
}

func rechunkEmpty(t *testing.T, shape []int64, format, k int) {
	ctx := t.Context()
	spec := zarr.Spec{Shape: shape, Type: dtype.Int32, Format: format, FillValue: zarr.FillJSON("7")}
	a, err := zarr.At(memstore.New(), "a").CreateArray(ctx, spec, nil)
	if err == nil && len(shape) == 0 {
		err = zarr.Write(ctx, a, nil, []int32{5})
	}
	var before []byte
	if err == nil {
		before, err = elementsOf(t, a)
	}
	if err != nil {
		t.Fatal(err)
	}
	request := emptyRequests(shape)[k]
	r, err := rechunk.Do(ctx, a, request, nil)
	switch {
	case errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrUnsupported):
		t.Logf("refused: %v", err)
		return
	case err != nil:
		t.Fatalf("%T: %v", request, err)
	}
	after, err := elementsOf(t, a)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("%T: the elements are %v, and were %v (%v)", request, after, before, err)
	}
	report, err := check.Run(ctx, a, nil)
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("%T: %v (%v)", request, report, err)
	}
	if _, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
		t.Errorf("%T (changed: %t): a vacuum: %v", request, r.Changed, err)
	}
	if after, err = elementsOf(t, a); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%T: after a vacuum the elements are %v, and were %v (%v)", request, after, before, err)
	}
}

// elementsOf returns the elements of an array in native byte order.
func elementsOf(t *testing.T, a *zarr.Array) ([]byte, error) {
	b, err := zarr.Read[int32](t.Context(), a, nil)
	return fmt.Append(nil, b.Data), err
}
