// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"testing"

	"varve.dev/zarr/internal/test/scanned"
)

func TestFiles(t *testing.T) {
	for _, name := range scanned.Files(t, "netcdf3") {
		t.Run(name, func(t *testing.T) {
			scanned.Check(t, name, Scan)
			d, requests, err := scanned.Bytes(t, scanned.Read(t, name), Scan)
			if err != nil || requests > 2 {
				t.Fatalf("%d requests, %v", requests, err)
			}
			scanned.Consistent(t, d, int64(len(scanned.Read(t, name))))
		})
	}
}

func FuzzScan(f *testing.F) { scanned.Fuzz(f, "netcdf3", Scan) }
