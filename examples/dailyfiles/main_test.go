// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for day := range 40 {
		name := filepath.Join(dir, fmt.Sprintf("%02d.raw", day))
		if err := os.WriteFile(name, make([]byte, hours*lat*lon*4), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	archive := filepath.Join(dir, "era5.zarr")
	for _, part := range [][]string{files[:33], files[33:]} { // two runs of the program
		if err := run(t.Context(), archive, part); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"t2m": "[960 18 36]", "time": "[960]"} {
		a, err := zarr.OpenArray(t.Context(), archive+"/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(a.Shape()); got != want {
			t.Errorf("%s has shape %s, want %s", name, got, want)
		}
		if name == "t2m" {
			if got := fmt.Sprint(a.Grid().Axis(0).Sizes()); got != "[{744 1} {216 1}]" {
				t.Errorf("chunks of %s", got)
			}
		}
	}
}
