// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// TestPartsOfChunks makes columns of planes within little memory. The planes are not
// compressed, so they are read in parts, once and without scratch.
func TestPartsOfChunks(t *testing.T) {
	const bytes = 3 * 1200 * 1200
	planes := []grid.Cut{grid.Every(1), grid.Every(1200), grid.Every(1200)}
	for _, c := range []struct {
		name   string
		cuts   []grid.Cut
		memory int64 // of which a task has a quarter
		most   int64 // bytes read
	}{
		{"planes", planes, 1 << 20, bytes},
		{"rows", []grid.Cut{grid.Every(1), grid.Edges(300, 500, 400), grid.Edges(1200)}, 1 << 20, bytes},
		{"a prime number of rows", []grid.Cut{grid.Every(1), grid.Edges(601, 599), grid.Edges(1200)}, 1 << 20, bytes},
		// A task holds one plane, not both of a chunk. It is read again for some columns.
		{"two planes", []grid.Cut{grid.Edges(2, 1), grid.Every(1200), grid.Every(1200)}, 6 << 20, 2 * bytes},
	} {
		var counter observe.Counter
		s, err := filestore.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{
			Type: dtype.Uint8, Shape: []int64{3, 1200, 1200}, Chunks: c.cuts, Codecs: fixture.Plain(),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]uint8, bytes)
		for i := range data {
			data[i] = uint8(i%251 + 1)
		}
		if err := zarr.Write(t.Context(), a, nil, data); err != nil {
			t.Fatal(err)
		}
		if a, err = zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Observer: &counter, Write: true, Durability: store.Flush}); err != nil {
			t.Fatal(err)
		}
		request := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3), grid.Every(60), grid.Every(60)}}
		opt := &rechunk.Options{Memory: c.memory}
		p, err := rechunk.NewPlan(t.Context(), a, request, opt)
		if err != nil || len(p.Stages) != 1 {
			t.Errorf("%s: %d stages, want 1 (%v)", c.name, len(p.Stages), err)
		}
		before := counter.Stats()
		if _, err := rechunk.Do(t.Context(), a, request, opt); err != nil {
			t.Fatal(err)
		}
		read := counter.Stats().Sub(before).Read().Bytes
		if read > c.most+c.most/10 {
			t.Errorf("%s: %d bytes were read, want at most %d", c.name, read, c.most)
		}
		if b, err := zarr.Read[uint8](t.Context(), a, nil); err != nil || !slices.Equal(b.Data, data) {
			t.Errorf("%s: other elements (%v)", c.name, err)
		}
	}
}
