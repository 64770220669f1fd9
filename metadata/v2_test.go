// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/metadata"
)

// zarray returns the document of an array of format 2 with some members changed. An empty
// text leaves a member out.
func zarray(t testing.TB, changes map[string]string) []byte {
	t.Helper()
	members := map[string]string{
		"zarr_format": "2", "shape": "[8,6]", "chunks": "[4,3]", "dtype": `"<i4"`, "compressor": "null", "fill_value": "0", "order": `"C"`, "filters": "null",
	}
	for name, value := range changes {
		if members[name] = value; value == "" {
			delete(members, name)
		}
	}
	var list []string
	for name, value := range members {
		list = append(list, fmt.Sprintf("%q:%s", name, value))
	}
	slices.Sort(list)
	return []byte("{" + strings.Join(list, ",") + "}")
}

// chainText formats codecs for comparison.
func chainText(codecs []metadata.Extension) string {
	var list []string
	for _, c := range codecs {
		list = append(list, strings.TrimSuffix(c.Name+" "+string(c.Configuration), " "))
	}
	return strings.Join(list, " | ")
}

// TestV2Codecs checks the codecs of format 3 that result from order, data type, filters
// and compressor of format 2.
func TestV2Codecs(t *testing.T) {
	const little = `bytes {"endian":"little"}`
	for _, tt := range []struct {
		changes map[string]string
		want    string
	}{
		{nil, little},
		{map[string]string{"filters": ""}, little},
		{map[string]string{"compressor": "", "dtype": `"|b1"`}, "bytes"},
		{map[string]string{"dtype": `">f8"`}, `bytes {"endian":"big"}`},
		{map[string]string{"order": `"F"`}, `transpose {"order":[1,0]} | ` + little},
		{map[string]string{"compressor": `{"id":"gzip","level":2}`}, little + ` | gzip {"level":2}`},
		{map[string]string{"compressor": `{"id":"gzip","level":-1}`}, little + ` | numcodecs.gzip {"level":-1}`},
		{map[string]string{"compressor": `{"level":3,"id":"zlib"}`}, little + ` | numcodecs.zlib {"level":3}`},
		{map[string]string{"compressor": `{"id":"zstd"}`}, little + ` | zstd {"level":0,"checksum":false}`},
		{map[string]string{"compressor": `{"id":"zstd","level":7,"checksum":true}`}, little + ` | zstd {"level":7,"checksum":true}`},
		{
			map[string]string{"compressor": `{"id":"blosc","cname":"zstd","clevel":3,"shuffle":2,"blocksize":0}`},
			little + ` | blosc {"cname":"zstd","clevel":3,"shuffle":"bitshuffle","typesize":4,"blocksize":0}`,
		},
		{map[string]string{"compressor": `{"id":"blosc","shuffle":-1}`}, little + ` | blosc {"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}`},
		{
			map[string]string{"dtype": `"|u1"`, "compressor": `{"id":"blosc","shuffle":-1}`},
			`bytes | blosc {"cname":"lz4","clevel":5,"shuffle":"bitshuffle","typesize":1,"blocksize":0}`,
		},
		{
			map[string]string{"dtype": `"|S300"`, "fill_value": `""`, "compressor": `{"id":"blosc","shuffle":0}`},
			`bytes | blosc {"cname":"lz4","clevel":5,"shuffle":"noshuffle","typesize":1,"blocksize":0}`,
		},
		{
			map[string]string{"filters": `[{"id":"shuffle","elementsize":4},{"id":"crc32c"}]`, "compressor": `{"id":"blosc"}`},
			little + ` | numcodecs.shuffle {"elementsize":4} | crc32c | blosc {"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":1,"blocksize":0}`,
		},
		{map[string]string{"filters": `[{"id":"shuffle"}]`, "dtype": `"<i8"`}, little + ` | numcodecs.shuffle {"elementsize":4}`},
		{map[string]string{"filters": `[{"id":"shuffle","elementsize":0}]`, "dtype": `"<i8"`}, little + ` | numcodecs.shuffle {"elementsize":8}`},
		{map[string]string{"compressor": `{"id":"blosc","typesize":0}`}, little + ` | blosc {"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}`},
		{map[string]string{"filters": `[{"id":"crc32c","location":"start"}]`}, little + ` | numcodecs.crc32c {"location":"start"}`},
		{map[string]string{"filters": `[{"id":"lzma","format":1,"filters":null}]`}, little + ` | numcodecs.lzma {"format":1}`},
		{
			map[string]string{"dtype": `">i4"`, "filters": `[{"id":"delta","dtype":">i4"}]`, "order": `"F"`},
			`transpose {"order":[1,0]} | numcodecs.delta {"dtype":"<i4"} | bytes {"endian":"big"}`,
		},
		{
			map[string]string{"filters": `[{"id":"delta","dtype":"<i4","astype":">i2"}]`, "compressor": `{"id":"blosc"}`},
			`numcodecs.delta {"dtype":"<i4","astype":"<i2"} | bytes {"endian":"big"} | blosc {"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":2,"blocksize":0}`,
		},
		{
			map[string]string{"dtype": `"<f8"`, "filters": `[{"id":"fixedscaleoffset","astype":"u1","dtype":"<f8","offset":10,"scale":2}]`},
			`numcodecs.fixedscaleoffset {"astype":"u1","dtype":"<f8","offset":10,"scale":2} | bytes`,
		},
		{
			map[string]string{"dtype": `"<f8"`, "filters": `[{"id":"astype","encode_dtype":">f4","decode_dtype":"<f8"}]`},
			`numcodecs.astype {"encode_dtype":"<f4","decode_dtype":"<f8"} | bytes {"endian":"big"}`,
		},
		{map[string]string{"dtype": `"|b1"`, "fill_value": "false", "filters": `[{"id":"packbits"}]`}, `numcodecs.packbits {} | bytes`},
		{map[string]string{"dtype": `"|O"`, "fill_value": `""`, "filters": `[{"id":"vlen-utf8"}]`, "compressor": `{"id":"zstd","level":1}`}, `vlen-utf8 | zstd {"level":1,"checksum":false}`},
		{map[string]string{"dtype": `"|O"`, "fill_value": `""`, "filters": `[{"id":"vlen-bytes"}]`}, `vlen-bytes`},
		{map[string]string{"compressor": `{"id":"imagecodecs_lzw"}`}, little + ` | imagecodecs_lzw {}`},
		{
			map[string]string{"dtype": `">u2"`, "filters": `[{"id":"imagecodecs_delta","axis":-1,"dist":1,"shape":[4,5],"dtype":">u2"}]`, "compressor": `{"id":"imagecodecs_zstd","level":null}`},
			`imagecodecs_delta {"axis":-1,"dist":1,"shape":[4,5],"dtype":">u2"} | bytes {"endian":"big"} | imagecodecs_zstd {}`,
		},
		{
			map[string]string{"dtype": `"<f4"`, "filters": `[{"id":"imagecodecs_floatpred","axis":-1,"dist":1,"shape":[4,5],"dtype":"<f4"},{"id":"imagecodecs_lzw"}]`},
			`imagecodecs_floatpred {"axis":-1,"dist":1,"shape":[4,5],"dtype":"<f4"} | ` + little + ` | imagecodecs_lzw {}`,
		},
		{map[string]string{"filters": `[{"id":"nobody_knows","x":[1,{"y":2}]}]`}, little + ` | numcodecs.nobody_knows {"x":[1,{"y":2}]}`},
	} {
		a, err := metadata.ParseArrayV2(zarray(t, tt.changes), nil, metadata.Limits{})
		if err != nil {
			t.Errorf("%v: %v", tt.changes, err)
		} else if got := chainText(a.Codecs); got != tt.want {
			t.Errorf("%v:\n%s\nwant\n%s", tt.changes, got, tt.want)
		}
	}
}

