// SPDX-License-Identifier: Apache-2.0

package fits

import (
	"encoding/json"
	"testing"

	"varve.dev/zarr/internal/test/scanned"
	"varve.dev/zarr/virtual/scan"
)

func TestFiles(t *testing.T) {
	for _, name := range scanned.Files(t, "fits") {
		t.Run(name, func(t *testing.T) {
			scanned.Check(t, name, labelled(t, name))
			data := scanned.Read(t, name)
			d, requests, err := scanned.Bytes(t, data, Scan)
			if err != nil || requests > 2 {
				t.Fatalf("%d requests, %v", requests, err)
			}
			scanned.Consistent(t, d, int64(len(data)))
		})
	}
}

// labelled scans a file, and gives arrays the labels that are expected. Those are no
// names of the file, so the places of values tell which array is meant.
func labelled(t *testing.T, name string) scanned.Scanner {
	return func(f *scan.File) (*scan.Dataset, error) {
		d, err := Scan(f)
		if err != nil {
			return nil, err
		}
		for label, v := range scanned.Expected(t, name).Variables {
			var place [3]int64
			if err := json.Unmarshal(v.Stored[0], &place); err != nil {
				t.Fatal(err)
			}
			for _, a := range d.Arrays {
				if len(a.Chunks) == 1 && a.Chunks[0].Offset == place[1] {
					a.Path = label
				}
			}
		}
		return d, nil
	}
}

func FuzzScan(f *testing.F) { scanned.Fuzz(f, "fits", Scan) }

// TestNames checks the paths and keywords of the extensions of a file.
func TestNames(t *testing.T) {
	d, err := scanned.Scan(t, "fits_extensions.fits", Scan)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`SCI {"EXTNAME":"SCI"}`, `DQ {"EXTNAME":"DQ"}`, "hdu_3 {}", "hdu_4 {}", `hdu_5 {"BZERO":32768,"BSCALE":1,"scale_factor":1.0,"add_offset":32768.0}`,
		`hdu_6 {"BSCALE":0.5,"BZERO":10.0,"scale_factor":0.5,"add_offset":10.0}`,
	} {
		a := d.Arrays[i]
		text, err := a.Attributes.JSON()
		if got := a.Path + " " + string(text); got != want || err != nil {
			t.Errorf("%s, want %s: %v", got, want, err)
		}
	}
}
