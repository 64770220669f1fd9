// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"fmt"
	"runtime/debug"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/vlen"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestMemoryOfLargeChunks checks chunks whose decoded form is long, one at a time. They
// share one buffer.
func TestMemoryOfLargeChunks(t *testing.T) {
	if racing.Detector {
		t.Skip("a lot of decoding")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // garbage counts as well
	const size, chunks = 48 << 20, 6
	once := []metadata.Extension{codec.ZstdChecksum(1, false)}
	twice := append(once, once...)
	for name, c := range map[string]struct {
		typ    string
		codecs []metadata.Extension
		most   float64 // as a multiple of the decoded chunk
	}{
		"fixed":       {"uint8", append([]metadata.Extension{codec.Bytes("little")}, once...), 2},
		"text, twice": {"string", append([]metadata.Extension{{Name: vlen.UTF8}}, twice...), 8},
	} {
		t.Run(name, func(t *testing.T) {
			s, typ := memstore.New(), fixture.Must(dtype.Parse(c.typ, nil))
			n := int64(size)
			if typ.Variable() {
				n = 1
			}
			_, err := zarr.At(s, "").CreateArray(t.Context(), zarr.Spec{
				Shape: []int64{chunks * n}, Type: typ, Chunks: grid.Chunks(n), Codecs: c.codecs,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			frame := fixture.Runs(size)
			if !typ.Variable() {
				frame = fixture.Runs(size - 8) // the 8 bytes before the text count, too
			}
			if len(c.codecs) > 2 {
				frame = fixture.Must(fixture.Must(codec.Default.New(once[0])).(codec.BytesBytes).Encode(nil, frame))
			}
			for i := range chunks {
				if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(fmt.Sprintf("c/%d", i)), frame), store.Sync); err != nil {
					t.Fatal(err)
				}
			}
			a, err := zarr.At(s, "").OpenArray(t.Context(), &zarr.Options{Budget: size})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			used := fixture.HeapMiB(func() {
				for f, err := range a.CheckShards(t.Context(), nil) {
					t.Error(f, err)
				}
			})
			t.Logf("%.0f MiB, %.1f chunks", used, used*(1<<20)/size)
			if most := c.most * size / (1 << 20); used > most {
				t.Errorf("%.0f MiB, want %.0f at most", used, most)
			}
		})
	}
}