// TestV2Types checks the data types and fill values of format 3 that result from those of
// format 2, and converts them back.
func TestV2Types(t *testing.T) {
	const object = `[{"id":"vlen-utf8"}]`
	for _, tt := range []struct{ descr, fill, filters, typ, want, endian string }{
		{`"|b1"`, "true", "", `"bool"`, "true", ""},
		{`"|b1"`, "0", "", `"bool"`, "false", ""},
		{`"<u8"`, "18446744073709551615", "", `"uint64"`, "18446744073709551615", "little"},
		{`">i2"`, "-1", "", `"int16"`, "-1", "big"},
		{`"<f2"`, `"NaN"`, "", `"float16"`, `"NaN"`, "little"},
		{`"<f4"`, "null", "", `"float32"`, "0.0", "little"},
		{`"<f4"`, "1e-3", "", `"float32"`, "1e-3", "little"},
		{`"<c16"`, `["NaN", 1.5]`, "", `"complex128"`, `["NaN", 1.5]`, "little"},
		{`"<c8"`, "0", "", `"complex64"`, "[0.0,0.0]", "little"},
		{`"<M8[ns]"`, "null", "", `{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}}`, "-9223372036854775808", "little"},
		{`">m8[10s]"`, "0", "", `{"name":"numpy.timedelta64","configuration":{"unit":"s","scale_factor":10}}`, "0", "big"},
		{`"|S5"`, `"YWI="`, "", `{"name":"null_terminated_bytes","configuration":{"length_bytes":5}}`, `"YWI="`, ""},
		{`"|S5"`, "0", "", `{"name":"null_terminated_bytes","configuration":{"length_bytes":5}}`, `""`, ""},
		{`">U2"`, `"ö"`, "", `{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}`, `"ö"`, "big"},
		{`"|V3"`, `"AQID"`, "", `{"name":"raw_bytes","configuration":{"length_bytes":3}}`, `"AQID"`, ""},
		{`"|O"`, "0", object, `"string"`, `""`, ""},
		{`"|O"`, "null", object, `"string"`, `""`, ""},
		{`"|O"`, `"x"`, object, `"string"`, `"x"`, ""},
		{`"|O"`, `"AQ=="`, `[{"id":"vlen-bytes"}]`, `"bytes"`, `"AQ=="`, ""},
		{
			`[["a",">i2"],["b","|S2"]]`, `"AQJhAA=="`, "",
			`{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":{"name":"null_terminated_bytes","configuration":{"length_bytes":2}}}]}}`,
			`{"a":258,"b":"YQ=="}`, "big",
		},
		{
			`[["p",[["x","<f4"],["y","|u1",[]]]],["","|V3"]]`, "null", "",
			`{"name":"struct","configuration":{"fields":[{"name":"p","data_type":{"name":"struct","configuration":{"fields":[{"name":"x","data_type":"float32"},{"name":"y","data_type":"uint8"}]}}},` +
				`{"name":"f1","data_type":{"name":"raw_bytes","configuration":{"length_bytes":3}}}]}}`,
			`{"p":{"x":0.0,"y":0},"f1":"AAAA"}`, "little",
		},
		{
			`[["a","<i2"],["p",[["x",">i2"],["y","|u1"]]],["b",">i2"]]`, `"AQABAAkBAg=="`, "",
			`{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"p","data_type":{"name":"struct","configuration":` +
				`{"fields":[{"name":"x","data_type":"int16"},{"name":"y","data_type":"uint8"}]}}},{"name":"b","data_type":"int16"}]}}`,
			`{"a":1,"p":{"x":256,"y":9},"b":258}`, `{"endian":["little","big","big"]}`,
		},
		{
			`[["a",">i2",[2,1]],["b","<i2"],["c","|i1",3]]`, `"AAEAAgMAAQID"`, "",
			`{"name":"struct","configuration":{"fields":[{"name":"a","data_type":{"name":"struct","configuration":{"fields":[` +
				`{"name":"0","data_type":{"name":"struct","configuration":{"fields":[{"name":"0","data_type":"int16"}]}}},` +
				`{"name":"1","data_type":{"name":"struct","configuration":{"fields":[{"name":"0","data_type":"int16"}]}}}]}}},` +
				`{"name":"b","data_type":"int16"},{"name":"c","data_type":{"name":"struct","configuration":{"fields":[` +
				`{"name":"0","data_type":"int8"},{"name":"1","data_type":"int8"},{"name":"2","data_type":"int8"}]}}}]}}`,
			`{"a":{"0":{"0":1},"1":{"0":2}},"b":3,"c":{"0":1,"1":2,"2":3}}`, `{"endian":["big","big","little"]}`,
		},
	} {
		changes := map[string]string{"dtype": tt.descr, "fill_value": tt.fill}
		if tt.filters != "" {
			changes["filters"] = tt.filters
		}
		a, err := metadata.ParseArrayV2(zarray(t, changes), nil, metadata.Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.descr, err)
			continue
		}
		typ := string(a.DataType.Append(nil))
		if a.DataType.Configuration == nil {
			typ = fmt.Sprintf("%q", a.DataType.Name)
		}
		if typ != tt.typ || string(a.FillValue) != tt.want {
			t.Errorf("%s is %s with fill value %s, want %s and %s", tt.descr, typ, a.FillValue, tt.typ, tt.want)
		}
		if got := string(a.Codecs[0].Configuration); tt.filters == "" && got != "" && !strings.Contains(got, tt.endian) {
			t.Errorf("%s is stored by %s, want %q", tt.descr, got, tt.endian)
		}
		thereAndBack(t, a)
	}
}

