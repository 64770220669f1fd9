// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"slices"
	"testing"

	"varve.dev/zarr/metadata"
)

// TestWithChecksums fills what a chain does not say, at every depth, and nothing else.
func TestWithChecksums(t *testing.T) {
	for _, row := range []struct{ stored, on, off string }{
		{`["bytes","zstd"]`, `["bytes",{"name":"zstd","configuration":{"checksum":true}}]`, `["bytes",{"name":"zstd","configuration":{"checksum":false}}]`},
		{`[{"name":"zstd","configuration":{"level":3}}]`, `[{"name":"zstd","configuration":{"level":3,"checksum":true}}]`, `[{"name":"zstd","configuration":{"level":3,"checksum":false}}]`},
		{`[{"name":"zstd","configuration":{"checksum":false}},{"name":"zstd","configuration":{"checksum":true}}]`, ``, ``},
		{`[{"name":"zstd","configuration":{"level":3},"must_understand":false}]`, `[{"name":"zstd","configuration":{"level":3,"checksum":true},"must_understand":false}]`, `[{"name":"zstd","configuration":{"level":3,"checksum":false},"must_understand":false}]`},
		{
			`[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":["bytes",{"name":"conditional","configuration":{"codecs":["zstd"]}}],"index_codecs":["bytes","crc32c"]}}]`,
			`[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":["bytes",{"name":"conditional","configuration":{"codecs":[{"name":"zstd","configuration":{"checksum":true}}]}}],"index_codecs":["bytes","crc32c"]}}]`,
			`[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":["bytes",{"name":"conditional","configuration":{"codecs":[{"name":"zstd","configuration":{"checksum":false}}]}}],"index_codecs":["bytes","crc32c"]}}]`,
		},
		{`["bytes","crc32c",{"name":"numcodecs.zstd","configuration":{"level":1}},{"name":"x","configuration":{"codecs":1}},{"name":"y","configuration":{"codecs":["zstd",1]}}]`, ``, ``},
		{`[{"name":"sharding_indexed","configuration":{ "codecs" : [ "bytes" ] }}]`, ``, ``},
	} {
		chain := parsedChain(t, row.stored)
		for on, want := range map[bool]string{true: row.on, false: row.off} {
			if want == "" {
				want = row.stored
			}
			got := WithChecksums(chain, on)
			if !slices.EqualFunc(got, parsedChain(t, want), metadata.Extension.Equal) {
				t.Errorf("%s, %t: %s, want %s", row.stored, on, chainText(got), want)
			}
			if want == row.stored && chainText(got) != row.stored {
				t.Errorf("%s became %s", row.stored, chainText(got))
			}
		}
		if chainText(chain) != row.stored {
			t.Errorf("%s itself became %s", row.stored, chainText(chain))
		}
	}
	all := `["bytes",{"name":"zstd","configuration":{"checksum":true}},{"name":"y","configuration":{"codecs":["zstd"]}}]`
	none := `["bytes",{"name":"zstd","configuration":{"checksum":false}},{"name":"y","configuration":{"codecs":[{"name":"zstd","configuration":{"checksum":false}}]}}]`
	if got := WithoutChecksums(parsedChain(t, all)); !slices.EqualFunc(got, parsedChain(t, none), metadata.Extension.Equal) {
		t.Error(chainText(got))
	}
	broken := []metadata.Extension{{Name: "zstd", Configuration: []byte("[")}}
	if got := WithChecksums(broken, true); string(got[0].Configuration) != "[" || WithChecksums(nil, true) != nil {
		t.Error(got)
	}
}

func parsedChain(t *testing.T, text string) (chain []metadata.Extension) {
	t.Helper()
	chain, err := chainOf([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

func chainText(chain []metadata.Extension) string {
	text := []byte{'['}
	for i, e := range chain {
		if i > 0 {
			text = append(text, ',')
		}
		text = e.Append(text)
	}
	return string(append(text, ']'))
}
