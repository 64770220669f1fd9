package main

import (
	"encoding/json"
	"slices"
	"strings"

	"varve.dev/zarr/metadata"
)

// program is one of which it is known what it reads. What is not in its lists may be read all
// the same; nobody has tried it, or it failed.
type program struct {
	name      string
	formats   []int
	types     []string // data types; a name that ends in "*" is the beginning of several
	codecs    []string // the same of codecs
	irregular string   // what rectilinear grids take: "" where they are not read, " " where they take nothing
	grids     []string // other grids that it reads
}

// Data types and codecs that many programs have.
var (
	plainNumbers = []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}
	manyTypes    = append([]string{"bool", "float16", "complex64", "complex128"}, plainNumbers...)
	plainCodecs  = []string{"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed"}
	numpyTypes   = append([]string{"string", "fixed_length_utf32", "null_terminated_bytes", "numpy.datetime64", "numpy.timedelta64"}, manyTypes...)
	numcodecs    = []string{
		"numcodecs.astype", "numcodecs.delta", "numcodecs.fixedscaleoffset", "numcodecs.quantize", "numcodecs.bitround",
		"numcodecs.bz2", "numcodecs.lz4", "numcodecs.lzma", "numcodecs.shuffle", "numcodecs.zlib", "numcodecs.zstd",
		"numcodecs.gzip", "numcodecs.blosc", "numcodecs.crc32", "numcodecs.adler32", "numcodecs.fletcher32",
	}
)

// programs is what was known on 2026-11-22 of the versions named, or newer ones: from runs against
// them and from their sources. It is the only place that says so.
var programs = []program{
	{
		name: "zarr-python ≥ 3.2", formats: []int{2, 3}, irregular: " (array.rectilinear_chunks)",
		types:  append([]string{"raw_bytes", "variable_length_bytes", "struct"}, numpyTypes...),
		codecs: slices.Concat(plainCodecs, numcodecs, []string{"vlen-utf8", "vlen-bytes", "scale_offset"}),
	},
	{
		name: "xarray ≥ 2026.9", formats: []int{2, 3}, irregular: " (array.rectilinear_chunks, no appends)",
		types: numpyTypes, codecs: slices.Concat(plainCodecs, numcodecs, []string{"vlen-utf8", "vlen-bytes"}),
	},
	{name: "zarr-python 2.18", formats: []int{2}, types: numpyTypes, codecs: slices.Concat(plainCodecs, numcodecs, []string{"vlen-utf8", "vlen-bytes"})},
	{
		name: "zarrs ≥ 0.23.8", formats: []int{3}, irregular: " ", grids: []string{"zarrs.regular_bounded"},
		types: append([]string{
			"int2", "int4", "uint2", "uint4", "bfloat16", "float4_*", "float6_*", "float8_*", "string", "bytes",
			"numpy.datetime64", "numpy.timedelta64", "fixed_length_utf32",
		}, manyTypes...),
		codecs: append([]string{"vlen-utf8", "vlen-bytes", "packbits", "reshape"}, plainCodecs...),
	},
	{name: "TensorStore ≥ 0.1.85", formats: []int{2, 3}, types: append([]string{"bfloat16"}, manyTypes...), codecs: plainCodecs},
	{name: "zarrita ≥ 0.7.5", formats: []int{2, 3}, types: append([]string{"bool"}, plainNumbers...), codecs: plainCodecs},
	{name: "GDAL ≥ 3.13", formats: []int{2, 3}, types: plainNumbers, codecs: plainCodecs},
}

// readableBy returns the programs that are known to read an array as it is stored, and the names of
// those that are not.
func readableBy(doc *metadata.Array) (known, others []string) {
	known = []string{}
	codecs, ok := codecNames(doc.Codecs)
	for _, p := range programs {
		condition, reads := p.reads(doc, codecs)
		if ok && reads {
			known = append(known, p.name+condition)
			continue
		}
		name, _, _ := strings.Cut(p.name, " ")
		if !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	others = slices.DeleteFunc(others, func(name string) bool {
		return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, name+" ") })
	})
	return known, others
}

// reads reports whether a program reads an array with such codecs, and on what condition.
func (p program) reads(doc *metadata.Array, codecs []string) (condition string, ok bool) {
	if !slices.Contains(p.formats, doc.Format()) || !knows(p.types, doc.DataType.Name) {
		return "", false
	}
	for _, c := range codecs {
		if !knows(p.codecs, c) {
			return "", false
		}
	}
	switch grid := doc.ChunkGrid; grid.Name {
	case "regular":
		return "", true
	case "rectilinear":
		// Encoded lengths beside the edges are a proposal, which other programs pass over and misread.
		proposed := strings.Contains(string(grid.Configuration), "encoded_chunk_shapes")
		return strings.TrimRight(p.irregular, " "), p.irregular != "" && !proposed
	default:
		return "", slices.Contains(p.grids, grid.Name)
	}
}

// knows reports whether a list has a name.
func knows(list []string, name string) bool {
	return slices.ContainsFunc(list, func(is string) bool {
		prefix, several := strings.CutSuffix(is, "*")
		return is == name || several && strings.HasPrefix(name, prefix)
	})
}

// codecNames returns the names of all codecs of a chain, also of those within shards. It reports
// whether they could be read.
func codecNames(chain []metadata.Extension) (names []string, ok bool) {
	for _, c := range chain {
		names = append(names, c.Name)
		if c.Name != "sharding_indexed" {
			continue
		}
		var inner struct {
			Codecs []json.RawMessage `json:"codecs"`
			Index  []json.RawMessage `json:"index_codecs"`
			Shape  []int64           `json:"chunk_shape"` // lists of lengths are a proposal
		}
		if json.Unmarshal(c.Configuration, &inner) != nil {
			return nil, false
		}
		below, err := parseCodecs("[" + joined(append(inner.Codecs, inner.Index...)) + "]")
		if err != nil {
			return nil, false
		}
		more, ok := codecNames(below)
		if !ok {
			return nil, false
		}
		names = append(names, more...)
	}
	return names, true
}

// joined returns JSON values with commas between them.
func joined(values []json.RawMessage) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ",")
}

// readersText returns in one line who is known to read an array.
func readersText(doc *metadata.Array) string {
	known, others := readableBy(doc)
	text := strings.Join(append([]string{"Varve"}, known...), ", ")
	if len(others) > 0 {
		text += "; not known: " + strings.Join(others, ", ")
	}
	return text
}
