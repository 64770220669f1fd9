// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// array creates an array of uncompressed elements in a directory and returns its path.
// zarr-python reads it as well.
func (b *timeTable) array(shape []int64, cuts ...grid.Cut) string {
	path := b.fresh()
	a, err := zarr.CreateArray(b.Context(), path, zarr.Spec{
		Shape: shape, Type: dtype.Float32, Chunks: cuts,
		Codecs: []metadata.Extension{codec.Bytes("little")},
	}, nil)
	check(b.T, err)
	check(b.T, a.Close())
	return path
}

// put stores ones in a part of an array.
func (b *timeTable) put(path string, box selection.Box) {
	a := b.open(path, store.Flush)
	check(b.T, zarr.Fill[float32](b.Context(), a, box, 1))
	check(b.T, a.Close())
}

func (b *timeTable) open(path string, d store.Durability) *zarr.Array {
	a, err := zarr.OpenArray(b.Context(), path, &zarr.Options{Write: true, Durability: d})
	check(b.T, err)
	return a
}

// loaded returns a store in memory with a copy of a directory.
func (b *timeTable) loaded(path string) *zarr.Location {
	s, dir := memstore.New(), os.DirFS(path)
	check(b.T, fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		value, err := fs.ReadFile(dir, name)
		check(b.T, err)
		_, err = store.Write(b.Context(), s, store.Put(store.MustKey(name), value), store.Sync)
		return err
	}))
	return zarr.At(s, "")
}

// randomEdges returns a million random lengths, and their sum.
func randomEdges() (lengths []int64, extent int64) {
	r := rand.New(rand.NewPCG(1, 2))
	lengths = make([]int64, 1_000_000)
	for i := range lengths {
		lengths[i] = 1 + r.Int64N(1000)
		extent += lengths[i]
	}
	return lengths, extent
}

// eightyYears returns the lengths in days of the months of eighty years, and their sum.
func eightyYears() (lengths []int64, extent int64) {
	for m := range 80 * 12 {
		days := int64(time.Date(1946, time.Month(m+2), 0, 0, 0, 0, 0, time.UTC).Day())
		lengths, extent = append(lengths, days), extent+days
	}
	return lengths, extent
}
