// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"errors"
	"io/fs"
	"net/http"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs/gcstest"
)

// TestRefused refuses writes for lack of permission. That is certain, and one request is
// enough, unless the answer to an earlier attempt was lost.
func TestRefused(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, key := open(t, endpoint, "p"), store.MustKey("k")
	a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{4}, Type: dtype.Int32}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lost, requests atomic.Int32 // answers that are to be lost, and all requests
	f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
		if requests.Add(1); !isUpload(r) {
			return w, false
		}
		if lost.Add(-1) >= 0 {
			lossy{nil, w}.drop()
			return w, true
		}
		gcstest.Fail(w, http.StatusForbidden, "no access")
		return w, true
	})
	for what, value := range map[string][]byte{"small": nil, "large": make([]byte, 80<<20)} {
		_, err := s.Write(t.Context(), store.PutIf(key, value, store.IfAbsent()), store.Sync)
		if !errors.Is(err, store.ErrRefused) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	requests.Store(0)
	err = a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(`{"n": 1}`), nil })
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, zarr.ErrOutcomeUnknown) || requests.Load() > 5 {
		t.Errorf("a change takes %d requests: %v", requests.Load(), err)
	}
	lost.Store(1)
	if _, err := s.Write(t.Context(), store.PutIf(key, nil, store.IfAbsent()), store.Sync); err == nil || errors.Is(err, store.ErrRefused) {
		t.Errorf("after a lost answer: %v", err)
	}
}
