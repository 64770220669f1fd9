// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec/bytescodec"
	"varve.dev/zarr/codec/crc32c"
	"varve.dev/zarr/codec/numcodecs"
	"varve.dev/zarr/codec/packbits"
	"varve.dev/zarr/codec/sharding"
	"varve.dev/zarr/codec/zstd"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/test/fixture"
)

// TestTrimPacked trims the last chunks of arrays whose codecs store several elements in
// a byte. If the old chunk could decode as the new one, the trim is refused and nothing
// changes.
func TestTrimPacked(t *testing.T) {
	pack := func(p packbits.Padding) metadata.Extension { return packbits.Extension(&packbits.Options{Padding: p}) }
	clipped := func(inner metadata.Extension) []metadata.Extension {
		c := sharding.Configuration{Inner: []grid.Cut{grid.Every(2), grid.Every(8)}, Codecs: []metadata.Extension{inner}}
		return []metadata.Extension{fixture.Must(sharding.Extension(c))}
	}
	for name, c := range map[string]struct {
		codecs  []metadata.Extension
		long    int64 // length of the last chunk along the second axis; it is trimmed to 3
		refused bool
	}{
		"packbits":          {[]metadata.Extension{pack(packbits.NoPadding)}, 4, true},
		"compressed":        {[]metadata.Extension{pack(packbits.NoPadding), zstd.Extension(0, false), crc32c.Extension()}, 4, true},
		"first byte":        {[]metadata.Extension{pack(packbits.FirstByte)}, 4, false},
		"last byte":         {[]metadata.Extension{pack(packbits.LastByte)}, 4, false},
		"more bytes":        {[]metadata.Extension{pack(packbits.NoPadding)}, 9, false},
		"more, compressed":  {[]metadata.Extension{pack(packbits.NoPadding), zstd.Extension(0, false)}, 9, false},
		"numcodecs":         {[]metadata.Extension{numcodecs.PackBits(), bytescodec.Extension("")}, 4, false},
		"shards":            {clipped(pack(packbits.NoPadding)), 4, true},
		"counted in shards": {clipped(pack(packbits.FirstByte)), 4, false},
		"numcodecs, packed": {[]metadata.Extension{numcodecs.PackBits(), pack(packbits.NoPadding)}, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			values := slices.Repeat([]bool{true, false, true, false, true, true, false}, 4)[:6]
			h, unaligned := zarr.At(memstore.New(), ""), zarr.Experimental{InnerChunks: true}
			a, err := h.At("a").CreateArray(ctx, zarr.Spec{
				Shape: []int64{2, 3}, Type: dtype.Bool, Codecs: c.codecs,
				Chunks: []grid.Cut{grid.Every(2), grid.Every(c.long)},
			}, &zarr.CreateOptions{Options: zarr.Options{Experimental: unaligned}})
			if err == nil {
				err = zarr.Write(ctx, a, nil, values)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = a.MakeRectilinear(ctx, &zarr.RectilinearOptions{Trim: true})
			if errors.Is(err, zarr.ErrUnsupported) != c.refused || err != nil && !c.refused {
				t.Errorf("error is %v, want a refusal: %t", err, c.refused)
			}
			for _, write := range []bool{false, true, false} {
				b := fixture.Must(h.At("a").OpenArray(ctx, &zarr.Options{Write: write, Experimental: unaligned}))
				if got, err := zarr.Read[bool](ctx, b, nil); err != nil || !slices.Equal(got.Data, values) {
					t.Fatalf("%v, %v, want %v", got.Data, err, values)
				}
			}
		})
	}
}
