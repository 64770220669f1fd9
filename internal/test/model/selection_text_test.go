// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store/memstore"
)

// TestSelectionModelText is [TestSelectionModel] for elements of variable length.
func TestSelectionModelText(t *testing.T) {
	typ := fixture.Must(dtype.Parse("string", nil))
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		spec := zarr.Spec{
			Shape: []int64{6, 5}, Type: typ, Chunks: []grid.Cut{grid.Every(4), grid.Edges(2, 4)}, FillValue: zarr.FillJSON(`"none"`),
			Codecs: []metadata.Extension{codec.VariableLength(typ)},
		}
		if rapid.Bool().Draw(t, "shards") {
			spec.InnerChunks = grid.Chunks(2, 1)
		}
		a, err := zarr.At(memstore.New(), "").CreateArray(ctx, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Repeat([]string{"none"}, 30)
		for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
			v, c := drawView(t, a, everyElement(a.Shape()))
			values := make([]string, len(c.At))
			for i := range values {
				values[i] = strings.Repeat(fixture.Itoa(int64(turn)), (i*7)%5) + fixture.Itoa(int64(i%3))
				if i%4 == 3 {
					values[i] = "none"
				}
			}
			if err := zarr.Write(ctx, v, nil, values); err != nil {
				t.Fatal(err)
			}
			for i, at := range c.At {
				want[at] = values[i]
			}
			checkText(t, a, want)
			for i, at := range c.At {
				values[i] = want[at]
			}
			if b, err := zarr.Read[string](ctx, v, nil); err != nil || !slices.Equal(b.Data, values) {
				t.Fatalf("%v reads %q, want %q (%v)", c, b.Data, values, err)
			}
			got := make([]string, len(values))
			for p, err := range zarr.Pieces[string](ctx, v, nil) {
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Into(got); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, values) {
				t.Fatalf("%v in pieces %q, want %q", c, got, values)
			}
		}
	})
}

func checkText(t *rapid.T, a *zarr.Array, want []string) {
	if b, err := zarr.Read[string](context.Background(), a, nil); err != nil || !slices.Equal(b.Data, want) {
		t.Fatalf("the array holds %q, want %q (%v)", b.Data, want, err)
	}
}
