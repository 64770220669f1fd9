// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/azure/azuretest"
)

// TestNowhere writes to a place that does not exist. The service has answered, so the
// errors say that and what to do, and never that the outcome is unknown.
func TestNowhere(t *testing.T) {
	_, endpoint := azuretest.Serve(t)
	location, names := places("acme", "nowhere", "", azuretest.Key)(endpoint, "a"), "container nowhere"
	ctx, key := t.Context(), store.MustKey("k")
	s, _, err := store.OpenLocation(ctx, location, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	_, putErr := store.Write(ctx, s, store.Put(key, []byte("x")), store.Sync)
	_, largeErr := store.Write(ctx, s, store.Put(key, make([]byte, 80<<20)), store.Sync)
	_, ifErr := store.Write(ctx, s, store.PutIf(key, []byte("x"), store.IfAbsent()), store.Sync)
	_, _, getErr := s.Get(ctx, key, store.Request{}, nil)
	_, createErr := zarr.CreateArray(ctx, location, zarr.Spec{Shape: []int64{4}, Type: dtype.Int32}, nil)
	_, groupErr := zarr.CreateGroup(ctx, location, nil, nil)
	for what, err := range map[string]error{
		"Put": putErr, "large": largeErr, "PutIf": ifErr, "Get": getErr, "CreateArray": createErr, "CreateGroup": groupErr,
	} {
		if !errors.Is(err, store.ErrNoBucket) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, zarr.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for _, part := range []string{names, "does not exist", "check the name of the container nowhere"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not say %q", what, err, part)
			}
		}
		if strings.Contains(err.Error(), "unknown") || strings.Contains(err.Error(), "not known") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
