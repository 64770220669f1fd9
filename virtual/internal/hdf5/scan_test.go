// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"slices"
	"testing"

	"varve.dev/zarr/internal/test/scanned"
)

// TestFiles scans all files of HDF5 and netCDF-4, and compares places and values.
func TestFiles(t *testing.T) {
	for _, name := range scanned.Files(t, "hdf5") {
		t.Run(name, func(t *testing.T) { scanned.Check(t, name, Scan) })
	}
}

// TestNothingElse checks that a scan finds no other arrays and groups than those that
// h5py visits, but for further names of these.
func TestNothingElse(t *testing.T) {
	for _, name := range scanned.Files(t, "hdf5") {
		want := scanned.Expected(t, name)
		set, err := scanned.Scan(t, name, Scan)
		if err != nil {
			t.Fatal(err)
		}
		var groups []string
		for _, g := range set.Groups {
			groups = append(groups, g.Path)
		}
		if slices.Sort(groups); !slices.Equal(groups, want.Groups) {
			t.Errorf("%s: groups %q, want %q", name, groups, want.Groups)
		}
		seen, places := map[string]bool{}, map[int64]bool{}
		for _, a := range set.Arrays {
			_, known := want.Variables[a.Path]
			for _, v := range want.Variables {
				known = known || v.Alias == a.Path
			}
			if len(a.Chunks) > 0 { // else it has no place
				known = known || places[a.Chunks[0].Offset]
				places[a.Chunks[0].Offset] = true
			}
			if !known || seen[a.Path] {
				t.Errorf("%s: an array %q that is not in the file, or there twice", name, a.Path)
			}
			seen[a.Path] = true
			if a.Refused != nil {
				t.Logf("%s: %s: %v", name, a.Path, a.Refused)
			}
		}
	}
}
