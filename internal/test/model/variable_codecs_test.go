// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/codecs/vlen"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestTextThatShrinks reads chunks of text of unknown length that codecs have made very
// short.
func TestTextThatShrinks(t *testing.T) {
	text := fixture.Must(dtype.Parse("string", nil))
	lz4 := codec.Blosc(codec.BloscOptions{Compressor: "lz4", Level: 5, Element: 1})
	for _, codecs := range [][]metadata.Extension{
		{codec.Gzip(1)}, {codec.ZstdChecksum(1, true)}, {lz4}, {codec.Blosc(codec.BloscOptions{Compressor: "zstd", Level: 5, Element: 1})},
		{numcodecs.Zlib(1)}, {numcodecs.LZ4(1)}, {numcodecs.LZ4(1), numcodecs.Zlib(1), codec.CRC32C()},
		{codec.Conditional(0, numcodecs.Zlib(1), lz4)},
	} {
		codecs = append([]metadata.Extension{codec.VariableLength(text)}, codecs...)
		spec := zarr.Spec{Shape: []int64{50_000}, Type: text, Codecs: codecs}
		a, err := zarr.At(memstore.New(), "text").CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		words := slices.Repeat([]string{"the same old station"}, 50_000)
		if err := zarr.Write(t.Context(), a, nil, words); err != nil {
			t.Fatal(err)
		}
		if got, err := zarr.Read[string](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, words) {
			t.Errorf("%s behind %s: %v", codecs[1].Name, vlen.UTF8, err)
		}
	}
}

// TestTextThatLies reads short frames that claim to contain long text. Reading takes
// little memory.
func TestTextThatLies(t *testing.T) {
	text := fixture.Must(dtype.Parse("string", nil))
	for name, tt := range map[string]struct {
		ext   metadata.Extension
		frame []byte
	}{
		"lz4":   {numcodecs.LZ4(1), append([]byte{0, 0, 0, 0x30}, strings.Repeat("\x10a", 20)...)},
		"blosc": {codec.Blosc(codec.BloscOptions{Compressor: "lz4", Level: 5, Element: 1}), append([]byte{2, 1, 0x30, 1, 0, 0, 0, 0x30, 0, 0, 0, 0x30, 56, 0, 0, 0}, bytes.Repeat([]byte{1}, 40)...)},
	} {
		t.Run(name, func(t *testing.T) {
			m := memstore.New()
			a, err := zarr.At(m, "text").CreateArray(t.Context(), zarr.Spec{
				Shape: []int64{100}, Type: text, Codecs: []metadata.Extension{codec.VariableLength(text), tt.ext},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Write(t.Context(), m, store.Put(store.MustKey("text/c/0"), tt.frame), store.Sync); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = zarr.Read[string](t.Context(), a, nil)
			runtime.ReadMemStats(&after)
			if taken := after.TotalAlloc - before.TotalAlloc; err == nil || !strings.Contains(fmt.Sprint(err), "cannot be") && !strings.Contains(fmt.Sprint(err), "cannot decode to") || taken > 8<<20 {
				t.Errorf("%d bytes of memory, %v", taken, err)
			}
		})
	}
}
