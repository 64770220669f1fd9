// SPDX-License-Identifier: Apache-2.0

package speed_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
)

// BenchmarkOpenLocal opens and closes an array in a local directory by its path, in
// both formats.
func BenchmarkOpenLocal(b *testing.B) {
	ctx := context.Background()
	for _, format := range []int{3, 2} {
		b.Run(fmt.Sprint("format=", format), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.zarr")
			spec := fixture.Variable(format)
			if format == 2 {
				spec.Codecs = fixture.Plain()
			}
			if _, err := zarr.CreateArray(ctx, path, spec, nil); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				a, err := zarr.OpenArray(ctx, path, nil)
				if err != nil {
					b.Fatal(err)
				}
				if err := a.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMembers opens a group of a thousand arrays and all of them, from their own
// documents or from consolidated metadata.
func BenchmarkMembers(b *testing.B) {
	ctx := context.Background()
	const arrays = 1000
	for _, name := range []string{"documents", "consolidated"} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "g.zarr")
			opt := &zarr.CreateOptions{Options: zarr.Options{Write: true, Durability: store.Flush}}
			g, err := zarr.CreateGroup(ctx, path, nil, opt)
			if err != nil {
				b.Fatal(err)
			}
			nodes := map[string]zarr.NodeSpec{}
			for i := range arrays {
				nodes[fmt.Sprintf("a%05d", i)] = fixture.Variable(3)
			}
			if _, err := g.At("").Create(ctx, nodes, opt); err != nil {
				b.Fatal(err)
			}
			if name == "consolidated" {
				if err := g.Consolidate(ctx); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				g, err := zarr.OpenGroup(ctx, path, nil)
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for m, err := range g.Members(ctx, true) {
					if err != nil || m.Err != nil {
						b.Fatal(err, m.Err)
					}
					n++
				}
				if n != arrays || g.Close() != nil {
					b.Fatal(n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/arrays, "µs/array")
		})
	}
}
