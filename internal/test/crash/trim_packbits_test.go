// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store/memstore"
)

// TestTrimPacked trims the last chunks of arrays whose codecs store several elements in
// a byte. If the old chunk could decode as the new one, the trim is refused and nothing
// changes.
func TestTrimPacked(t *testing.T) {
	pack := func(p string) metadata.Extension { return codec.PackBits(&codec.PackBitsOptions{Padding: p}) }
	clipped := func(inner metadata.Extension) []metadata.Extension {
		c := codec.Sharding{Inner: grid.Chunks(2, 8), Codecs: []metadata.Extension{inner}}
		return []metadata.Extension{fixture.Must(codec.Shards(c))}
	}
	for name, c := range map[string]struct {
		codecs  []metadata.Extension
		long    int64 // length of the last chunk along the second axis; it is trimmed to 3
		refused bool
	}{
		"packbits":          {[]metadata.Extension{pack("none")}, 4, true},
		"compressed":        {[]metadata.Extension{pack("none"), codec.ZstdChecksum(0, false), codec.CRC32C()}, 4, true},
		"first byte":        {[]metadata.Extension{pack("first_byte")}, 4, false},
		"last byte":         {[]metadata.Extension{pack("last_byte")}, 4, false},
		"more bytes":        {[]metadata.Extension{pack("none")}, 9, false},
		"more, compressed":  {[]metadata.Extension{pack("none"), codec.ZstdChecksum(0, false)}, 9, false},
		"numcodecs":         {[]metadata.Extension{numcodecs.PackBits(), codec.Bytes("")}, 4, false},
		"shards":            {clipped(pack("none")), 4, true},
		"counted in shards": {clipped(pack("first_byte")), 4, false},
		"numcodecs, packed": {[]metadata.Extension{numcodecs.PackBits(), pack("none")}, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			values := slices.Repeat([]bool{true, false, true, false, true, true, false}, 4)[:6]
			h, unaligned := zarr.At(memstore.New(), ""), zarr.Experimental{InnerChunks: true}
			a, err := h.At("a").CreateArray(ctx, zarr.Spec{
				Shape: []int64{2, 3}, Type: dtype.Bool, Codecs: c.codecs,
				Chunks: grid.Chunks(2, c.long),
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
