// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"fmt"
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
	"varve.dev/zarr/store"
)

// TestMemoryOfLongInnerChunks writes a shard of two long inner chunks, slab by slab,
// with a budget that is smaller than either. Encoding takes memory for the stored form
// of one inner chunk, once, and releases it.
func TestMemoryOfLongInnerChunks(t *testing.T) {
	racing.Skip(t)
	const inner = 72 << 20 / 4
	values := fixture.Noisy(inner)
	for name, codecs := range map[string][]metadata.Extension{
		"zstd":  {codec.Bytes("little"), codec.ZstdChecksum(1, false)},
		"plain": {codec.Bytes("little")},
	} {
		for _, sharded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/sharded=%t", name, sharded), func(t *testing.T) {
				spec := zarr.Spec{
					Shape: []int64{2 * inner}, Type: dtype.Float32, Chunks: grid.Chunks(inner), Codecs: codecs,
				}
				if sharded {
					spec.Chunks, spec.InnerChunks = grid.Chunks(2*inner), spec.Chunks
				}
				a, err := zarr.CreateArray(t.Context(), t.TempDir()+"/a.zarr", spec, &zarr.CreateOptions{
					Options: zarr.Options{Write: true, Budget: 8 << 20, Durability: store.Flush},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				writeInTwo(t, a, values)
			})
		}
	}
}

// writeInTwo writes values twice, one after the other, and measures the memory that it
// takes. The garbage collector is off, so all allocations count and pools keep their
// buffers.
func writeInTwo(t *testing.T, a *zarr.Array, values []float32) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	n := int64(len(values))
	used := fixture.HeapMiB(func() {
		for i := range int64(2) {
			if err := zarr.Write(t.Context(), a, selection.Basic{selection.Span(i*n, (i+1)*n)}, values); err != nil {
				t.Fatal(err)
			}
		}
	})
	// The room for the stored form of each, up to a quarter more in pooled buffers, and
	// the tables of the encoder.
	most := 2*1.25*float64(n*4>>20) + 40
	t.Logf("%.0f MiB for inner chunks of %d MiB", used, n*4>>20)
	if used > most {
		t.Errorf("%.0f MiB, want %.0f at most", used, most)
	}
	got := make([]float32, n)
	for i := range int64(2) {
		if err := zarr.ReadInto(t.Context(), a, selection.Basic{selection.Span(i*n, (i+1)*n)}, got); err != nil || !slices.Equal(got, values) {
			t.Fatalf("part %d differs from what was written: %v", i, err)
		}
	}
	runtime.KeepAlive(a)
}
