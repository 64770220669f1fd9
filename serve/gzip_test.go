// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// TestCompressed compresses text that is long, for clients that accept it, and nothing
// else.
func TestCompressed(t *testing.T) {
	s, _ := rows(t, 20_000, grid.Every(20_000))
	h := handler(t, zarr.At(s, "n"), nil)
	for path, want := range map[string]bool{
		"/@values/n?format=json": true, "/@values/n?format=csv": true, "/@values/n?format=npy": false, "/@values/n?format=raw": false,
		"/@values/n?format=json&select=0:5": false, "/n/c/0": false, "/n/zarr.json": false, "/@regular,codec=none/n/c/0": false, "/@values/none": false, "/": false,
	} {
		plain := body(t, request(t, h, "GET", path))
		for accepted, accepts := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "br": false, "": false} {
			is := request(t, h, "GET", path, "Accept-Encoding", accepted)
			zipped := is.Header.Get("Content-Encoding") == "gzip"
			if zipped != (want && accepts) {
				t.Errorf("%s, accepted %q: compressed %v", path, accepted, zipped)
			}
			text := body(t, is)
			if zipped {
				r, err := gzip.NewReader(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				unzipped, err := io.ReadAll(r)
				if text = string(unzipped); err != nil {
					t.Error(path, err)
				}
			}
			if text != plain {
				t.Errorf("%s, accepted %q: %d bytes that differ from the %d that are not compressed", path, accepted, len(text), len(plain))
			}
		}
	}
}
