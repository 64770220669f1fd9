// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/store/fsstore"
)

// openArchive returns an archive of the core's test data, and reads its manifest.
func openArchive(t *testing.T, name string, manifest any) fs.FS {
	t.Helper()
	z, err := zip.OpenReader("../../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	text, err := fs.ReadFile(z, "manifest.json")
	if err == nil {
		err = json.Unmarshal(text, manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// written has the elements of an array according to zarr-python: their digest, or for
// variable length all of them.
type written struct {
	SHA256   string
	Values   []string
	Encoding string `json:"values_encoding"`
}

// TestGolden reads every array that zarr-python wrote, bit for bit. The command has all
// codecs.
func TestGolden(t *testing.T) {
	var manifest struct{ Cases map[string]written }
	stores := openArchive(t, "stores.zip", &manifest)
	if len(manifest.Cases) != 126 {
		t.Errorf("%d arrays", len(manifest.Cases))
	}
	for name, want := range manifest.Cases {
		folder, path, _ := strings.Cut(name, "::")
		files, err := fs.Sub(stores, folder+".zarr")
		if err != nil {
			t.Fatal(err)
		}
		a, err := zarr.At(fsstore.New(files), path).OpenArray(t.Context(), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := want.read(t, a); got.SHA256 != want.SHA256 || !slices.Equal(got.Values, want.Values) {
			t.Errorf("%s: other elements were read", name)
		}
	}
}

// read returns the same for an array.
func (w written) read(t *testing.T, a *zarr.Array) (got written) {
	t.Helper()
	if w.Values == nil {
		all, err := a.Select(nil)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, all.Len()*int64(a.Type().Size()))
		if err := a.ReadBytes(t.Context(), nil, data); err != nil {
			t.Error(err)
		}
		if !byteorder.Little() {
			a.Type().Swap(data, data)
		}
		sum := sha256.Sum256(data)
		got.SHA256 = hex.EncodeToString(sum[:])
		return got
	}
	words, err := zarr.Read[[]byte](t.Context(), a, nil)
	if err != nil {
		t.Error(err)
		return got
	}
	spell := func(b []byte) string { return string(b) }
	if w.Encoding == "base64" {
		spell = base64.StdEncoding.EncodeToString
	}
	for _, b := range words.Data {
		got.Values = append(got.Values, spell(b))
	}
	return got
}

// TestHostileLZMA reads hostile stores with LZMA, which the core does not have.
func TestHostileLZMA(t *testing.T) {
	racing.Skip(t)
	var manifest struct {
		Cases []struct {
			ID, Path, Expect string
			MiB              uint64 `json:"max_mib"`
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, openArchive(t, "hostile.zip", &manifest)); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, c := range manifest.Cases {
		document, err := os.ReadFile(filepath.Join(dir, c.Path, "zarr.json"))
		if err != nil || !strings.Contains(string(document), "numcodecs.lzma") {
			continue
		}
		read++
		a, err := zarr.OpenArray(t.Context(), filepath.Join(dir, c.Path), nil)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		data := make([]byte, a.Shape()[0]*int64(a.Type().Size()))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = a.ReadBytes(t.Context(), nil, data)
		runtime.ReadMemStats(&after)
		if c.Expect != "error" || !errors.Is(err, zarr.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", c.ID, err)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > c.MiB {
			t.Errorf("%s: %d MiB were allocated, %d are allowed", c.ID, used, c.MiB)
		}
	}
	if read != 3 {
		t.Errorf("%d stores", read)
	}
}
