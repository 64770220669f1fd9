// SPDX-License-Identifier: Apache-2.0

package chunkgrid

import "testing"

// TestTitleOf checks that the title of a picture is more than a number.
func TestTitleOf(t *testing.T) {
	for location, want := range map[string]string{
		"p0.zarr/0": "p0.zarr/0", "a/b/p0.zarr/0": "p0.zarr/0", "p0.zarr/0/1": "p0.zarr/0/1", "p0.zarr/t2m": "t2m", "p0.zarr/": "p0.zarr",
		"7": "7", "/7": "7", "s3://bucket/image.zarr/0": "image.zarr/0", "x/10m": "10m",
	} {
		if got := titleOf(location); got != want {
			t.Errorf("the title of %s is %s, want %s", location, got, want)
		}
	}
}
