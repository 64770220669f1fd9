// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure"
	"varve.dev/zarr/store/azure/azuretest"
)

// TestRechunks removes planes of an array, so that whole chunks are copied by the
// service. The copies are those of the listed versions, so none is made again.
func TestRechunks(t *testing.T) {
	_, endpoint := azuretest.Serve(t)
	opt := &azure.Options{Endpoint: endpoint, Key: azuretest.Key, Retry: quick}
	ctx, location := azure.WithOptions(t.Context(), opt), "az://acme/box/a.zarr"
	spec := zarr.Spec{Shape: []int64{12}, Chunks: grid.Chunks(3), Type: dtype.Int32}
	a, err := zarr.CreateArray(ctx, location, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, nil, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}); err != nil {
		t.Fatal(err)
	}
	report, err := rechunk.Do(ctx, a, rechunk.Removal{Axis: 0, Range: grid.Interval{Start: 3, Stop: 6}, Unlock: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Staged.Cloned != 3 {
		t.Errorf("staged %+v, want 3 clones", report.Staged)
	}
	if a, err = zarr.OpenArray(ctx, location, nil); err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](ctx, a, nil)
	if err != nil || !slices.Equal(got.Data, []int32{0, 1, 2, 6, 7, 8, 9, 10, 11}) {
		t.Errorf("the array is %v, error %v", got, err)
	}
}

// TestRivalOfCopy replaces a copy at once. Its version is not taken for that of the copy.
func TestRivalOfCopy(t *testing.T) {
	for _, pending := range []bool{false, true} {
		f, endpoint := azuretest.Serve(t)
		s, key := open(t, endpoint, ""), store.MustKey("k")
		if _, err := s.Write(t.Context(), store.Put(key, []byte("source")), store.Sync); err != nil {
			t.Fatal(err)
		}
		f.Pending = pending
		copied := false
		f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
			f.Lock()
			defer f.Unlock()
			if copied {
				f.Blobs["l"] = &azuretest.Blob{Tag: `"rival"`, Value: []byte("rival"), Modified: time.Now()}
			}
			copied = copied || r.Header.Get("X-Ms-Copy-Source") != ""
			return w, false
		})
		made, err := s.Write(t.Context(), store.Clone(store.MustKey("l"), key, store.Version{}), store.Sync)
		if err != nil || made.Version.String() == `"rival"` || made.Version.IsZero() != pending || made.Source.IsZero() || made.Size != 6 {
			t.Errorf("pending %t: the clone is %+v, error %v", pending, made, err)
		}
	}
}
