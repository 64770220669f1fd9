// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"fmt"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/vlen"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// BenchmarkText reads and writes 200,000 names of stations of about 16 bytes each: all,
// and every hundredth.
func BenchmarkText(b *testing.B) {
	const count = 200_000
	text := make([]string, count)
	bytes := int64(0)
	for i := range text {
		text[i] = fmt.Sprintf("station %d of %d", i*7919%count, i%97)
		bytes += int64(len(text[i]))
	}
	for name, inner := range map[string][]grid.Cut{"chunks": nil, "shards": {grid.Every(1000)}} {
		for _, chunk := range []int64{1000, 50_000} {
			if inner != nil && chunk == 1000 {
				continue
			}
			a, err := zarr.At(memstore.New(), "").CreateArray(b.Context(), zarr.Spec{
				Shape: []int64{count}, Type: fixture.Must(dtype.Parse("string", nil)), Chunks: grid.Chunks(chunk), InnerChunks: inner,
				Codecs: []metadata.Extension{{Name: vlen.UTF8}, codec.ZstdChecksum(1, false)},
			}, nil)
			if err != nil {
				b.Fatal(err)
			}
			run := func(op string, do func() error) {
				b.Run(fmt.Sprintf("%s/%d/%s", name, chunk, op), func(b *testing.B) {
					b.SetBytes(bytes)
					b.ReportAllocs()
					for b.Loop() {
						if err := do(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			ctx := b.Context()
			run("write", func() error { return zarr.Write(ctx, a, nil, text) })
			run("read", func() error { _, err := zarr.Read[string](ctx, a, nil); return err })
			few := selection.Basic{selection.Stepped(0, count, 100)}
			run("few", func() error { _, err := zarr.Read[string](ctx, a, few); return err })
			run("change", func() error { return zarr.Write(ctx, a, selection.Basic{selection.Span(10, 20)}, text[10:20]) })
		}
	}
}
