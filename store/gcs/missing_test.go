// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
	"varve.dev/zarr/store/httpstore"
)

// TestMissing checks which answers mean that a key has no value. Others must not be read
// as fill values.
func TestMissing(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	s, err := gcs.Open("bucket", "", &gcs.Options{
		Endpoint: endpoint, Anonymous: true, Retry: quick, Reading: httpstore.Options{Missing: []int{403}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		body   string
		kind   error
	}{
		{404, "No such object: bucket/k", fs.ErrNotExist},
		{403, "Permission 'storage.objects.get' denied on resource (or it may not exist).", fs.ErrNotExist},
		{403, "The project exceeded its quota.", fs.ErrPermission},
		{404, "The specified bucket does not exist.", nil},
		{404, "<html><body>Not found", nil},
	} {
		f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
			return w, true
		})
		_, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || errors.Is(err, fs.ErrNotExist) != (c.kind == fs.ErrNotExist) {
			t.Errorf("%d %s: the error is %v, want %v", c.status, c.body, err, c.kind)
		}
	}
}
