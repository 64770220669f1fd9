// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
)

// TestRegularized gives arrays with chunks of several shapes one shape. Every peer that
// knows format 3 then reads the elements.
func TestRegularized(t *testing.T) {
	read := map[string]int{}
	for kind, spec := range map[string]zarr.Spec{
		"chunks": {Chunks: []grid.Cut{grid.Edges(31, 28, 31, 10), grid.Every(5)}},
		"shards": {Chunks: []grid.Cut{grid.Edges(30, 20, 50), grid.Every(10)}, InnerChunks: grid.Chunks(10, 5)},
		"fitted": {Chunks: []grid.Cut{grid.Edges(40, 40, 20), grid.Every(5)}},
	} {
		spec.Type, spec.Shape, spec.Codecs = dtype.Int32, []int64{100, 10}, []metadata.Extension{codec.Bytes("little"), codec.ZstdChecksum(0, false)}
		path := filepath.Join(t.TempDir(), kind+".zarr")
		made, err := zarr.CreateArray(t.Context(), path, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]int32, 1000)
		for i := range values {
			values[i] = int32(i * i)
		}
		if err := zarr.Write(t.Context(), made, nil, values); err != nil {
			t.Fatal(err)
		}
		a := array{name: kind, format: 3, dtype: "<i4", rows: 100}
		if a.whole, err = (varve{}).read(t, a, path); err != nil {
			t.Fatal(err)
		}
		report, err := rechunk.Do(t.Context(), made, rechunk.Regularization{}, nil)
		if err != nil || !report.Changed || !made.Grid().IsRegular() {
			t.Fatalf("%s: %+v (%v)", kind, report, err)
		}
		if err := made.Close(); err != nil {
			t.Fatal(err)
		}
		for _, reader := range names[2:] {
			p := start(t, reader)
			if p == nil {
				continue // TestMatrix says which peers are not installed
			}
			if got, err := p.read(t, a, path); err != nil || !same(got, a.whole) {
				t.Errorf("%s: %s reads %.100v (%v)", kind, reader, got, err)
			}
			read[reader]++
		}
	}
	t.Log(read)
}
