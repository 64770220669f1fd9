// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual"
)

// elements are the shape of an array and the hash of its elements.
type elements struct {
	Shape  []int64
	SHA256 string
}

// fileSet is a set of files that are put together along a dimension.
type fileSet struct {
	Files    []string
	Dim      string
	Kerchunk bool
	Arrays   map[string]elements
}

// TestVirtual puts files of unequal length together that netCDF4 and h5py have written: a
// decade of monthly files, and domains of ranks. The elements read through the manifest
// are those that were written. Python reads references that Varve writes.
func TestVirtual(t *testing.T) {
	dir := t.TempDir()
	var sets []fileSet
	runVirtual(t, &sets, "write", dir)
	for _, set := range sets {
		var files []string
		for _, f := range set.Files {
			files = append(files, filepath.Join(dir, f))
		}
		at := filepath.Join(dir, set.Files[0]+virtual.Suffix)
		m := collected(t, at, set.Dim, files[:len(files)-1])
		check(t, m.Create(t.Context(), openFolder(t, dir), storePath(t, filepath.Base(at))))
		addFile(t, dir, at, files[len(files)-1])
		for name, want := range set.Arrays {
			if got := readElements(t, at+"/"+name); got.SHA256 != want.SHA256 || !slices.Equal(got.Shape, want.Shape) {
				t.Errorf("%s: %s is %v, want %v", set.Files[0], name, got, want)
			}
		}
		var said []string
		runVirtual(t, &said, "refused", at)
		for _, text := range said {
			if !strings.Contains(text, "only Varve reads this manifest") {
				t.Errorf("Python opens a manifest, or says %q", text)
			}
		}
		if !set.Kerchunk {
			continue
		}
		references := filepath.Join(dir, "references"+kerchunk.Suffix)
		var text bytes.Buffer
		check(t, collected(t, references, set.Dim, files).WriteKerchunk(t.Context(), &text))
		check(t, os.WriteFile(references, text.Bytes(), 0o666))
		var found map[string]elements
		runVirtual(t, &found, "read", references)
		for name, want := range set.Arrays {
			if found[name].SHA256 != want.SHA256 {
				t.Errorf("xarray reads %v of %s, want %v", found[name], name, want)
			}
		}
	}
}

// runVirtual runs virtual.py.
func runVirtual(t *testing.T, answer any, args ...string) {
	t.Helper()
	c := exec.Command(interpreter(t), append([]string{"virtual.py"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	check(t, err)
	check(t, json.Unmarshal(out, answer))
}

// collected returns the manifest of files for a location.
func collected(t *testing.T, at, dim string, files []string) *virtual.Manifest {
	t.Helper()
	j, err := virtual.NewJoined(virtual.Join{Concat: dim})
	check(t, err)
	c, err := virtual.NewCollector(at)
	check(t, err)
	check(t, c.Collect(t.Context(), j, files))
	check(t, c.Close())
	m, err := j.Finish()
	check(t, err)
	return m
}

// addFile adds a file to a manifest.
func addFile(t *testing.T, dir, at, name string) {
	t.Helper()
	m, err := virtual.Open(t.Context(), openFolder(t, dir), storePath(t, filepath.Base(at)))
	check(t, err)
	j, err := virtual.Extend(t.Context(), m, at)
	check(t, err)
	c, err := virtual.NewCollector(at)
	check(t, err)
	check(t, c.Collect(t.Context(), j, []string{name}))
	check(t, c.Close())
	m, err = j.Finish()
	check(t, err)
	check(t, m.Update(t.Context()))
}

func openFolder(t *testing.T, dir string) store.Store {
	t.Helper()
	s, err := filestore.Open(dir, nil)
	check(t, err)
	return s
}

func storePath(t *testing.T, text string) store.Path {
	t.Helper()
	p, err := store.ParsePath(text)
	check(t, err)
	return p
}

// readElements reads an array.
func readElements(t *testing.T, location string) elements {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	check(t, err)
	defer a.Close()
	return elementsOf(t, a)
}

// elementsOf returns the shape and the hash of an array.
func elementsOf(t *testing.T, a *zarr.Array) elements {
	t.Helper()
	n := int64(a.Type().Size())
	for _, x := range a.Shape() {
		n *= x
	}
	b := make([]byte, n)
	check(t, a.ReadBytes(t.Context(), nil, b))
	sum := sha256.Sum256(b)
	return elements{a.Shape(), hex.EncodeToString(sum[:])}
}
