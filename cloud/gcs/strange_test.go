// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"testing"

	"varve.dev/zarr/cloud/gcs/gcstest"
	"varve.dev/zarr/store/storetest"
)

// TestStrangeObjects lists a bucket with objects whose names are no keys.
func TestStrangeObjects(t *testing.T) {
	f, endpoint := gcstest.Serve(t)
	for _, name := range append([]string{"g/zarr.json", "g/a\tb/c/0"}, storetest.Strange...) {
		f.Put("in/"+name, []byte("v"))
	}
	f.Put("in/g/mark/", nil)
	storetest.CheckStrange(t, open(t, endpoint, "in"))
}
