// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"slices"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	_ "varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/metadata"
)

// TestComplete completes chains in which members are missing or mean nothing.
func TestComplete(t *testing.T) {
	const crc = `{"name":"crc32c"}`
	shard := func(location, inner string) string {
		return `[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":` + inner +
			`,"index_codecs":[` + littleBytes + `,` + crc + `]` + location + `}}]`
	}
	number, small := dtype.Int16, dtype.Uint8
	for _, c := range []struct {
		typ        dtype.Type
		text, want string
	}{
		{number, `[` + littleBytes + `]`, `[` + littleBytes + `]`},
		{number, `[{"name":"endian","configuration":{"endian":"little"}}]`, `[` + littleBytes + `]`},
		{small, `[` + littleBytes + `]`, `["bytes"]`},
		{small, `["bytes"]`, `["bytes"]`},
		{small, `["bytes",{"name":"zstd","configuration":{"level":0}}]`, `["bytes",{"name":"zstd","configuration":{"level":0,"checksum":false}}]`},
		{small, `["bytes",{"name":"zstd","configuration":{"level":4,"checksum":true}}]`, `["bytes",{"name":"zstd","configuration":{"level":4,"checksum":true}}]`},
		{small, `["bytes",{"name":"zstd","configuration":{"level":1},"must_understand":false}]`, `["bytes",{"name":"zstd","configuration":{"level":1,"checksum":false},"must_understand":false}]`},
		{small, shard("", `[`+littleBytes+`]`), shard(`,"index_location":"end"`, `[{"name":"bytes"}]`)},
		{small, shard("", `["bytes","crc32c"]`), shard(`,"index_location":"end"`, `[{"name":"bytes"},`+crc+`]`)},
		{number, shard(`,"index_location":"start"`, `[`+littleBytes+`]`), shard(`,"index_location":"start"`, `[`+littleBytes+`]`)},
	} {
		exts := chainOf(t, c.text)
		chain, err := coding.NewChain(new(codec.Environment), exts, codec.Spec{Type: c.typ, Fill: make([]byte, c.typ.Size()), Rank: 1})
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		if got := chain.Complete(exts); !slices.EqualFunc(got, chainOf(t, c.want), metadata.Extension.Equal) {
			t.Errorf("%s of %v: %v", c.text, c.typ, got)
		}
	}
}
