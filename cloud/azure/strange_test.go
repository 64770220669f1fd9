// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"testing"

	"varve.dev/zarr/cloud/azure/azuretest"
	"varve.dev/zarr/store/storetest"
)

// TestStrangeBlobs lists a container with blobs whose names are no keys.
func TestStrangeBlobs(t *testing.T) {
	f, endpoint := azuretest.Serve(t)
	for _, name := range append([]string{"g/zarr.json", "g/a\tb/c/0"}, storetest.Strange...) {
		f.Blobs["in/"+name] = &azuretest.Blob{Value: []byte("v"), Tag: `"1"`}
	}
	f.Blobs["in/g/mark/"] = &azuretest.Blob{Tag: `"1"`}
	storetest.CheckStrange(t, open(t, endpoint, "in"))
}
