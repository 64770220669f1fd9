// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/kerchunk"
	_ "varve.dev/zarr/virtual/parquet"
)

const testdata = "../testdata"

// expected is what is expected of references.
type expected struct {
	Of      []string
	Arrays  map[string]elements
	Refused *struct{ Array string }
}

// elements are the shape of an array and the hash of its elements.
type elements struct {
	Shape  []int64
	SHA256 string
}

// folders returns the folders of references by name.
func folders(t testing.TB) map[string]expected {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testdata, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ References map[string]expected }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]expected{}
	for name, e := range all.References {
		if strings.HasSuffix(name, kerchunk.ParquetSuffix) {
			found[name] = e
		}
	}
	if len(found) < 6 {
		t.Fatalf("%d folders", len(found))
	}
	return found
}

// read returns the shape of an array and the hash of its elements.
func read(t testing.TB, location string) (elements, error) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		return elements{}, err
	}
	defer a.Close()
	n := int64(a.Type().Size())
	for _, x := range a.Shape() {
		n *= x
	}
	values := make([]byte, n)
	if err := a.ReadBytes(t.Context(), nil, values); err != nil {
		return elements{}, err
	}
	if !dtype.LittleEndian() {
		a.Type().Swap(values, values)
	}
	h := sha256.Sum256(values)
	return elements{a.Shape(), hex.EncodeToString(h[:])}, nil
}

// TestFixtures reads folders that fsspec has written with fastparquet and pyarrow.
func TestFixtures(t *testing.T) {
	n := 0
	for name, want := range folders(t) {
		for path, a := range want.Arrays {
			got, err := read(t, filepath.Join(testdata, name, path))
			if err != nil || !slices.Equal(got.Shape, a.Shape) || got.SHA256 != a.SHA256 {
				t.Errorf("%s: %s is %v, want %v (%v)", name, path, got, a, err)
			}
			n++
		}
	}
	if n < 30 {
		t.Errorf("only %d arrays were read", n)
	}
}
