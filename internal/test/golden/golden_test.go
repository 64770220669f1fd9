// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store/fsstore"
)

// golden is a row of the manifest of testdata/stores.zip: an array that zarr-python
// 3.4.1 wrote.
type golden struct {
	Shape           []int64
	ZarrFormat      int       `json:"zarr_format"`
	WriteChunkSizes [][]int64 `json:"write_chunk_sizes"`
	ReadChunkSizes  [][]int64 `json:"read_chunk_sizes"`
	SHA256          string
	Values          []string
	ValuesEncoding  string `json:"values_encoding"`
}

// TestGolden reads every array of the archive bit for bit, except one whose codec needs
// codec/extra. Opening that one returns an error that names the codec. The command,
// which has codec/extra, reads it as well.
func TestGolden(t *testing.T) {
	z := fixture.OpenZip(t, "stores.zip")
	var manifest struct{ Cases map[string]golden }
	fixture.ReadJSON(t, z, "manifest.json", &manifest)
	read, refused := 0, 0
	for _, name := range slices.Sorted(maps.Keys(manifest.Cases)) {
		t.Run(name, func(t *testing.T) {
			folder, path, _ := strings.Cut(name, "::")
			sub, err := fs.Sub(z, folder+".zarr")
			if err != nil {
				t.Fatal(err)
			}
			a, err := zarr.At(fsstore.New(sub), path).OpenArray(context.Background(), nil)
			if errors.Is(err, zarr.ErrUnsupported) && strings.Contains(err.Error(), `"numcodecs.lzma" needs a library`) {
				refused++
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			read++
			checkGolden(t, a, manifest.Cases[name])
		})
	}
	if read != 125 || refused != 1 {
		t.Errorf("%d arrays were opened and %d refused, want 125 and 1", read, refused)
	}
}

func checkGolden(t *testing.T, a *zarr.Array, want golden) {
	t.Helper()
	if !slices.Equal(a.Shape(), want.Shape) {
		t.Fatalf("shape %v, want %v", a.Shape(), want.Shape)
	}
	checkSizes(t, "chunk", a.Grid(), want.WriteChunkSizes)
	if n := a.Inner(); n != nil {
		if codecs := a.Metadata().Codecs; codecs[0].Name == "transpose" { // zarr-python then sees no inner chunks
			want.ReadChunkSizes = [][]int64{{8, 8, 8, 8, 8}, {4, 4, 4, 4, 4, 4, 4, 2}}
		}
		checkSizes(t, "inner chunk", fixture.Must(n.Grid()), want.ReadChunkSizes)
	}
	if want.Values != nil {
		checkWords(t, a, want)
		return
	}
	if got := digest(t, a); got != want.SHA256 {
		t.Errorf("sha256 of the elements is %s, want %s", got, want.SHA256)
	}
}

// checkWords compares elements of variable length.
func checkWords(t *testing.T, a *zarr.Array, want golden) {
	t.Helper()
	got, err := zarr.Read[[]byte](context.Background(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	words := make([]string, len(got.Data))
	for i, b := range got.Data {
		words[i] = string(b)
		if want.ValuesEncoding == "base64" {
			words[i] = base64.StdEncoding.EncodeToString(b)
		}
	}
	if !slices.Equal(words, want.Values) {
		t.Errorf("elements are %q, want %q", words, want.Values)
	}
}

func expand(runs []grid.Run) []int64 {
	all := []int64{}
	for _, r := range runs {
		all = append(all, slices.Repeat([]int64{r.Length}, int(r.Count))...)
	}
	return all
}

// digest returns the SHA-256 of all elements in C order, little endian.
func digest(t testing.TB, a *zarr.Array) string {
	t.Helper()
	n := int64(a.Type().Size())
	for _, l := range a.Shape() {
		n *= l
	}
	data := make([]byte, n)
	if err := a.ReadBytes(context.Background(), nil, data); err != nil {
		t.Fatal(err)
	}
	if !byteorder.Little() {
		a.Type().Swap(data, data)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
