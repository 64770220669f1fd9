// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/memstore"
)

// TestCompactDays compacts an array that grew by days: the merged chunks have the
// elements of four days each.
func TestCompactDays(t *testing.T) {
	ctx := t.Context()
	s := memstore.New()
	a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{
		Shape: []int64{0, 6}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(), grid.Every(4)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for day := range int32(10) {
		if err := zarr.Append(ctx, a, 0, fixture.Numbers(1+6*day, 6), nil); err != nil {
			t.Fatal(err)
		}
	}
	r, err := rechunk.Do(ctx, a, rechunk.Compaction{UpTo: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if is := lengths(a, 0); !r.Changed || r.Staged.Encoded != 6 || !slices.Equal(is, []int64{4, 4, 2}) {
		t.Errorf("%+v, chunks of %v days", r, is)
	}
	b, err := zarr.At(s, "a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](ctx, b, nil)
	if err != nil || !slices.Equal(got.Data, fixture.Numbers(1, 60)) {
		t.Errorf("%v %v", got.Data, err)
	}
}
