// SPDX-License-Identifier: Apache-2.0

package likeness_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	_ "varve.dev/zarr/internal/codecs/blosc"
	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/crc32c"
	_ "varve.dev/zarr/internal/codecs/gzipcodec"
	_ "varve.dev/zarr/internal/codecs/sharding"
	_ "varve.dev/zarr/internal/codecs/transpose"
	_ "varve.dev/zarr/internal/codecs/vlen"
	_ "varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
)

// chains are lists of codecs for a type. %s is the one that makes bytes.
var chains = []string{
	`%s`, `%s, "crc32c"`, `%s, {"name": "gzip", "configuration": {"level": 5}}`, `%s, {"name": "zstd", "configuration": {"level": 3, "checksum": true}}`,
	`{"name": "transpose", "configuration": {"order": [1, 0]}}, %s, {"name": "crc32c"}`,
	`{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 2], "codecs": [%s, {"name": "zstd", "configuration": {"level": 0, "checksum": false}}],
		"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}], "index_location": "end"}}`,
	`%s, {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0}}`,
}

func chain(t dtype.Type, codecs string) string {
	toBytes := `{"name": "bytes", "configuration": {"endian": "little"}}`
	switch {
	case t.Kind() == dtype.KindString:
		toBytes = `{"name": "vlen-utf8"}`
	case t.Variable():
		toBytes = `{"name": "vlen-bytes"}`
	}
	return fmt.Sprintf(codecs, toBytes)
}

func typeJSON(t dtype.Type) string {
	e := metadata.Extension{Name: t.Name(), Configuration: t.Configuration()}
	return string(e.Append(nil))
}

// document returns a document of format 3.
func document(typ, fill, codecs string) string {
	return `{"zarr_format": 3, "node_type": "array", "shape": [4, 4], "data_type": ` + typ + `, "fill_value": ` + fill + `, "codecs": [` + codecs + `],
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}}, "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}`
}

func parse(t *testing.T, text string) *metadata.Array {
	t.Helper()
	a, err := metadata.ParseArray([]byte(text), metadata.Limits{})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return a
}

func check(t *testing.T, a, b *metadata.Array, want bool) {
	t.Helper()
	if likeness.SameElements(a, b) != want || likeness.SameElements(b, a) != want {
		t.Errorf("fill value %s, codecs %s\nfill value %s, codecs %s\nhave the same elements: %v", a.FillValue, text(a), b.FillValue, text(b), !want)
	}
}

func text(a *metadata.Array) (s string) {
	for _, c := range a.Codecs {
		s += string(c.Append(nil))
	}
	return s
}

// fills returns spellings of the fill value of an element.
func fills(t *testing.T, s *fixture.Speller, typ dtype.Type, e []byte) []string {
	t.Helper()
	canonical, err := typ.FormatFill(e)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{string(canonical), s.Again(string(canonical))}
	switch typ.Kind() {
	case dtype.KindFloat:
		list = append(list, hexOf(e))
	case dtype.KindComplex:
		n := typ.Unit()
		list = append(list, "["+hexOf(e[:n])+" , "+hexOf(e[n:])+"]")
	case dtype.KindRaw, dtype.KindBytes:
		if typ.Name() == "raw_bytes" || typ.Kind() == dtype.KindBytes {
			list = append(list, strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(e), " ", ","), "[,", "["))
		}
	}
	return list
}

// hexOf returns the bits of a number as a fill value.
func hexOf(e []byte) string {
	bits := slices.Clone(e)
	if byteorder.Little() {
		slices.Reverse(bits)
	}
	return fmt.Sprintf(`"0x%x"`, bits)
}

// TestSameElements checks that documents of every type with any codecs, in any spelling,
// have the same elements, and that those with another fill value, type or codecs do not.
func TestSameElements(t *testing.T) {
	for i, typ := range fixture.Types(t) {
		t.Run(typ.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			s := &fixture.Speller{Rand: r, Digits: true}
			for round := range len(chains) {
				codecs := chain(typ, chains[round%len(chains)])
				e := fixture.Element(r, typ)
				var docs []*metadata.Array
				for _, fill := range fills(t, s, typ, e) {
					list := s.Again("[" + codecs + "]")
					list = list[strings.Index(list, "[")+1 : strings.LastIndex(list, "]")]
					docs = append(docs, parse(t, document(typeJSON(typ), fill, codecs)), parse(t, document(s.Again(typeJSON(typ)), fill, list)))
				}
				for _, d := range docs {
					check(t, docs[0], d, true)
					raw, err := d.Marshal(metadata.Limits{}) // as a record has it
					if err != nil {
						t.Fatal(err)
					}
					check(t, d, parse(t, string(raw)), true)
				}
				if other := fixture.Element(r, typ); string(other) != string(e) {
					changed := *docs[0]
					changed.FillValue, _ = typ.FormatFill(other)
					check(t, docs[1], &changed, false)
				}
				other := parse(t, document(typeJSON(typ), string(docs[0].FillValue), chain(typ, chains[(round+1)%len(chains)])))
				check(t, docs[0], other, false)
			}
		})
	}
}

