// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestDefaultChecksum creates arrays whose codecs say nothing about checksums, and others
// that do. Only a zstd of format 3 has one by default, also in a group that decides the
// format.
func TestDefaultChecksum(t *testing.T) {
	with, without := `"checksum":true`, `"checksum":false`
	inner := grid.Chunks(2)
	for name, row := range map[string]struct {
		spec         zarr.Spec
		format, size int
		want, refuse string
	}{
		"default":            {zarr.Spec{}, 3, 1, with, without},
		"text":               {zarr.Spec{Type: dtype.String}, 3, 1, with, without},
		"no byte order":      {zarr.Spec{Type: dtype.Uint8}, 3, 1, with, without},
		"inner chunks":       {zarr.Spec{InnerChunks: inner}, 3, 1, with, without},
		"format 2":           {zarr.Spec{}, 2, 0, `"zstd"`, "checksum"},
		"text in format 2":   {zarr.Spec{Type: dtype.String}, 2, 0, `"zstd"`, "checksum"},
		"a level":            {zarr.Spec{Codecs: append(fixture.Plain(), codec.Zstd(3))}, 3, 1, `"level":3,` + with, without},
		"level in format 2":  {zarr.Spec{Codecs: append(fixture.Plain(), codec.Zstd(3))}, 2, 0, `"level":3`, "checksum"},
		"level, inner":       {zarr.Spec{Codecs: append(fixture.Plain(), codec.Zstd(3)), InnerChunks: inner}, 3, 1, with, without},
		"refused":            {zarr.Spec{Codecs: append(fixture.Plain(), codec.ZstdChecksum(3, false))}, 3, 0, without, with},
		"refused, inner":     {zarr.Spec{Codecs: append(fixture.Plain(), codec.ZstdChecksum(3, false)), InnerChunks: inner}, 3, 0, without, with},
		"asked in format 2":  {zarr.Spec{Codecs: append(fixture.Plain(), codec.ZstdChecksum(3, true))}, 2, 1, with, without},
		"raw gets nothing":   {zarr.Spec{Codecs: fixture.Plain()}, 3, 0, `"bytes"`, "zstd"},
		"blosc gets nothing": {zarr.Spec{Codecs: append(fixture.Plain(), codec.Blosc(codec.BloscOptions{Element: 4}))}, 3, 0, `"cname":"zstd"`, "checksum"},
	} {
		ctx, s := t.Context(), memstore.New()
		g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, &zarr.CreateOptions{Format: row.format}))
		if row.spec.Shape, row.spec.Chunks = []int64{4}, grid.Chunks(4); row.spec.Type.IsZero() {
			row.spec.Type = dtype.Float32
		}
		a, err := g.At("a").CreateArray(ctx, row.spec, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		text := valueAt(t, s, "a/zarr.json") + valueAt(t, s, "a/.zarray")
		text = strings.Join(strings.Fields(text), "")
		if !strings.Contains(text, row.want) || strings.Contains(text, row.refuse) || a.Core().State().Engine.Chain.HasChecksum() != (row.size == 1) {
			t.Errorf("%s: HasChecksum is %t, %s", name, a.Core().State().Engine.Chain.HasChecksum(), text)
		}
	}
}

// TestChecksumOfOthers copies an array whose document does not say whether zstd has a
// checksum. It means that there is none, in every copy.
func TestChecksumOfOthers(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	document := `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":["bytes",{"name":"zstd","configuration":{"level":2}}]}`
	if _, err := store.Write(ctx, s, store.Put(store.MustKey("zarr.json"), []byte(document)), store.Sync); err != nil {
		t.Fatal(err)
	}
	a := fixture.Must(zarr.At(s, "").OpenArray(ctx, nil))
	like := fixture.Must(zarr.At(memstore.New(), "").CreateArray(ctx, a.Spec(), nil))
	if want := codec.ZstdChecksum(2, false); a.Core().State().Engine.Chain.HasChecksum() || like.Core().State().Engine.Chain.HasChecksum() || !like.Metadata().Codecs[1].Equal(want) {
		t.Errorf("%+v", like.Metadata().Codecs)
	}
}

// TestConvertKeepsChecksums converts default arrays of format 3 to 2 and back. Chunks and
// codecs stay as they are; what format 2 has by default stays as well.
func TestConvertKeepsChecksums(t *testing.T) {
	for _, checksum := range []bool{true, false} {
		ctx, s := t.Context(), memstore.New()
		format := map[bool]int{true: 3, false: 2}[checksum]
		spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: grid.Chunks(4), Format: format, KeyEncoding: metadata.V2Dot}
		a := fixture.Must(zarr.At(s, "").CreateArray(ctx, spec, nil))
		if err := zarr.Write(ctx, a, nil, fixture.Numbers(1, 4)); err != nil {
			t.Fatal(err)
		}
		chunk, codecs := valueAt(t, s, "0"), a.Metadata().Codecs
		for _, to := range []int{5 - format, format} {
			done, err := convert.Convert(ctx, zarr.At(s, ""), to, nil)
			if err != nil || len(done.Nodes) != 1 || done.Nodes[0].Checksum != (checksum && to == 2) {
				t.Fatalf("%+v, %v", done, err)
			}
			a = fixture.Must(zarr.At(s, "").OpenArray(ctx, nil))
			if is := a.Metadata().Codecs; a.Format() != to || a.Core().State().Engine.Chain.HasChecksum() != checksum || !is[1].Equal(codecs[1]) || valueAt(t, s, "0") != chunk {
				t.Errorf("format %d: %+v, was %+v", to, is, codecs)
			}
			if strings.Contains(valueAt(t, s, ".zarray"), "checksum") != (to == 2 && checksum) {
				t.Error(valueAt(t, s, ".zarray"))
			}
		}
	}
}

// TestStitchedChecksums stitches segments without the checksum to an array that has it:
// their chunks are encoded again, and every frame of the array has its checksum.
func TestStitchedChecksums(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	spec := zarr.Spec{Shape: []int64{0}, Type: dtype.Int32, Chunks: grid.Chunks(4)}
	a := fixture.Must(zarr.At(s, "a").CreateArray(ctx, spec, nil))
	var segments []*zarr.Array
	for i, sum := range []bool{true, false, true} {
		part := zarr.Spec{Shape: []int64{4}, Type: spec.Type, Chunks: spec.Chunks, Codecs: append(fixture.Plain(), codec.ZstdChecksum(0, sum))}
		segment := fixture.Must(zarr.At(memstore.New(), "").CreateArray(ctx, part, nil))
		if err := zarr.Write(ctx, segment, nil, fixture.Numbers(int32(1+4*i), 4)); err != nil {
			t.Fatal(err)
		}
		segments = append(segments, segment)
	}
	if err := a.Stitch(ctx, 0, segments, nil); err != nil {
		t.Fatal(err)
	}
	for i := range segments {
		const descriptor, flag = 4, 1 << 2 // RFC 8878, 3.1.1.1.1
		if frame := valueAt(t, s, fmt.Sprint("a/c/", i)); len(frame) <= descriptor || frame[descriptor]&flag == 0 {
			t.Errorf("chunk %d has no checksum: %x", i, frame)
		}
	}
	if got := fixture.Must(zarr.Read[int32](ctx, a, nil)); !slices.Equal(got.Data, fixture.Numbers(1, 12)) {
		t.Error(got.Data)
	}
}
