// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestTextOfNestedShards changes and reads text in shards within shards. The length of
// the text in an inner chunk is known only once it is decoded, and the inner chunks of
// one shard share the room that was expected for it.
func TestTextOfNestedShards(t *testing.T) {
	inner := metadata.Extension{Name: "sharding_indexed", Configuration: []byte(`{"chunk_shape":[4],"codecs":[{"name":"sharding_indexed","configuration":` +
		`{"chunk_shape":[2],"codecs":["vlen-utf8",{"name":"zstd","configuration":{"level":1,"checksum":false}}],` +
		`"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`)}
	spec := zarr.Spec{Shape: []int64{0}, Type: fixture.Must(dtype.Parse("string", nil)), Chunks: grid.Chunks(16), Codecs: []metadata.Extension{inner}}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		a := fixture.Must(zarr.At(memstore.New(), "").CreateArray(t.Context(), spec, nil))
		var want []string
		for range 12 {
			more := make([]string, 1+r.IntN(5))
			for i := range more {
				more[i] = string(bytes.Repeat([]byte{byte('a' + r.IntN(26))}, r.IntN(1<<r.IntN(13))))
			}
			if err := zarr.Append(t.Context(), a, 0, more, nil); err != nil {
				t.Fatalf("seed %d: append: %v", seed, err)
			}
			want = append(want, more...)
			at := r.Int64N(int64(len(want)))
			want[at] = fmt.Sprint(r.Int())
			if err := zarr.Write(t.Context(), a, selection.Box{{at, at + 1}}, want[at:at+1]); err != nil {
				t.Fatalf("seed %d: write: %v", seed, err)
			}
			got, err := zarr.Read[string](t.Context(), a, nil)
			if err != nil || !slices.Equal(got.Data, want) {
				t.Fatalf("seed %d: read %q, want %q: %v", seed, got.Data, want, err)
			}
		}
	}
}
