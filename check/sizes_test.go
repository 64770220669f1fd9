// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"encoding/json"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

const (
	rawBytes  = `{"name":"bytes","configuration":{"endian":"little"}}`
	zstdBytes = `{"name":"zstd","configuration":{"level":0,"checksum":false}}`
	sum       = `{"name":"crc32c"}`
)

// inShards returns shards of 4 inner chunks with a chain.
func inShards(chain, location string) string {
	return `{"name":"sharding_indexed","configuration":{"chunk_shape":[4],"codecs":[` + chain +
		`],"index_codecs":[` + rawBytes + `,` + sum + `],"index_location":"` + location + `"}}`
}

// TestFastSizes truncates a stored chunk to each length, and lengthens it. A fast check
// sees all of it where the codecs have one size for a shape, and in shards, and else at
// least an empty chunk. It sees nothing that a full check does not see.
func TestFastSizes(t *testing.T) {
	for name, c := range map[string]struct {
		typ    dtype.Type
		codecs string
		all    bool // every truncation is seen
	}{
		"raw":                 {dtype.Int32, rawBytes, true},
		"transposed":          {dtype.Int32, `{"name":"transpose","configuration":{"order":[0]}},` + rawBytes, true},
		"with a checksum":     {dtype.Int32, rawBytes + `,` + sum, true},
		"with two":            {dtype.Int32, rawBytes + `,` + sum + `,` + sum, true},
		"bits":                {dtype.Bool, `{"name":"packbits"}`, true},
		"zstd":                {dtype.Int32, rawBytes + `,` + zstdBytes, false},
		"zstd and a checksum": {dtype.Int32, rawBytes + `,` + zstdBytes + `,` + sum, false},
		"gzip":                {dtype.Int32, rawBytes + `,{"name":"gzip","configuration":{"level":1}}`, false},
		"blosc":               {dtype.Int32, rawBytes + `,{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}}`, false},
		"text":                {dtype.String, `{"name":"vlen-utf8"}`, false},
		"compressed text":     {dtype.String, `{"name":"vlen-utf8"},` + zstdBytes, false},
		"shard":               {dtype.Int32, inShards(rawBytes, "end"), true},
		"index first":         {dtype.Int32, inShards(rawBytes, "start"), true},
		"compressed shard":    {dtype.Int32, inShards(rawBytes+`,`+zstdBytes, "end"), true},
		"compressed, first":   {dtype.Int32, inShards(rawBytes+`,`+zstdBytes, "start"), true},
		"shard of text":       {dtype.String, inShards(`{"name":"vlen-utf8"}`, "end"), true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s := memstore.New()
			var codecs []metadata.Extension
			if err := json.Unmarshal([]byte("["+c.codecs+"]"), &codecs); err != nil {
				t.Fatal(err)
			}
			a := fixture.Must(zarr.At(s, "").CreateArray(ctx, zarr.Spec{Type: c.typ, Shape: []int64{16}, Chunks: grid.Chunks(16), Codecs: codecs}, nil))
			var err error
			switch c.typ {
			case dtype.String:
				err = zarr.Write(ctx, a, nil, []string{"a", "b", "", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"})
			case dtype.Bool:
				err = zarr.Write(ctx, a, nil, []bool{true, true, false, true, true, true, true, true, true, true, true, true, true, true, true, true})
			default:
				err = zarr.Write(ctx, a, nil, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
			}
			if err != nil {
				t.Fatal(err)
			}
			key := store.MustKey("c/0")
			stored := value(t, s, "c/0")
			faults := func(fast bool) int64 {
				a := fixture.Must(zarr.At(s, "").OpenArray(ctx, nil))
				r := fixture.Must(check.Run(ctx, a, &check.Options{Fast: fast}))
				return r.Arrays[0].Faults
			}
			if n := faults(true) + faults(false); n > 0 {
				t.Fatalf("%d faults in a sound chunk", n)
			}
			for size := range len(stored) + 3 {
				if size == len(stored) {
					continue
				}
				damaged := append([]byte{}, append(stored, 0, 0)[:size]...)
				fixture.Must(store.Write(ctx, s, store.Put(key, damaged), store.Sync))
				fast, full := faults(true) > 0, faults(false) > 0
				if !full && fast || (size == 0 || c.all && size < len(stored)) && !fast {
					t.Errorf("%d of %d bytes: seen by a fast check %t, by a full one %t", size, len(stored), fast, full)
				}
			}
		})
	}
}
