// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestLevelsV2 reads and grows arrays of format 2 with levels that their compressors do
// not have. Decoding needs no level.
func TestLevelsV2(t *testing.T) {
	for name, c := range map[string]struct{ usual, odd, note string }{
		"gzip":  {`"id":"gzip","level":1`, `"id":"gzip","level":100`, "level 100"},
		"zlib":  {`"id":"zlib","level":1`, `"id":"zlib","level":12`, "level 12"},
		"blosc": {`"id":"blosc","clevel":5`, `"id":"blosc","clevel":99`, "clevel 99"},
		"zstd":  {`"id":"zstd","level":1`, `"id":"zstd","level":99`, "level 99"},
		"lz4":   {`"id":"lz4","acceleration":1`, `"id":"lz4","acceleration":4294967296`, "acceleration 4294967296"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), memstore.New()
			put := func(compressor string) *zarr.Array {
				t.Helper()
				const document = `{"zarr_format":2,"shape":[%d],"chunks":[2],"dtype":"<i4","compressor":{%s},"fill_value":0,"order":"C","filters":null}`
				n := 0
				if compressor == c.odd {
					n = 4
				}
				if _, err := store.Write(ctx, s, store.Put(store.MustKey(".zarray"), fmt.Appendf(nil, document, n, compressor)), store.Sync); err != nil {
					t.Fatal(err)
				}
				a, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Write: true})
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			if err := zarr.Append(ctx, put(c.usual), 0, []int32{1, 2, 3, 4}, nil); err != nil {
				t.Fatal(err)
			}
			a := put(c.odd)
			if n := a.Notes(); len(n) != 1 || !strings.Contains(n[0], c.note) {
				t.Errorf("notes %q", n)
			}
			if err := zarr.Append(ctx, a, 0, []int32{5, 6, 7}, nil); err != nil {
				t.Fatal(err)
			}
			if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, []int32{1, 2, 3, 4, 5, 6, 7}) {
				t.Errorf("%v, %v", got.Data, err)
			}
			again, err := zarr.At(s, "").OpenArray(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := zarr.Read[int32](ctx, again, nil); err != nil || !slices.Equal(got.Data, []int32{1, 2, 3, 4, 5, 6, 7}) {
				t.Errorf("%v, %v", got.Data, err)
			}
		})
	}
}
