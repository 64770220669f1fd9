// SPDX-License-Identifier: Apache-2.0

package rowset_test

import (
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/rowset"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store/memstore"
)

// TestOffsets reads the offsets of some rows of a set, of lengths and offsets.
func TestOffsets(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	for _, sparse := range []bool{false, true} {
		stored := []int64{2, 0, 3, 1}
		if sparse {
			stored = []int64{0, 2, 2, 5, 6}
		}
		at := zarr.At(s, fmt.Sprint("rows", sparse))
		a := fixture.Must(at.CreateArray(ctx, zarr.Spec{Shape: []int64{int64(len(stored))}, Type: dtype.Int64}, nil))
		if err := zarr.Write(ctx, a, nil, stored); err != nil {
			t.Fatal(err)
		}
		for n := range int64(5) {
			if got, err := rowset.Offsets(ctx, a, sparse, n); err != nil || !slices.Equal(got, []int64{0, 2, 2, 5, 6}[:n+1]) {
				t.Errorf("%d rows: %v, %v", n, got, err)
			}
		}
		_, err := rowset.Offsets(ctx, a, sparse, 5)
		fixture.Expect(t, err, zarr.ErrInvalidArgument, zarr.KindInvalidArgument, "5 rows")
	}
}
