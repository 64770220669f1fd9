// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
)

// sums is a program that prints the sum of an array. xarray opens it with its defaults.
const sums = `
import sys, xarray
print(int(xarray.open_zarr(sys.argv[1])["t"].astype("i8").sum()))
`

// TestStaleCopy rechunks an array while consolidated metadata above it stays as it was.
// xarray continues reading by the copy, so vacuum keeps the old chunks. Without them it
// would read fill values, and no error.
func TestStaleCopy(t *testing.T) {
	t.Parallel()
	scriptMissing(t) // xarray is installed
	path := filepath.Join(t.TempDir(), "g.zarr")
	g, err := zarr.CreateGroup(t.Context(), path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	// xarray reads regular grids only.
	a, err := g.At("t").CreateArray(t.Context(), zarr.Spec{
		Type: dtype.Int32, Shape: []int64{60}, Chunks: grid.Chunks(1), DimensionNames: []string{"time"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]int32, 60)
	for i := range values {
		values[i] = int32(i)
	}
	if err := zarr.Write(t.Context(), a, nil, values); err != nil {
		t.Fatal(err)
	}
	if err := g.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(path, "zarr.json")
	stale, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Do(t.Context(), a, rechunk.Regularization{Chunk: []int64{30}}, nil); err != nil {
		t.Fatal(err)
	}
	sum := func(want string) {
		t.Helper()
		out, err := exec.Command(interpreter(t), "-W", "ignore", "-c", sums, path).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("xarray has the sum %s (%v), want %s", got, err, want)
		}
	}
	sum("1770")
	if err := os.WriteFile(document, stale, 0o666); err != nil {
		t.Fatal(err)
	}
	sum("1770")
	report, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
	if err != nil || report.Freed() > 0 || len(report.Items) == 0 || report.Items[0].Kept == "" {
		t.Fatalf("a vacuum below a stale copy: %+v (%v)", report, err)
	}
	sum("1770")
	if err := os.RemoveAll(filepath.Join(path, "t", "c")); err != nil {
		t.Fatal(err)
	}
	sum("0")
}
