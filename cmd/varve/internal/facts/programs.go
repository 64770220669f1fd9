// SPDX-License-Identifier: Apache-2.0

package facts

import "slices"

// program tells what one version of a program, and newer ones, can read. If something is
// in none of its lists, it is unknown, because it was not tried.
//
// Names in the lists are those of data types and codecs of format 3. A name that ends in
// "*" is a prefix of several. A name with "2:" or "3:" before it is for arrays of that
// format only.
type program struct {
	name      string
	since     string // the version
	needs     string // the version of a library that it reads with; "" if it needs none
	formats   []int
	types     []string
	codecs    []string
	irregular string   // setting for rectilinear grids: "" if they are refused, " " if none is needed
	grids     []string // other grids that it can read
	refuses   []string // data types, codecs, formats ("format 3") and "empty" arrays that it refused in a trial
	named     bool     // it reads only arrays whose dimensions have names
	accepts   form     // deviations of documents that it accepts
}

// Data types and codecs that many programs support.
var (
	plainNumbers = []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}
	allNumbers   = append([]string{"float16", "complex64", "complex128"}, plainNumbers...)
	manyTypes    = append([]string{"bool"}, allNumbers...)
	plainCodecs  = []string{"bytes", "transpose", "gzip", "zstd*", "blosc", "crc32c", "sharding_indexed*"}
	numpyTypes   = append([]string{"string", "fixed_length_utf32", "null_terminated_bytes", "numpy.datetime64", "numpy.timedelta64"}, manyTypes...)
	textCodecs   = []string{"vlen-utf8", "vlen-bytes"}
	numcodecs    = []string{
		"numcodecs.astype", "numcodecs.delta", "numcodecs.fixedscaleoffset", "numcodecs.quantize", "numcodecs.bitround",
		"numcodecs.bz2", "numcodecs.lz4", "numcodecs.lzma", "numcodecs.shuffle", "numcodecs.zlib", "numcodecs.zstd",
		"numcodecs.gzip", "numcodecs.blosc", "numcodecs.crc32", "numcodecs.adler32", "numcodecs.fletcher32",
	}
)

// verified is the month in which the facts about programs were last compared with the
// programs. The tool that makes releases refuses one when that is six months ago.
const verified = "2026-11"

// programs lists versions of programs with what they can read, as known in [verified].
// The facts come from runs, which interop/peers repeats, and from the sources of the
// programs. Versions of one program are in order, and each can read what the one before
// it can.
var programs = []program{
	{
		name: "zarr-python", since: "2.18", formats: []int{2}, refuses: []string{"format 3"}, accepts: bareNumbers,
		types: numpyTypes, codecs: slices.Concat(plainCodecs, numcodecs, textCodecs),
	},
	{
		name: "zarr-python", since: "3.0", formats: []int{2, 3}, accepts: bareNumbers,
		types:   slices.Concat(manyTypes, []string{"string"}, inFormat2(numpyTypes)),
		codecs:  slices.Concat(plainCodecs[:6], []string{"sharding_indexed", "sharding_indexed/start"}, textCodecs, inFormat2(numcodecs)),
		refuses: []string{"sharding_indexed/nested"},
	},
	{
		name: "zarr-python", since: "3.1", formats: []int{2, 3}, accepts: bareNumbers,
		types:  append([]string{"raw_bytes", "variable_length_bytes"}, numpyTypes...),
		codecs: slices.Concat(plainCodecs, textCodecs, inFormat2(numcodecs)),
	},
	{
		name: "zarr-python", since: "3.2", formats: []int{2, 3}, irregular: " (array.rectilinear_chunks)", accepts: lenient,
		types:  append([]string{"raw_bytes", "variable_length_bytes", "struct"}, numpyTypes...),
		codecs: slices.Concat(plainCodecs, numcodecs, textCodecs, []string{"scale_offset"}),
	},
	{
		name: "xarray", since: "2025.1", needs: "zarr ≥ 3.0", formats: []int{2, 3}, accepts: bareNumbers,
		types:  slices.Concat(manyTypes, []string{"string"}, inFormat2(numpyTypes)),
		codecs: slices.Concat(plainCodecs[:6], []string{"sharding_indexed", "sharding_indexed/start"}, textCodecs, inFormat2(numcodecs)),
		named:  true,
	},
	{
		name: "xarray", since: "2026.9", formats: []int{2, 3}, irregular: " (array.rectilinear_chunks, no appends)", accepts: lenient,
		types: numpyTypes, codecs: slices.Concat(plainCodecs, numcodecs, textCodecs), named: true,
	},
	{
		name: "zarrs", since: "0.23.8", formats: []int{3}, irregular: " ", grids: []string{"zarrs.regular_bounded"},
		types: append([]string{
			"int2", "int4", "uint2", "uint4", "bfloat16", "float4_*", "float6_*", "float8_*", "string", "bytes",
			"numpy.datetime64", "numpy.timedelta64", "fixed_length_utf32",
		}, manyTypes...),
		codecs: slices.Concat(textCodecs, []string{"packbits", "reshape"}, plainCodecs),
	},
	{
		name: "TensorStore", since: "0.1.85", formats: []int{2, 3},
		types: append([]string{"bfloat16"}, manyTypes...), codecs: slices.Concat(plainCodecs, inFormat2([]string{"numcodecs.zlib", "numcodecs.bz2"})),
		refuses: []string{
			"string", "2:fixed_length_utf32", "2:null_terminated_bytes", "2:numpy.datetime64",
			"2:numcodecs.lz4", "2:numcodecs.delta", "2:numcodecs.shuffle", "2:zstd/checksum",
		},
	},
	{
		name: "zarrita", since: "0.7.5", formats: []int{2, 3},
		types: append([]string{"bool", "string"}, plainNumbers...),
		codecs: slices.Concat(plainCodecs[:6], []string{"sharding_indexed", "vlen-utf8"},
			inFormat2([]string{"numcodecs.zlib", "numcodecs.lz4", "numcodecs.delta", "numcodecs.shuffle"})),
		refuses: []string{
			"float16", "complex64", "complex128", "2:fixed_length_utf32", "2:null_terminated_bytes", "2:numpy.datetime64",
			"2:numcodecs.bz2", "sharding_indexed/*", "empty",
		},
	},
	{
		name: "GDAL", since: "3.13", formats: []int{2, 3},
		types:   append([]string{"3:string"}, allNumbers...),
		codecs:  slices.Concat(plainCodecs, []string{"3:vlen-utf8"}, inFormat2([]string{"numcodecs.zlib", "numcodecs.lz4", "numcodecs.delta", "numcodecs.shuffle"})),
		refuses: []string{"bool", "2:string", "2:numpy.datetime64", "2:numcodecs.bz2", "empty"},
	},
}

// inFormat2 returns names that are for arrays of format 2 only.
func inFormat2(names []string) []string {
	of := make([]string, len(names))
	for i, name := range names {
		of[i] = "2:" + name
	}
	return of
}
