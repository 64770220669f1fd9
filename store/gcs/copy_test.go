// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs/gcstest"
)

// TestRechunks removes planes of an array, so that whole chunks are copied by the
// service. The copies are those of the listed versions, so none is made again.
func TestRechunks(t *testing.T) {
	_, endpoint := gcstest.Serve(t)
	t.Setenv("STORAGE_EMULATOR_HOST", endpoint)
	ctx, location := t.Context(), "gs://bucket/data/a.zarr"
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

// TestCloneOfAny replaces a source after the request that looks at it. The clone is of
// the version that Clone names.
func TestCloneOfAny(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, key := open(t, endpoint, ""), store.MustKey("k")
	if _, err := s.Write(t.Context(), store.Put(key, []byte("old")), store.Sync); err != nil {
		t.Fatal(err)
	}
	replaced := false
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		f.Lock()
		defer f.Unlock()
		if !replaced && strings.Contains(r.URL.Path, "/rewriteTo/") {
			f.Last++
			f.Objects["k"] = &gcstest.Object{Value: []byte("new"), Generation: f.Last}
			replaced = true
		}
		return w, false
	})
	made, err := s.Write(t.Context(), store.Clone(store.MustKey("l"), key, store.Version{}), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Stat(t.Context(), key)
	if err != nil || made.Source != info.Version || !bytes.Equal(f.Objects["l"].Value, []byte("new")) {
		t.Errorf("the clone %q is of %v, want that of %v (error %v)", f.Objects["l"].Value, made.Source, info.Version, err)
	}
}

// TestEndlessCopy checks that a service that neither ends a copy nor continues it is
// not asked for ever.
func TestEndlessCopy(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, key := open(t, endpoint, ""), store.MustKey("k")
	if _, err := s.Write(t.Context(), store.Put(key, []byte("old")), store.Sync); err != nil {
		t.Fatal(err)
	}
	for _, page := range []map[string]any{
		{"done": false},
		{"done": false, "rewriteToken": "t", "totalBytesRewritten": "17"},
	} {
		f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
			if strings.Contains(r.URL.Path, "/rewriteTo/") {
				gcstest.Answer(w, page)
				return w, true
			}
			return w, false
		})
		_, err := s.Write(t.Context(), store.Clone(store.MustKey("l"), key, store.Version{}), store.Sync)
		if err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("%v: the error is %v", page, err)
		}
	}
}