// TestV2NamedTypes checks the data types that TensorStore stores by name. Arrays keep
// them, and no other array is converted to one of them.
func TestV2NamedTypes(t *testing.T) {
	for _, tt := range []struct{ descr, fill, want, codec string }{
		{"bfloat16", "null", "0.0", `bytes {"endian":"little"}`}, {"float8_e4m3fn", `"NaN"`, `"NaN"`, "bytes"}, {"int4", "-3", "-3", "bytes"}, {"float4_e2m1fn", "1.5", "1.5", "bytes"},
	} {
		a, err := metadata.ParseArrayV2(zarray(t, map[string]string{"dtype": `"` + tt.descr + `"`, "fill_value": tt.fill}), nil, metadata.Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.descr, err)
			continue
		}
		if a.DataType.Name != tt.descr || string(a.FillValue) != tt.want || chainText(a.Codecs) != tt.codec {
			t.Errorf("%s is %s with %s and %s", tt.descr, a.DataType.Name, a.FillValue, chainText(a.Codecs))
		}
		if doc, err := a.Marshal(metadata.Limits{}); err != nil || !strings.Contains(string(doc), `"dtype": "`+tt.descr+`"`) {
			t.Errorf("written as %s, %v", doc, err)
		}
		if _, err := a.ToV3().ToV2(metadata.Limits{}); !errors.Is(err, metadata.ErrUnsupported) {
			t.Errorf("%s of format 3 becomes one of format 2: %v", tt.descr, err)
		}
	}
	for _, descr := range []string{"float32", "uint4", "float8", "complex_bfloat16", "string"} {
		if _, err := metadata.ParseArrayV2(zarray(t, map[string]string{"dtype": `"` + descr + `"`}), nil, metadata.Limits{}); err == nil {
			t.Errorf("%s is a data type", descr)
		}
	}
}

