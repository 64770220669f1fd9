// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/vlen"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestLongText reads text that takes far more memory than its stored form. No document
// says how much.
func TestLongText(t *testing.T) {
	racing.Skip(t)
	ctx := t.Context()
	text := []string{strings.Repeat("a", 3_000_000), "b"}
	for _, ext := range []metadata.Extension{
		codec.Gzip(5), codec.ZstdChecksum(3, false), {Name: "numcodecs.blosc"}, {Name: "numcodecs.gzip"}, {Name: "numcodecs.lz4"},
		{Name: "numcodecs.zlib"}, {Name: "numcodecs.zstd"}, {Name: "numcodecs.crc32"},
	} {
		for _, inner := range [][]grid.Cut{nil, {grid.Every(1)}} {
			spec := zarr.Spec{
				Shape: []int64{2}, Type: fixture.Must(dtype.Parse("string", nil)), Chunks: grid.Chunks(2), InnerChunks: inner,
				Codecs: []metadata.Extension{{Name: vlen.UTF8}, ext, codec.CRC32C()},
			}
			a, err := zarr.At(memstore.New(), "").CreateArray(ctx, spec, nil)
			if err == nil {
				err = zarr.Write(ctx, a, nil, text)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := zarr.Read[string](ctx, a, nil)
			if err != nil || !slices.Equal(got.Data, text) {
				t.Errorf("%s, inner chunks %v: %d elements, %v", ext.Name, inner, len(got.Data), err)
			}
		}
	}
}

// TestLimitOfText refuses a block of text above the limit of blocks, before all of it is
// in memory.
func TestLimitOfText(t *testing.T) {
	ctx := t.Context()
	s := memstore.New()
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{64}, Type: fixture.Must(dtype.Parse("string", nil)), Chunks: grid.Chunks(1),
	}, nil)
	if err == nil {
		err = zarr.Fill(ctx, a, nil, strings.Repeat("word ", 200_000))
	}
	if err != nil {
		t.Fatal(err)
	}
	limited, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Limits: zarr.Limits{Block: 3 << 20}, Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.Read[string](ctx, limited, nil); !errors.Is(err, zarr.ErrLimit) || !strings.Contains(err.Error(), "Limits.Block") {
		t.Errorf("read 64 MB: %v", err)
	}
	got, err := zarr.Read[string](ctx, limited, selection.Basic{selection.Span(3, 5)})
	if err != nil || len(got.Data) != 2 || len(got.Data[1]) != 1_000_000 {
		t.Errorf("read 2 MB: %d elements, %v", len(got.Data), err)
	}
}