// TestSameElementsDefaults checks members that a configuration may lack, and forms that
// stand for others.
func TestSameElementsDefaults(t *testing.T) {
	little := `{"name": "bytes", "configuration": {"endian": "little"}}`
	shard := func(inner string) string {
		return `{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 2], "codecs": [` + inner + `], "index_codecs": [` + little + `, "crc32c"]`
	}
	for _, c := range []struct {
		typ, fill, codecs    string
		typ2, fill2, codecs2 string
		want                 bool
	}{
		{`"uint8"`, `0`, `"bytes"`, `{"name": "uint8"}`, `0.0`, little, true},
		{`"uint8"`, `0`, `"bytes"`, `"uint8"`, `1`, `"bytes"`, false},
		{`"int16"`, `0`, little, `"uint16"`, `0`, little, false},
		{`"float32"`, `0.0`, little, `"float32"`, `-0.0`, little, false},
		{`"float32"`, `0`, little, `"float32"`, `-0`, little, false},
		{`"int32"`, `0`, little, `"int32"`, `-0`, little, true},
		{`"float32"`, `"NaN"`, little, `"float32"`, `"0x7fc00000"`, little, true},
		{`"float32"`, `"NaN"`, little, `"float32"`, `"0x7fc00001"`, little, false},
		{`"float64"`, `0.1`, little, `"float64"`, `0.1000000000000000055511151231257827`, little, true},
		{`"float32"`, `16777217`, little, `"float32"`, `16777216`, little, true},
		{`"int64"`, `9007199254740993`, little, `"int64"`, `9007199254740992`, little, false},
		{`"complex64"`, `[0.0, 0.0]`, little, `"complex64"`, `[0,0e1]`, little, true},
		{`"complex64"`, `[0.0, 0.0]`, little, `"complex64"`, `[0,-0.0]`, little, false},
		{`"complex64"`, `["NaN", 0]`, little, `"complex64"`, `["0x7fc00001",0]`, little, false},
		{`"r16"`, `[0, 0]`, `"bytes"`, `"r16"`, `[0,0]`, little, true},
		{`"r16"`, `[0, 1]`, `"bytes"`, `"r16"`, `[0,0]`, little, false},
		{`"float32"`, `0`, little + `, {"name": "zstd", "configuration": {"level": 3}}`, `"float32"`, `0`, little + `, {"name": "zstd", "configuration": {"checksum": false, "level": 3.0}}`, true},
		{`"float32"`, `0`, little + `, {"name": "zstd", "configuration": {"level": 3}}`, `"float32"`, `0`, little + `, {"name": "zstd", "configuration": {"checksum": true, "level": 3}}`, false},
		{`"float32"`, `0`, little + `, "crc32c"`, `"float32"`, `0`, little + `, {"name": "crc32c", "configuration": {}}`, true},
		{`"float32"`, `0`, shard(little) + `}}`, `"float32"`, `0`, shard(little) + `, "index_location": "end"}}`, true},
		{`"float32"`, `0`, shard(little) + `}}`, `"float32"`, `0`, shard(little) + `, "index_location": "start"}}`, false},
		{`"float32"`, `0`, `{"name": "bytes", "configuration": {"endian": "big"}}`, `"float32"`, `0`, little, false},
		{`"float32"`, `0`, `{"name": "x", "configuration": {"a": [1, 2]}}`, `"float32"`, `0`, `{"configuration": {"a": [1.0,20e-1]}, "name": "x"}`, true}, // not known
		{`"float32"`, `0`, `{"name": "x", "configuration": {"a": 1}}`, `"float32"`, `0`, `{"name": "x", "configuration": {"a": 1.5}}`, false},
		{`"float32"`, `0`, `"x"`, `"float32"`, `-0.0`, `"x"`, false},
		{`{"name": "x", "configuration": {"a": 1}}`, `{"b": [1, "<"]}`, little, `{"configuration": {"a": 1}, "name": "x"}`, `{"b":[1,"\u003c"]}`, little, true},
		{`"x"`, `[0.0, 1]`, little, `"x"`, `[-0.0, 1]`, little, false},
	} {
		check(t, parse(t, document(c.typ, c.fill, c.codecs)), parse(t, document(c.typ2, c.fill2, c.codecs2)), c.want)
	}
}

