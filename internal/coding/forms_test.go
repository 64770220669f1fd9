// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	_ "varve.dev/zarr/internal/codecs/blosc"
	_ "varve.dev/zarr/internal/codecs/numcodecs"
	_ "varve.dev/zarr/internal/codecs/sharding"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// chainOf reads the JSON of a list of codecs.
func chainOf(t *testing.T, text string) (list []metadata.Extension) {
	t.Helper()
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range v.Elements() {
		ext, err := metadata.ParseExtension(e.Raw(), metadata.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ext)
	}
	return list
}

// typeOf returns the data type of a name and a configuration.
func typeOf(t *testing.T, name, configuration string) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse(name, []byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

const (
	littleBytes = `{"name":"bytes","configuration":{"endian":"little"}}`
	pairFields  = `{"fields":[{"name":"a","data_type":"int32"},{"name":"b","data_type":"float64"}]}`
)

// numcodec is a chain with a codec of numcodecs.
func numcodec(id, members string) string {
	return `[` + littleBytes + `,{"name":"numcodecs.` + id + `","configuration":{` + members + `}}]`
}

// TestOlderForms reads codecs as programs wrote them, says so, and knows how they are
// specified.
func TestOlderForms(t *testing.T) {
	pair, text := typeOf(t, "struct", pairFields), typeOf(t, "fixed_length_utf32", `{"length_bytes":12}`)
	number := dtype.Int16
	shard := func(inner, index string) string {
		return `[{"name":"sharding_indexed","configuration":{"chunk_shape":[1,1,1], "codecs":` + inner + `, "index_codecs":` + index + `}}]`
	}
	for name, c := range map[string]struct {
		typ                    dtype.Type
		chain, specified, note string
		strict                 bool
	}{
		"endian":         {number, `[{"name":"endian","configuration":{"endian":"little"}}]`, `[` + littleBytes + `]`, `"endian"`, false},
		"F":              {number, `[{"name":"transpose","configuration":{"order":"F"}},` + littleBytes + `]`, `[{"name":"transpose","configuration":{"order":[2,1,0]}},` + littleBytes + `]`, `"F"`, false},
		"C":              {number, `[{"name":"transpose","configuration":{"order":"C"}},` + littleBytes + `]`, `[{"name":"transpose","configuration":{"order":[0,1,2]}},` + littleBytes + `]`, `[0,1,2]`, false},
		"structs":        {pair, `["bytes"]`, `[` + littleBytes + `]`, "zarr-python 3.1", true},
		"text":           {text, `[{"name":"bytes"}]`, `[` + littleBytes + `]`, "GDAL", true},
		"zstd":           {number, `[` + littleBytes + `,{"name":"zstd","configuration":{"level":100,"checksum":true}}]`, `[` + littleBytes + `,{"name":"zstd","configuration":{"level":22,"checksum":true}}]`, "level 100", true},
		"numcodecs.zstd": {number, `[` + littleBytes + `,{"name":"numcodecs.zstd","configuration":{"level":-999999}}]`, `[` + littleBytes + `,{"name":"numcodecs.zstd","configuration":{"level":-131072}}]`, "level -999999", true},
		"numcodecs.gzip": {number, numcodec("gzip", `"level":100`), numcodec("gzip", `"level":9`), "level 100", true},
		"numcodecs.zlib": {number, numcodec("zlib", `"level":-2`), numcodec("zlib", `"level":-1`), "level -2", true},
		"numcodecs.bz2":  {number, numcodec("bz2", `"level":50`), numcodec("bz2", `"level":9`), "level 50", true},
		"bz2":            {number, numcodec("bz2", `"level":0`), numcodec("bz2", `"level":1`), "level 0", true},
		"blosc":          {number, numcodec("blosc", `"cname":"lz4","clevel":99`), numcodec("blosc", `"cname":"lz4","clevel":9`), "clevel 99", true},
		"lz4":            {number, numcodec("lz4", `"acceleration":5000000000`), numcodec("lz4", `"acceleration":2147483647`), "acceleration 5000000000", true},
		"shard": {pair, shard(`[{"name":"transpose","configuration":{"order":"F"}},"bytes"]`, `[{"name":"endian","configuration":{"endian":"little"}}]`),
			shard(`[{"name":"transpose","configuration":{"order":[2,1,0]}},`+littleBytes+`]`, `[`+littleBytes+`]`), `"F"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			exts := chainOf(t, c.chain)
			chain, err := coding.NewChain(new(codec.Environment), exts, codec.Spec{Type: c.typ, Fill: make([]byte, c.typ.Size()), Rank: 3})
			if err != nil {
				t.Fatal(err)
			}
			repairs := chain.Repairs()
			if len(repairs) == 0 || !strings.Contains(repairs[0].Note, c.note) {
				t.Fatalf("repairs %v", repairs)
			}
			if strict := slices.ContainsFunc(repairs, func(r coding.Repair) bool { return r.Strict != nil }); strict != c.strict {
				t.Errorf("strict is %t: %v", strict, repairs)
			}
			now := chain.Specified(exts)
			if want := chainOf(t, c.specified); !slices.EqualFunc(now, want, metadata.Extension.Equal) {
				t.Errorf("specified as %q, want %q", fmt.Sprint(now), fmt.Sprint(want))
			}
			again, err := coding.NewChain(new(codec.Environment), now, codec.Spec{Type: c.typ, Fill: make([]byte, c.typ.Size()), Rank: 3})
			if err != nil || again.Repairs() != nil {
				t.Errorf("specified codecs have repairs %v, %v", again.Repairs(), err)
			}
		})
	}
}

// TestNoOlderForm refuses what is damaged in other ways, or could mean several things.
func TestNoOlderForm(t *testing.T) {
	number, pair := dtype.Int16, typeOf(t, "struct", pairFields)
	for text, typ := range map[string]dtype.Type{
		`["bytes"]`:  number,
		`["endian"]`: number,
		`[]`:         number,
		`["gzip"]`:   number,
		`[{"name":"bytes","configuration":{"endian":"middle"}}]`:                                                                              pair,
		`[{"name":"bytes","configuration":{"endian":null}}]`:                                                                                  pair,
		`[{"name":"bytes","configuration":{"order":"little"}}]`:                                                                               pair,
		`[{"name":"transpose","configuration":{"order":"A"}},` + littleBytes + `]`:                                                            number,
		`[{"name":"transpose","configuration":{"order":"F","x":1}},` + littleBytes + `]`:                                                      number,
		`[` + littleBytes + `,{"name":"gzip","configuration":{"level":48}}]`:                                                                  number,
		`[` + littleBytes + `,{"name":"blosc","configuration":{"cname":"lz4","clevel":10,"shuffle":"noshuffle","typesize":2,"blocksize":0}}]`: number,
		`[` + littleBytes + `,{"name":"gzip","configuration":{"level":"48"}}]`:                                                                number,
		`[` + littleBytes + `,{"name":"gzip","configuration":{"level":4.5}}]`:                                                                 number,
		numcodec("bz2", `"level":"50"`):                                                                                                       number,
		numcodec("blosc", `"clevel":99,"x":1`):                                                                                                number,
		`[` + littleBytes + `,{"name":"zstd","configuration":{"level":1e30}}]`:                                                                number,
		`[` + littleBytes + `,{"name":"zstd","configuration":{"level":100,"x":1}}]`:                                                           number,
		`[` + littleBytes + `,{"name":"blosc","configuration":{"cname":"lz4","clevel":10,"shuffle":"no","blocksize":0}}]`:                     number,
	} {
		if _, err := coding.NewChain(new(codec.Environment), chainOf(t, text), codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: 2}); !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("%s of %s: %v", text, typ, err)
		}
	}
}
