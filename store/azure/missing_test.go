// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure"
	"varve.dev/zarr/store/azure/azuretest"
	"varve.dev/zarr/store/httpstore"
)

// TestMissing checks which answers mean that a key has no value. Others must not be read
// as fill values.
func TestMissing(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	reading := httpstore.Options{Missing: []int{403}}
	signed := &azure.Options{Endpoint: endpoint, Key: "a2V5", Retry: quick, Reading: reading}
	open := &azure.Options{Endpoint: endpoint, Anonymous: true, Retry: quick, Reading: reading}
	for _, c := range []struct {
		options *azure.Options
		status  int
		code    string
		kind    error
	}{
		{signed, 404, "BlobNotFound", fs.ErrNotExist},
		{signed, 403, "AuthorizationPermissionMismatch", fs.ErrNotExist},
		{signed, 403, "AuthenticationFailed", fs.ErrPermission},
		{signed, 403, "InsufficientAccountPermissions", fs.ErrPermission},
		{signed, 404, "ContainerNotFound", nil},
		{signed, 404, "", nil}, // a page
		{open, 404, "ResourceNotFound", fs.ErrPermission},
		{open, 404, "BlobNotFound", fs.ErrNotExist},
	} {
		s, err := azure.Open("acme", "box", "", c.options)
		if err != nil {
			t.Fatal(err)
		}
		f.On(func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool) {
			if c.code != "" {
				azuretest.Fail(w, c.status, c.code)
			} else {
				w.WriteHeader(c.status)
				fmt.Fprint(w, "<html><body>Not found")
			}
			return w, true
		})
		_, _, err = s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || errors.Is(err, fs.ErrNotExist) != (c.kind == fs.ErrNotExist) {
			t.Errorf("%d %s: the error is %v, want %v", c.status, c.code, err, c.kind)
		}
	}
}

// TestContainerBeingDeleted checks the advice for a container that is on its way out: it
// can be created again only later.
func TestContainerBeingDeleted(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	s := open(t, endpoint, "")
	f.On(func(w http.ResponseWriter, _ *http.Request) (http.ResponseWriter, bool) {
		azuretest.Fail(w, http.StatusConflict, "ContainerBeingDeleted")
		return w, true
	})
	_, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
	if !errors.Is(err, store.ErrNoBucket) || !strings.Contains(err.Error(), "try again in half a minute") || strings.Contains(err.Error(), "create") {
		t.Error(err)
	}
}