// numpy are data types of format 2, each with spellings of one fill value and then
// others.
var numpy = []struct {
	dtype, filters string
	same, others   []string
}{
	{`"<i4"`, `null`, []string{`0`, `0.0`, `0e5`}, []string{`1`, `-1`}},
	{`"|b1"`, `null`, []string{`false`}, []string{`true`}},
	{`">f4"`, `null`, []string{`0`, `0.0`}, []string{`-0.0`, `"NaN"`, `1e-30`}},
	{`"<f8"`, `null`, []string{`"NaN"`}, []string{`"Infinity"`, `0.0`}},
	{`"<c8"`, `null`, []string{`[0.0, 0.0]`, `[0,0]`}, []string{`[0, -0.0]`, `["NaN", 0]`}},
	{`"<c16"`, `null`, []string{`["NaN", 1]`, `["NaN",1.0]`}, []string{`["NaN", -1]`}},
	{`"|S4"`, `null`, []string{`"YWIAAA=="`, `"YWI="`}, []string{`"YWIB"`, `""`}},
	{`"|V3"`, `null`, []string{`"AQID"`}, []string{`"AQIE"`}},
	{`"<U2"`, `null`, []string{`"<é"`, `"\u003c\u00e9"`}, []string{`"<"`}},
	{`"<M8[D]"`, `null`, []string{`0`}, []string{`1`, `-9223372036854775808`}},
	{`"|O"`, `[{"id": "vlen-utf8"}]`, []string{`"<"`, `"\u003c"`}, []string{`""`, `">"`}},
	{`[["a", "<i2"], ["b", ">f4"]]`, `null`, []string{`"AQAAAIA/"`, ` "AQAAAIA/" `}, []string{`"AAAAAIA/"`, `"AQAAAAAA"`}},
}

// TestSameElementsV2 is TestSameElements for format 2.
func TestSameElementsV2(t *testing.T) {
	for i, n := range numpy {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		s := &fixture.Speller{Rand: r}
		parse := func(fill, compressor string) *metadata.Array {
			raw := `{"zarr_format": 2, "shape": [4, 4], "chunks": [2, 2], "order": "C", "dtype": ` + s.Again(n.dtype) +
				`, "fill_value": ` + fill + `, "filters": ` + s.Again(n.filters) + `, "compressor": ` + s.Again(compressor) + `}`
			d, err := metadata.ParseArrayV2([]byte(raw), nil, metadata.Limits{})
			if err != nil {
				t.Fatalf("%s %s: %v", n.dtype, fill, err)
			}
			return d
		}
		compressors := []string{`null`, `{"id": "zlib", "level": 1}`, `{"id": "zstd", "level": 1}`, `{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}`}
		for k, c := range compressors {
			want := parse(n.same[0], c)
			for range 5 {
				for _, fill := range n.same {
					check(t, want, parse(fill, c), true)
				}
				for _, fill := range n.others {
					check(t, want, parse(fill, c), false)
				}
				check(t, want, parse(n.same[0], compressors[(k+1)%len(compressors)]), false)
			}
		}
	}
}

// TestSame compares JSON values: only the spelling may differ.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`0`, `0.0`, true}, {`0`, `-0`, false}, {`-0`, `-0.0e9`, true}, {`0e5`, `0`, true}, {`1`, `1.0e0`, true}, {`100`, `1e2`, true}, {`1E+2`, `1e2`, true}, {`0.001`, `1e-3`, true},
		{`9007199254740993`, `9007199254740992`, false}, {`0.1`, `0.1000000000000000001`, false}, {`1e400`, `10e399`, true}, {`1e400`, `1e401`, false}, {`-1`, `1`, false},
		{`1e99999999999999999999`, `1e99999999999999999999`, true}, {`1e99999999999999999999`, `1e99999999999999999998`, false},
		{`"a"`, ` "\u0061" `, true}, {`"NaN"`, `"nan"`, false}, {`"1"`, `1`, false}, {`{"a": 1, "b": [2]}`, `{"b":[2.0],"a":1}`, true}, {`{"a": null}`, `{}`, false},
		{`[1, 2]`, `[2, 1]`, false}, {`null`, `false`, false}, {`[]`, `{}`, false}, {`NaN`, `NaN`, true}, {`NaN`, ` NaN`, false}, {`1 1`, `1`, false}, {``, ``, true}, {``, `0`, false},
	} {
		if got := likeness.Same([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
		if got := likeness.Same([]byte(c.b), []byte(c.a)); got != c.want {
			t.Errorf("%s and %s: %v", c.b, c.a, got)
		}
	}
	if !likeness.Same(nil, nil) || likeness.Same(nil, []byte("null")) || likeness.Same(nil, []byte{}) {
		t.Error("no value is one")
	}
}

// TestPlain checks that all spellings of a value have one plain text, of the same value.
func TestPlain(t *testing.T) {
	const text = `{"a": [0, -1, 12300, 0.5, -0.0, 1e-7, 12345678901234567890123], "b<": {"c": "é\u2028\"", "d": null, "e": [true, {}]}, "": []}`
	want := likeness.Plain([]byte(text))
	if !json.Valid(want) || !likeness.Same(want, []byte(text)) {
		t.Errorf("%s", want)
	}
	s := &fixture.Speller{Rand: rand.New(rand.NewPCG(5, 6)), Digits: true}
	for range 100 {
		again := s.Again(text)
		if got := likeness.Plain([]byte(again)); string(got) != string(want) || !likeness.Same([]byte(again), []byte(text)) {
			t.Fatalf("%s\nis %s, want %s", again, got, want)
		}
	}
}
