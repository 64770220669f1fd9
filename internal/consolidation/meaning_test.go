// SPDX-License-Identifier: Apache-2.0

package consolidation

import (
	"strings"
	"testing"
)

const little = `{"name":"bytes","configuration":{"endian":"little"}}`

// array returns a document with the required members, and more.
func array(more string) string {
	for name, value := range map[string]string{
		"data_type": `"float32"`, "fill_value": `0`, "codecs": `[` + little + `]`,
		"chunk_grid": `{"name":"regular","configuration":{"chunk_shape":[2]}}`, "chunk_key_encoding": `"default"`,
	} {
		if !strings.Contains(more, `"`+name+`":`) {
			more += `,"` + name + `":` + value
		}
	}
	return `{"zarr_format":3,"node_type":"array","shape":[2]` + more + `}`
}

// shard returns a codec for shards of one inner chunk.
func shard(more string) string {
	return `{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[` + little + `],"index_codecs":[` + little + `,"crc32c"]` + more + `}}`
}

// TestEqualRecords compares records by their meaning.
func TestEqualRecords(t *testing.T) {
	group := func(more string) string { return `{"zarr_format":3,"node_type":"group"` + more + `}` }
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{array(``), array(`,"storage_transformers":[],"attributes":{},"dimension_names":null`), true},
		{array(``), array(`,"dimension_names":[null]`), true},
		{array(``), array(`,"dimension_names":["x"]`), false},
		{array(`,"fill_value":"NaN"`), array(`,"fill_value":"0x7fc00000"`), true},
		{array(`,"fill_value":"NaN"`), array(`,"fill_value":NaN`), false}, // damaged: no program reads it
		{array(`,"fill_value":0`), array(`,"fill_value":0.0`), true},
		{array(`,"fill_value":0.0`), array(`,"fill_value":-0.0`), false},
		{array(`,"attributes":{"a":1,"b":[NaN,"NaN, \""]}`), array(`,"attributes":{"b":["NaN","NaN, \""],"a":1.0e0}`), true},
		{array(`,"attributes":{"a":9007199254740993}`), array(`,"attributes":{"a":9007199254740992}`), false},
		{array(`,"attributes":{"a":{"name":"x"}}`), array(`,"attributes":{"a":"x"}`), false},
		{array(`,"attributes":{"a":null}`), array(``), false},
		{array(`,"attributes":{"a":1e999}`), array(`,"attributes":{"a":1e998}`), false},
		{array(`,"chunk_key_encoding":"default"`), array(`,"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}}`), true},
		{array(`,"chunk_key_encoding":"default"`), array(`,"chunk_key_encoding":{"name":"default","configuration":{"separator":"."}}`), false},
		{group(``), group(`,"consolidated_metadata":{"kind":"inline","metadata":{}},"attributes":{}`), true},
		{group(``), group(`,"attributes":{"a":1}`), false},
		{group(`,"x":{"must_understand":false,"a":[1,{"b":1.0}]}`), group(`,"x":{"a":[1.0,{"b":1}],"must_understand":false}`), true},
		{group(`,"x":{"must_understand":false,"a":1}`), group(``), false},
		{group(`,"x":1,"attributes":{"a":1}`), group(`,"x":1.0,"attributes":{"a":1.0}`), true}, // unknown
		{group(`,"x":1,"attributes":{"a":1}`), group(`,"x":1,"attributes":{"a":2}`), false},
		{array(`,"storage_transformers":["x"]`), array(`,"storage_transformers":[ "x" ]`), true},
		{array(`,"codecs":["x",{"name":"y","configuration":{}}]`), array(`,"codecs":[{"name":"x"},"y"]`), true},
		{array(`,"codecs":["x"]`), array(`,"codecs":["y"]`), false},
		{array(`,"data_type":"int8","codecs":["bytes"]`), array(`,"data_type":{"name":"int8"},"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]`), true},
		{array(``), array(`,"codecs":[{"name":"bytes","configuration":{"endian":"big"}}]`), false},
		{array(`,"codecs":[` + little + `,{"name":"zstd","configuration":{"level":3}}]`), array(`,"codecs":[` + little + `,{"name":"zstd","configuration":{"level":3,"checksum":false}}]`), true},
		{array(`,"codecs":[` + little + `,{"name":"zstd","configuration":{"level":3}}]`), array(`,"codecs":[` + little + `,{"name":"zstd","configuration":{"level":4}}]`), false},
		{array(`,"codecs":[` + shard(`,"index_location":"end"`) + `]`), array(`,"codecs":[` + shard(``) + `]`), true},
		{array(`,"codecs":[` + shard(`,"index_location":"start"`) + `]`), array(`,"codecs":[` + shard(``) + `]`), false},
		{array(`,"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[1,1]]}}`), array(`,"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[1,2]]]}}`), true},
		{array(`,"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[1,1]]}}`), array(`,"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[2]]}}`), false},
		{`{".zarray":{"filters":null,"fill_value":null}}`, `{".zarray":{"filters":[],"fill_value":null,"dimension_separator":"."},".zattrs":{}}`, true},
		{`{".zarray":{"fill_value":null}}`, `{".zarray":{"fill_value":0}}`, false},
		{`{"zarr_format":3`, `{"zarr_format":4`, false},
	} {
		if got := alike([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s\n%s: %v", c.a, c.b, got)
		}
		if got := alike([]byte(c.b), []byte(c.a)); got != c.want {
			t.Errorf("%s\n%s: %v", c.b, c.a, got)
		}
	}
}
