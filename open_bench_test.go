package zarr_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// variable is an array as a group has many of them.
func variable(format int) zarr.Spec {
	return zarr.Spec{
		Format: format, Shape: []int64{0, 10}, Type: dtype.Of[float32](), Chunks: []grid.Cut{grid.Every(100), grid.Every(10)}, Codecs: packed(),
		DimensionNames: []string{"time", "x"}, Attributes: map[string]any{"long_name": "a variable", "units": "K"},
	}
}

// BenchmarkOpenLocal opens and closes an array in a directory of this machine by its
// path, as one of two formats.
func BenchmarkOpenLocal(b *testing.B) {
	ctx := context.Background()
	for _, format := range []int{3, 2} {
		b.Run(fmt.Sprint("format=", format), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.zarr")
			spec := variable(format)
			if format == 2 {
				spec.Codecs = plain()
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

// BenchmarkMembers opens a group of a thousand arrays and all of them, each from its own
// document or all from that of the group.
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
				nodes[fmt.Sprintf("a%05d", i)] = variable(3)
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