// thereAndBack converts an array of format 2 to format 3 and back, and compares the two.
func thereAndBack(t *testing.T, a *metadata.Array) {
	t.Helper()
	b, err := a.ToV3().ToV2(metadata.Limits{})
	if err != nil {
		t.Errorf("%s: %v", a.DataType.Name, err)
		return
	}
	for _, x := range [][2]any{
		{a.Shape, b.Shape}, {chainText(a.Codecs), chainText(b.Codecs)}, {a.DataType, b.DataType}, {string(a.ChunkGrid.Configuration), string(b.ChunkGrid.Configuration)},
		{sameJSON(t, a.FillValue), sameJSON(t, b.FillValue)}, {a.ChunkKeyEncoding, b.ChunkKeyEncoding}, {a.DimensionNames, b.DimensionNames},
		{sameJSON(t, a.Attributes), sameJSON(t, b.Attributes)},
	} {
		if !reflect.DeepEqual(x[0], x[1]) {
			t.Errorf("%v became %v", x[0], x[1])
		}
	}
}

func sameJSON(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if v == "NaT" {
		return float64(-1 << 63)
	}
	return v
}

// TestV2Refused checks documents that are refused, and the position that the error gives.
func TestV2Refused(t *testing.T) {
	for _, tt := range []struct {
		changes map[string]string
		target  error
		words   string
	}{
		{map[string]string{"zarr_format": ""}, metadata.ErrInvalid, `/.zarray: member "zarr_format" is missing`},
		{map[string]string{"zarr_format": "3"}, metadata.ErrUnsupported, "/.zarray/zarr_format"},
		{map[string]string{"shape": ""}, metadata.ErrInvalid, `"shape" is missing`},
		{map[string]string{"shape": "8"}, metadata.ErrInvalid, "/.zarray/shape"},
		{map[string]string{"shape": "[8,18446744073709551624]"}, metadata.ErrInvalid, "/.zarray/shape/1"},
		{map[string]string{"chunks": "[4]"}, metadata.ErrInvalid, "chunks of 1 dimension"},
		{map[string]string{"chunks": "[4,0]"}, metadata.ErrInvalid, "/.zarray/chunks/1"},
		{map[string]string{"chunks": "[4,[3,3]]"}, metadata.ErrUnsupported, "format 3 has them"},
		{map[string]string{"order": `"A"`}, metadata.ErrInvalid, "/.zarray/order"},
		{map[string]string{"order": ""}, metadata.ErrInvalid, `"order" is missing`},
		{map[string]string{"dimension_separator": `"-"`}, metadata.ErrInvalid, "/.zarray/dimension_separator"},
		{map[string]string{"dtype": "3"}, metadata.ErrInvalid, "/.zarray/dtype"},
		{map[string]string{"dtype": `"i4"`}, metadata.ErrInvalid, "byte order"},
		{map[string]string{"dtype": `[]`}, metadata.ErrInvalid, "/.zarray/dtype"},
		{map[string]string{"dtype": `[["a"]]`}, metadata.ErrInvalid, "/.zarray/dtype/0"},
		{map[string]string{"dtype": `[["a","<i4"],["a","<i4"]]`}, metadata.ErrInvalid, "two fields"},
		{map[string]string{"dtype": `[["a","<i4",[0]]]`}, metadata.ErrInvalid, "/.zarray/dtype/0/2/0"},
		{map[string]string{"dtype": `[["a","<i4",-1]]`}, metadata.ErrInvalid, "an array of -1 elements"},
		{map[string]string{"dtype": `[["a","<i4",[1,"x"]]]`}, metadata.ErrInvalid, "/.zarray/dtype/0/2/1"},
		{map[string]string{"dtype": `[["a","<i4",[1000000000000]]]`}, metadata.ErrUnsupported, "an array of 1000000000000 elements"},
		{map[string]string{"dtype": `[["a","<i4",[4096,4096]]]`}, metadata.ErrUnsupported, "/.zarray/dtype/0/2/0"},
		{map[string]string{"dtype": `[["a","|u1",[1024,1023]]]`}, metadata.ErrUnsupported, "more than 4096 elements in all"},
		{map[string]string{"dtype": `[["a","|u1",4000],["b",[["x","|u1"],["y",">i2"]],[8,7]]]`}, metadata.ErrUnsupported, "/.zarray/dtype/1/2/0"},
		{map[string]string{"dtype": `[["a","<i4",[1],1]]`}, metadata.ErrInvalid, "a name, a type and at most a shape"},
		{map[string]string{"dtype": `[["a","|O"]]`}, metadata.ErrUnsupported, `"|O"`},
		{map[string]string{"dtype": `"|O"`}, metadata.ErrInvalid, "need a filter"},
		{map[string]string{"dtype": `"|O"`, "filters": `[{"id":"pickle"}]`}, metadata.ErrUnsupported, `"pickle"`},
		{map[string]string{"dtype": `"|V4"`, "fill_value": `"~~"`}, metadata.ErrInvalid, "base64"},
		{map[string]string{"dtype": `"|V4"`, "fill_value": `"AAA="`}, metadata.ErrInvalid, "/.zarray/fill_value"},
		{map[string]string{"fill_value": ""}, metadata.ErrInvalid, `"fill_value" is missing`},
		{map[string]string{"compressor": `"zlib"`}, metadata.ErrInvalid, "/.zarray/compressor"},
		{map[string]string{"compressor": `{"level":1}`}, metadata.ErrInvalid, `"id" is missing`},
		{map[string]string{"filters": `{}`}, metadata.ErrInvalid, "/.zarray/filters"},
		{map[string]string{"filters": `[{"id":""}]`}, metadata.ErrInvalid, "/.zarray/filters/0/id"},
		{map[string]string{"dtype": `"<i4"`, "filters": `[{"id":"delta","dtype":">i4"}]`}, metadata.ErrUnsupported, "/.zarray/filters/0"},
		{map[string]string{"dtype": `">f4"`, "filters": `[{"id":"imagecodecs_floatpred","shape":[4,5],"dtype":"<f4"}]`}, metadata.ErrUnsupported, "in the other byte order"},
		{
			map[string]string{"dtype": `">i4"`, "filters": `[{"id":"astype","encode_dtype":"<i2","decode_dtype":">i4"},{"id":"delta","dtype":">i2"}]`},
			metadata.ErrUnsupported, `"delta" with dtype ">i2"`,
		},
		{map[string]string{"filters": `[{"id":"shuffle"},{"id":"delta"}]`}, metadata.ErrUnsupported, `"delta" after one that makes bytes`},
	} {
		_, err := metadata.ParseArrayV2(zarray(t, tt.changes), nil, metadata.Limits{})
		if !errors.Is(err, tt.target) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%v: %v, want %v with %q", tt.changes, err, tt.target, tt.words)
		}
	}
	_, err := metadata.ParseArrayV2(zarray(t, nil), []byte("[1, 2"), metadata.Limits{})
	if !errors.Is(err, metadata.ErrInvalid) || !strings.Contains(err.Error(), "/.zattrs") {
		t.Errorf("damaged attributes: %v", err)
	}
}

