// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve.dev/zarr/internal/kerchunk"
	_ "varve.dev/zarr/virtual/parquet"
)

// TestParquet writes references in Parquet files, of files with missing chunks and of
// those that are joined along the second axis. Python reads them through fsspec and
// xarray. Kerchunk writes the same references, which Varve reads.
func TestParquet(t *testing.T) {
	dir := t.TempDir()
	var sets []fileSet
	runVirtual(t, &sets, "sparse", dir)
	ours, theirs := map[string]fileSet{}, map[string]fileSet{}
	read, frames := []string{"all"}, []string{"frames"}
	for _, set := range sets {
		var files []string
		for _, f := range set.Files {
			files = append(files, filepath.Join(dir, f))
		}
		references := files[0] + kerchunk.Suffix
		var text bytes.Buffer
		check(t, collected(t, references, set.Dim, files).WriteKerchunk(t.Context(), &text))
		check(t, os.WriteFile(references, text.Bytes(), 0o666))
		for _, size := range []int{1, 5, 10_000} {
			name := fmt.Sprintf("%s_%d", files[0], size)
			at := name + kerchunk.ParquetSuffix
			m := collected(t, at, set.Dim, files)
			check(t, m.CreateParquet(t.Context(), openFolder(t, dir), storePath(t, filepath.Base(at)), size))
			ours[at], theirs[name+kerchunk.LongParquetSuffix] = set, set
			read = append(read, at)
			frames = append(frames, references, name+kerchunk.LongParquetSuffix, strconv.Itoa(size))
		}
	}
	var found map[string]map[string]elements
	runVirtual(t, &found, read...)
	for at, set := range ours {
		compareElements(t, "xarray reads "+at, found[at], set.Arrays)
	}
	runVirtual(t, new(any), frames...)
	for at, set := range theirs {
		found := map[string]elements{}
		for array := range set.Arrays {
			found[array] = readElements(t, at+"/"+array)
		}
		compareElements(t, "Varve reads "+at, found, set.Arrays)
	}
	if len(ours) < 6 || len(theirs) < 6 {
		t.Errorf("%d and %d folders", len(ours), len(theirs))
	}
}

// compareElements compares arrays by their shapes and the hashes of their elements.
func compareElements(t *testing.T, what string, got, want map[string]elements) {
	t.Helper()
	for name, e := range want {
		if got[name].SHA256 != e.SHA256 || !slices.Equal(got[name].Shape, e.Shape) {
			t.Errorf("%s: %s is %v, want %v", what, name, got[name], e)
		}
	}
}
