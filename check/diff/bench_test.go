// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"context"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check/diff"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
)

// BenchmarkWhole does with an array of 64 MiB what whole-store work does, beside reading
// it: its chunks are compressed by zstd, or stored as they are.
func BenchmarkWhole(b *testing.B) {
	ctx := context.Background()
	for name, codecs := range map[string]bool{"zstd": true, "raw": false} {
		spec := zarr.Spec{Shape: []int64{64, 512, 512}, Type: dtype.Float32, Chunks: grid.Chunks(8, 128, 512)}
		if !codecs {
			spec.Codecs = fixture.Plain()
		}
		x, y := create(b, spec), create(b, spec)
		spec.Chunks = grid.Chunks(13, 100, 512)
		other := create(b, spec)
		data := fixture.Noisy(64 * 512 * 512)
		for _, a := range []*zarr.Array{x, y, other} {
			if err := zarr.Write(ctx, a, nil, data); err != nil {
				b.Fatal(err)
			}
		}
		run := func(what string, do func() error) {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.SetBytes(int64(4 * len(data)))
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("read", func() error { return zarr.ReadInto(ctx, x, nil, data) })
		run("check", func() error {
			for _, err := range x.CheckShards(ctx, nil) {
				return err
			}
			return nil
		})
		run("digest", func() error { _, err := x.Digest(ctx, nil); return err })
		run("diff of equal bytes", func() error { _, err := diff.Nodes(ctx, x, y, nil); return err })
		run("diff of two grids", func() error { _, err := diff.Nodes(ctx, x, other, nil); return err })
	}
}