// TestV2Described checks that unsupported arrays are returned with an error, so that they
// can be described.
func TestV2Described(t *testing.T) {
	for descr, want := range map[string]string{
		`[["a","<i4",[9999]]]`: `[["a","<i4",[9999]]]`, `"|O"`: "object", `"<i3"`: "<i3",
	} {
		a, err := metadata.ParseArrayV2(zarray(t, map[string]string{"dtype": descr, "filters": `[{"id":"json2"}]`}), []byte(`{"k":1}`), metadata.Limits{})
		if a == nil || err != nil && !errors.Is(err, metadata.ErrUnsupported) {
			t.Errorf("%s: %v", descr, err)
		} else if a.DataType.Name != want || string(a.Attributes) != `{"k":1}` || a.Shape[0] != 8 {
			t.Errorf("%s is described as %s, want %s", descr, a.DataType.Name, want)
		}
	}
}

// TestV2CodecsDescribed checks that unsupported chains are described with all their
// codecs.
func TestV2CodecsDescribed(t *testing.T) {
	for filters, want := range map[string][]string{
		`[{"id":"delta","dtype":">i4"},{"id":"shuffle"}]`: {"numcodecs.delta", "bytes", "numcodecs.shuffle"},
		`[{"id":"shuffle"},{"id":"delta","dtype":"<i4"}]`: {"bytes", "numcodecs.shuffle", "numcodecs.delta"},
	} {
		a, err := metadata.ParseArrayV2(zarray(t, map[string]string{"dtype": `"<i4"`, "filters": filters}), nil, metadata.Limits{})
		if a == nil || !errors.Is(err, metadata.ErrUnsupported) {
			t.Errorf("%s: %v, %v", filters, a, err)
			continue
		}
		var names []string
		for _, c := range a.Codecs {
			names = append(names, c.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", filters, names, want)
		}
	}
}

// TestV2Marshal writes an array as it was read, with unknown members and the original
// spelling.
func TestV2Marshal(t *testing.T) {
	document := zarray(t, map[string]string{
		"dimension_separator": `"/"`, "_nczarr_array": `{"dimrefs": ["/t"]}`, "fill_value": "1e0", "compressor": `{"level":1.0,"id":"zstd"}`, "filters": "[]",
	})
	a, err := metadata.ParseArrayV2(document, []byte(`{"_ARRAY_DIMENSIONS":["t","x"],"n":1.10}`), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Format() != 2 || a.Document() != ".zarray" || *a.DimensionNames[1] != "x" {
		t.Errorf("format %d, document %s, dimensions %v", a.Format(), a.Document(), a.DimensionNames)
	}
	if keys, err := metadata.ParseKeyEncoding(a.ChunkKeyEncoding); err != nil || keys != metadata.V2Slash {
		t.Error(keys, err)
	}
	raw, err := a.Marshal(metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(sameJSON(t, raw), sameJSON(t, document)) || !strings.Contains(string(raw), "1e0") || !strings.Contains(string(raw), `1.0`) {
		t.Errorf("%s\nbecame\n%s", document, raw)
	}
	b := a.Resized([]int64{9, 6}, a.ChunkGrid)
	if raw, err = b.Marshal(metadata.Limits{}); err != nil || !strings.Contains(string(raw), `"shape": [9, 6]`) {
		t.Errorf("%s %v", raw, err)
	}
	c := a.Resized([]int64{8, 6}, metadata.Extension{Name: "rectilinear", Configuration: []byte(`{"kind":"inline","chunk_shapes":[[3,5],6]}`)})
	if _, err := c.Marshal(metadata.Limits{}); !errors.Is(err, metadata.ErrUnsupported) || !strings.HasSuffix(err.Error(), "format 2 has regular chunks only") {
		t.Error(err)
	}
	if v3 := a.ToV3(); v3.Format() != 3 || string(v3.Attributes) != `{"n":1.10}` || v3.DimensionNames == nil {
		t.Errorf("in format 3: %d %s", v3.Format(), v3.Attributes)
	}
}

// TestToV2Refuses checks arrays that format 2 cannot express.
func TestToV2Refuses(t *testing.T) {
	name := "t"
	array := func(change func(a *metadata.Array)) *metadata.Array {
		a := &metadata.Array{
			Shape: []int64{4, 4}, DataType: metadata.Extension{Name: "int32"}, FillValue: []byte("0"),
			ChunkGrid:        metadata.Extension{Name: "regular", Configuration: []byte(`{"chunk_shape":[2,2]}`)},
			ChunkKeyEncoding: metadata.V2Dot.Extension(), Attributes: []byte("{}"),
			Codecs: []metadata.Extension{{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}},
		}
		change(a)
		return a
	}
	codec := func(name, configuration string) func(a *metadata.Array) {
		return func(a *metadata.Array) {
			a.Codecs = append([]metadata.Extension{{Name: name, Configuration: []byte(configuration)}}, a.Codecs...)
		}
	}
	if _, err := array(func(*metadata.Array) {}).ToV2(metadata.Limits{}); err != nil {
		t.Fatal(err)
	}
	for words, change := range map[string]func(a *metadata.Array){
		"/data_type: format 2":  func(a *metadata.Array) { a.DataType.Name = "bfloat16" },
		"/data_type: not known": func(a *metadata.Array) { a.DataType.Name = "quaternion" },
		"/chunk_key_encoding":   func(a *metadata.Array) { a.ChunkKeyEncoding = metadata.DefaultSlash.Extension() },
		"regular chunks only": func(a *metadata.Array) {
			a.ChunkGrid = metadata.Extension{Name: "rectilinear", Configuration: []byte(`{}`)}
		},
		"/codecs/0/configuration":  func(a *metadata.Array) { a.Shape = []int64{1, 2, 3}; codec("transpose", `{"order":[1,0,2]}`)(a) },
		`codec "sharding_indexed"`: codec("sharding_indexed", `{}`),
		"/dimension_names/1":       func(a *metadata.Array) { a.DimensionNames = []*string{&name, nil} },
		"/attributes/_ARRAY_DIMENS": func(a *metadata.Array) {
			a.DimensionNames, a.Attributes = []*string{&name, &name}, []byte(`{"_ARRAY_DIMENSIONS":["x","y"]}`)
		},
		"/fill_value":           func(a *metadata.Array) { a.DataType.Name, a.FillValue = "float32", []byte(`"0x7fc00001"`) },
		"/storage_transformers": func(a *metadata.Array) { a.StorageTransformers = []metadata.Extension{{Name: "x"}} },
	} {
		_, err := array(change).ToV2(metadata.Limits{})
		if !errors.Is(err, metadata.ErrUnsupported) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want one with %q", err, words)
		}
	}
}

// TestNonFinite reads attributes as Python writes them, and writes them as they were.
func TestNonFinite(t *testing.T) {
	const attributes = "{\n  \"_FillValue\": NaN,\n  \"NaN\": [\"NaN\", -Infinity, Infinity, \"\\\"NaN\"],\n  \"other\": 1.50\n}\n"
	a, err := metadata.ParseArrayV2(zarray(t, nil), []byte(attributes), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"_FillValue": "NaN", "NaN": []any{"NaN", "-Infinity", "Infinity", "\"NaN"}, "other": 1.5}
	if got := sameJSON(t, a.Attributes); !reflect.DeepEqual(got, want) {
		t.Errorf("read as %v, want %v", got, want)
	}
	if len(a.Notes()) != 1 || !strings.Contains(a.Notes()[0], "NaN") {
		t.Errorf("notes %q", a.Notes())
	}
	raw, err := metadata.SetAttribute(a.Attributes, "other", []byte(`2`))
	if err == nil {
		a, err = a.WithAttributes(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.MarshalAttributes(metadata.Limits{})
	if err != nil || strings.ReplaceAll(string(out), "2\n", "1.50\n") != strings.Replace(attributes, `["NaN", -Infinity`, `["NaN", -Infinity`, 1) {
		t.Errorf("%s %v, want\n%s", out, err, attributes)
	}
	for _, bad := range []string{`{"a": NaNa}`, `{"a": -NaN}`, `{NaN: 1}`, `{"a": NaN`, `"NaN`, `NaN`} {
		if _, err := metadata.ParseAttributesV2([]byte(bad), metadata.Limits{}); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// FuzzV2 reads documents of format 2, writes and reads them again, and converts them to
// format 3 and back.
func FuzzV2(f *testing.F) {
	for _, changes := range []map[string]string{
		nil, {"dtype": `[["a",">i2"],["b",[["c","<U3"]]]]`, "fill_value": `"AAAAAAAAAAAAAAAAAAA="`}, {"dtype": `"|O"`, "filters": `[{"id":"vlen-utf8"}]`},
		{"filters": `[{"id":"delta","dtype":">i4","astype":"i2"}]`, "compressor": `{"id":"blosc","shuffle":-1}`, "order": `"F"`},
	} {
		f.Add(zarray(f, changes), []byte(`{"_ARRAY_DIMENSIONS":["a","b"],"x":NaN}`))
	}
	f.Fuzz(func(t *testing.T, document, attributes []byte) {
		a, err := metadata.ParseArrayV2(document, attributes, metadata.Limits{})
		if err != nil {
			return
		}
		raw, err := a.Marshal(metadata.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		attrs, err := a.MarshalAttributes(metadata.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, attributes)
		}
		b, err := metadata.ParseArrayV2(raw, attrs, metadata.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, raw, attrs)
		}
		if chainText(a.Codecs) != chainText(b.Codecs) || string(a.FillValue) != string(b.FillValue) || !slices.Equal(a.Shape, b.Shape) {
			t.Fatalf("%s\nbecame\n%s", document, raw)
		}
		if c, err := a.ToV3().ToV2(metadata.Limits{}); err == nil && chainText(c.Codecs) != chainText(a.Codecs) {
			t.Fatalf("%s became %s", chainText(a.Codecs), chainText(c.Codecs))
		}
	})
}

// TestV2Rank0 checks arrays without dimensions. If one lacks the attribute that names the
// dimensions, xarray opens no array of its group.
func TestV2Rank0(t *testing.T) {
	for attributes, want := range map[string]string{
		`{}`: `{"_ARRAY_DIMENSIONS":[]}`, `{"a":1}`: `{"a":1,"_ARRAY_DIMENSIONS":[]}`,
		`{"_ARRAY_DIMENSIONS":["x"]}`: `{"_ARRAY_DIMENSIONS":["x"]}`, // of another program; it stays
	} {
		a, err := metadata.ParseArray([]byte(`{"zarr_format":3,"node_type":"array","shape":[],"data_type":"int8","fill_value":0,"codecs":[{"name":"bytes"}],
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},"chunk_key_encoding":{"name":"v2"},"attributes":`+attributes+`}`), metadata.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := a.ToV2(metadata.Limits{})
		if err != nil || string(b.Attributes) != want {
			t.Errorf("%s becomes %s, want %s: %v", attributes, b.Attributes, want, err)
		}
	}
}

// TestV2NullFill checks the fill value null, which only format 2 has.
func TestV2NullFill(t *testing.T) {
	a, err := metadata.ParseArrayV2([]byte(`{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<M8[s]","fill_value":7,"order":"C","filters":null,"compressor":null}`), nil, metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b := a.WithNullFill()
	if a.HasNullFill() || !b.HasNullFill() || string(b.FillValue) != "-9223372036854775808" {
		t.Errorf("fill values %s and %s", a.FillValue, b.FillValue)
	}
	raw, err := b.Marshal(metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := metadata.ParseArrayV2(raw, nil, metadata.Limits{}); err != nil || !c.HasNullFill() || string(c.FillValue) != string(b.FillValue) {
		t.Errorf("%s is read otherwise: %v", raw, err)
	}
	if c := b.ToV3(); c.HasNullFill() || c.WithNullFill() != c {
		t.Error("an array of format 3 has no fill value")
	}
}

// TestManyFieldsV2 checks that a structured type with far too many fields is refused
// before memory is allocated for them.
func TestManyFieldsV2(t *testing.T) {
	const n = 100_000
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(`["%05d","|u1"]`, i)
	}
	doc := []byte(`{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":[` + strings.Join(fields, ",") +
		`],"compressor":null,"fill_value":null,"order":"C","filters":null}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := metadata.ParseV2(nodename.V2Array, doc, nil, metadata.Limits{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, metadata.ErrUnsupported) || !strings.Contains(err.Error(), "4096 fields") {
		t.Errorf("error is %.200v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4*uint64(len(doc)) {
		t.Errorf("%d bytes for a document of %d", used, len(doc))
	}
}
