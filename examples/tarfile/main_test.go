// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

// pack writes values or a folder to a tar file and opens it.
func pack(t *testing.T, write func(w *tar.Writer) error) *os.File {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestStore runs the suite for stores.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		f := pack(t, func(w *tar.Writer) error {
			for name, data := range storetest.Fixture() {
				if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o666, Typeflag: tar.TypeReg}); err != nil {
					return err
				}
				if _, err := w.Write(data); err != nil {
					return err
				}
			}
			return nil
		})
		s, err := index(f)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	a, err := zarr.CreateArray(t.Context(), filepath.Join(dir, "a.zarr"), zarr.Spec{
		Shape: []int64{4, 3}, Type: dtype.Int16, Chunks: []grid.Cut{grid.Edges(1, 3), grid.Every(3)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Fill[int16](t.Context(), a, nil, 7); err != nil {
		t.Fatal(err)
	}
	f := pack(t, func(w *tar.Writer) error { return w.AddFS(os.DirFS(dir)) })
	var out strings.Builder
	if err := run(t.Context(), &out, f.Name(), "a.zarr"); err != nil {
		t.Fatal(err)
	}
	if out.String() != "int16 [4 3], 2 chunks stored\n" {
		t.Error(out.String())
	}
}
