// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// longBytes is the number of bytes of the elements in a chunk of longElements.
const longBytes = 32 << 20

// longElements returns elements that fill a long chunk. Noisy elements compress badly.
func longElements(noisy bool) [][]byte {
	const each = 8 << 10
	data := make([]byte, longBytes)
	for i := range data {
		data[i] = 'a' + byte(i/each%7)
	}
	if noisy {
		rand.NewChaCha8([32]byte{1}).Read(data)
	}
	return slices.Collect(slices.Chunk(data, each))
}

// elementsInOne returns an array that stores the values as one chunk or one inner chunk.
func elementsInOne(t *testing.T, values [][]byte, sharded bool) *zarr.Array {
	t.Helper()
	typ, n := fixture.Must(dtype.Parse("bytes", nil)), int64(len(values))
	spec := zarr.Spec{
		Shape: []int64{n}, Type: typ, Chunks: grid.Chunks(n),
		Codecs: []metadata.Extension{codec.VariableLength(typ), codec.ZstdChecksum(1, false)},
	}
	if sharded {
		spec.InnerChunks = spec.Chunks
	}
	a, err := zarr.At(memstore.New(), "").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestMemoryOfChangedText changes one element of a long chunk. Memory holds the decoded
// elements and their encoding by the first codec; the stored form reuses the memory of
// the former. For noisy chunks, the stored form that was read and the copy of the store
// count as well.
func TestMemoryOfChangedText(t *testing.T) {
	racing.Skip(t)
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // garbage does not count
	for _, tt := range []struct {
		name           string
		noisy, sharded bool
		most           float64 // as a multiple of the elements
	}{
		{"short stored form", false, false, 3.25},
		{"long stored form", true, false, 4.5},
		{"shard", false, true, 3.25},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := elementsInOne(t, longElements(tt.noisy), tt.sharded)
			runtime.GC() // empties pools
			used := fixture.HeapMiB(func() {
				if err := zarr.Write(t.Context(), a, selection.Basic{selection.At(7)}, [][]byte{[]byte("new")}); err != nil {
					t.Error(err)
				}
			}) * (1 << 20) / longBytes
			t.Logf("%.2f chunks", used)
			if used > tt.most {
				t.Errorf("%.2f times the elements of a chunk, want %.2f at most", used, tt.most)
			}
			runtime.KeepAlive(a)
		})
	}
}

// TestMemoryOfComparedText compares two long chunks. Memory holds the elements of both
// once, and the stored form of one.
func TestMemoryOfComparedText(t *testing.T) {
	racing.Skip(t)
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	values := longElements(false)
	a, b := elementsInOne(t, values, false), elementsInOne(t, values, true)
	runtime.GC()
	used := fixture.HeapMiB(func() {
		if d, err := zarr.Compare(t.Context(), a, b); d != nil || err != nil {
			t.Error(d, err)
		}
	}) * (1 << 20) / longBytes
	t.Logf("%.2f chunks", used)
	if most := 2.75; used > most {
		t.Errorf("%.2f times the elements of a chunk, want %.2f at most", used, most)
	}
	runtime.KeepAlive([]*zarr.Array{a, b})
}
