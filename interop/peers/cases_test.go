// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// array is one array of the matrix.
type array struct {
	name     string
	format   int
	document map[string]any
	dtype    string // of NumPy, in little endian; "string" for texts of any length
	rows     int    // number of rows to write
	data     any    // elements of these rows: hexadecimal, or texts
	whole    any    // elements of all rows
}

type object = map[string]any

// config returns a codec or another extension of format 3.
func config(name string, pairs ...any) object {
	c := object{}
	for i := 0; i < len(pairs); i += 2 {
		c[pairs[i].(string)] = pairs[i+1]
	}
	return object{"name": name, "configuration": c}
}

func little() object { return config("bytes", "endian", "little") }

// numpy returns the name that NumPy has for a data type of format 3.
func numpy(name string) string {
	switch {
	case name == "bool":
		return "|b1"
	case strings.HasSuffix(name, "int8"):
		return "|" + name[:1] + "1"
	}
	for prefix, letter := range map[string]string{"int": "i", "uint": "u", "float": "f", "complex": "c"} {
		if bits, found := strings.CutPrefix(name, prefix); found {
			n := 0
			_, _ = fmt.Sscan(bits, &n)
			return fmt.Sprintf("<%s%d", letter, n/8)
		}
	}
	return name
}

// regular returns a document of an array of format 3. changes replace its members.
func regular(name string, shape, chunks []int, codecs []any, fill any, changes ...any) object {
	d := object{
		"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": name, "codecs": codecs, "fill_value": fill,
		"chunk_grid":         config("regular", "chunk_shape", chunks),
		"chunk_key_encoding": config("default", "separator", "/"),
	}
	for i := 0; i < len(changes); i += 2 {
		d[changes[i].(string)] = changes[i+1]
	}
	return d
}

// older returns the document of an array of format 2.
func older(dtype string, compressor any, filters []any, fill any, changes ...any) object {
	d := object{
		"zarr_format": 2, "shape": []int{7, 9}, "chunks": []int{3, 4}, "dtype": dtype, "compressor": compressor,
		"filters": nil, "fill_value": fill, "order": "C", "dimension_separator": ".",
	}
	if filters != nil {
		d["filters"] = filters
	}
	for i := 0; i < len(changes); i += 2 {
		d[changes[i].(string)] = changes[i+1]
	}
	return d
}

// number returns the bytes of a small number as an element, in little endian.
func number(dtype string, k int) []byte {
	var b []byte
	switch dtype[1:] {
	case "b1":
		return []byte{byte(k % 2)}
	case "i1", "u1":
		return []byte{byte(k)}
	case "i2", "u2":
		return binary.LittleEndian.AppendUint16(b, uint16(257*k))
	case "i4", "u4":
		return binary.LittleEndian.AppendUint32(b, uint32(65537*k))
	case "i8", "u8", "M8[ns]":
		return binary.LittleEndian.AppendUint64(b, uint64(4294967297*k))
	case "f2": // halves of small numbers have no rounding
		return binary.LittleEndian.AppendUint16(b, half(float64(k)+0.5))
	case "f4":
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(k)+0.5))
	case "f8":
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(k)+0.1))
	case "c8":
		return append(number("<f4", k), number("<f4", k+1)...)
	case "c16":
		return append(number("<f8", k), number("<f8", k+1)...)
	case "S5":
		return append([]byte(fmt.Sprintf("b%03d", k)), 0)
	case "U4":
		for _, r := range fmt.Sprintf("é%03d", k) {
			b = binary.LittleEndian.AppendUint32(b, uint32(r))
		}
		return b
	}
	panic(dtype)
}

// half returns a positive float of 16 bits, which must be exact.
func half(f float64) uint16 {
	frac, exp := math.Frexp(f)
	return uint16((exp+14)<<10) | uint16((frac*2-1)*1024)
}

// make3 returns an array of format 3 with numbers. zero is the fill value in bytes.
func make3(name string, document object, zero []byte) array {
	return fill(array{name: "v3-" + name, format: 3, document: document, dtype: numpy(document["data_type"].(string))}, zero)
}

// make2 returns an array of format 2.
func make2(name string, document object, zero []byte) array {
	dtype := document["dtype"].(string)
	if dtype == "|O" {
		dtype = "string"
	} else {
		dtype = strings.Replace(dtype, ">", "<", 1)
	}
	return fill(array{name: "v2-" + name, format: 2, document: document, dtype: dtype}, zero)
}

// fill gives an array its elements: all rows but the last three, so that the last chunks
// are partly or not written.
func fill(a array, zero []byte) array {
	shape := a.document["shape"].([]int)
	total, row := 1, 1
	for i, n := range shape {
		total *= n
		if i > 0 {
			row *= n
		}
	}
	a.rows = 1
	if len(shape) > 0 {
		a.rows = max(0, shape[0]-3)
	}
	if a.document["fill_value"] == nil && len(shape) > 0 { // unwritten elements are undefined
		a.rows = shape[0]
	}
	written := min(total, a.rows*row)
	if a.dtype == "string" {
		texts := make([]string, total)
		for k := range written {
			texts[k] = strings.Repeat("ä", k%3) + fmt.Sprint(k)
		}
		a.data, a.whole = texts[:written], texts
		return a
	}
	var b bytes.Buffer
	for k := range total {
		if k == written {
			a.data = hex.EncodeToString(b.Bytes())
		}
		if element := number(a.dtype, k%100); k < written {
			b.Write(element)
		} else if zero != nil {
			b.Write(zero)
		} else {
			b.Write(make([]byte, len(element)))
		}
	}
	a.whole = hex.EncodeToString(b.Bytes())
	if a.data == nil {
		a.data = a.whole
	}
	return a
}

// cases returns the set.
func cases() (all []array) {
	shape, chunks := []int{7, 9}, []int{3, 4}
	for _, name := range []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"} {
		codecs, zero := []any{little()}, any(0)
		switch {
		case strings.HasSuffix(name, "int8"):
			codecs = []any{object{"name": "bytes"}}
		case name[0] == 'c':
			zero = []any{0.0, 0.0}
		case name[0] == 'f':
			zero = 0.0
		}
		all = append(all, make3("type-"+name, regular(name, shape, chunks, codecs, zero), nil))
	}
	all = append(all,
		make3("type-bool", regular("bool", shape, chunks, []any{object{"name": "bytes"}}, false), nil),
		make3("type-string", regular("string", shape, chunks, []any{object{"name": "vlen-utf8"}}, ""), nil),
		make3("type-string-zstd", regular("string", shape, chunks, []any{object{"name": "vlen-utf8"}, config("zstd", "level", 0, "checksum", false)}, ""), nil),
		make3("type-string-zstd-checksum", regular("string", shape, chunks, []any{object{"name": "vlen-utf8"}, config("zstd", "level", 0, "checksum", true)}, ""), nil))
	for name, codecs := range map[string][]any{
		"gzip":            {little(), config("gzip", "level", 5)},
		"zstd":            {little(), config("zstd", "level", 3, "checksum", false)},
		"zstd-checksum":   {little(), config("zstd", "level", 3, "checksum", true)},
		"crc32c":          {little(), object{"name": "crc32c"}},
		"blosc-lz4":       {little(), config("blosc", "cname", "lz4", "clevel", 5, "shuffle", "shuffle", "typesize", 4, "blocksize", 0)},
		"blosc-zstd-bits": {little(), config("blosc", "cname", "zstd", "clevel", 1, "shuffle", "bitshuffle", "typesize", 4, "blocksize", 0)},
		"transpose":       {config("transpose", "order", []int{1, 0}), little()},
		"big":             {config("bytes", "endian", "big")},
		"three":           {config("transpose", "order", []int{1, 0}), little(), config("gzip", "level", 1), object{"name": "crc32c"}},
	} {
		all = append(all, make3("codec-"+name, regular("int32", shape, chunks, codecs, 0), nil))
	}
	return append(append(append(all, grids()...), fills()...), oldFormat()...)
}

// grids returns arrays with other chunks, keys and shards.
func grids() []array {
	plain := []any{little()}
	index := []any{little(), object{"name": "crc32c"}}
	shard := func(location string, inner []int, codecs ...any) []any {
		return []any{config("sharding_indexed", "chunk_shape", inner, "codecs", codecs, "index_codecs", index, "index_location", location)}
	}
	of := func(shape, chunks []int, codecs []any, changes ...any) object {
		return regular("int32", shape, chunks, codecs, 0, changes...)
	}
	nested := shard("end", []int{3, 4}, shard("end", []int{3, 2}, little())...)
	return []array{
		make3("grid-scalar", of([]int{}, []int{}, plain), nil),
		make3("grid-line", of([]int{11}, []int{4}, plain), nil),
		make3("grid-cube", of([]int{4, 3, 5}, []int{2, 2, 2}, plain), nil),
		make3("grid-large-chunk", of([]int{7, 9}, []int{16, 16}, plain), nil),
		make3("grid-empty", of([]int{0, 9}, []int{3, 4}, plain), nil),
		make3("grid-rectilinear", of([]int{7, 9}, nil, plain, "chunk_grid",
			config("rectilinear", "kind", "inline", "chunk_shapes", []any{[]any{2, 4, 1}, []any{[]int{3, 3}}})), nil),
		make3("keys-dot", of([]int{7, 9}, []int{3, 4}, plain, "chunk_key_encoding", config("default", "separator", ".")), nil),
		make3("keys-v2", of([]int{7, 9}, []int{3, 4}, plain, "chunk_key_encoding", config("v2", "separator", ".")), nil),
		make3("names", of([]int{7, 9}, []int{3, 4}, plain, "dimension_names", []any{"y", nil}), nil),
		make3("shard-end", of([]int{7, 9}, []int{6, 8}, shard("end", []int{3, 4}, little())), nil),
		make3("shard-start", of([]int{7, 9}, []int{6, 8}, shard("start", []int{3, 4}, little())), nil),
		make3("shard-gzip", of([]int{7, 9}, []int{6, 8}, shard("end", []int{3, 4}, little(), config("gzip", "level", 5))), nil),
		make3("shard-zstd", of([]int{7, 9}, []int{6, 8}, shard("end", []int{3, 4}, little(), config("zstd", "level", 0, "checksum", false))), nil),
		make3("shard-zstd-checksum", of([]int{7, 9}, []int{6, 8}, shard("end", []int{3, 4}, little(), config("zstd", "level", 0, "checksum", true))), nil),
		make3("shard-nested", of([]int{7, 9}, []int{6, 8}, nested), nil),
		make3("shard-rectilinear", of([]int{7, 9}, nil, shard("end", []int{1, 3}, little()), "chunk_grid",
			config("rectilinear", "kind", "inline", "chunk_shapes", []any{[]any{2, 4, 1}, []any{[]int{3, 3}}})), nil),
	}
}

// fills returns arrays with other fill values.
func fills() []array {
	shape, chunks, plain := []int{7, 9}, []int{3, 4}, []any{little()}
	return []array{
		make3("fill-minus", regular("int32", shape, chunks, plain, -5), []byte{0xfb, 0xff, 0xff, 0xff}),
		make3("fill-nan", regular("float32", shape, chunks, plain, "NaN"), []byte{0, 0, 0xc0, 0x7f}),
		make3("fill-infinite", regular("float64", shape, chunks, plain, "-Infinity"), []byte{0, 0, 0, 0, 0, 0, 0xf0, 0xff}),
		make3("fill-true", regular("bool", shape, chunks, []any{object{"name": "bytes"}}, true), []byte{1}),
	}
}

// oldFormat returns arrays of format 2.
func oldFormat() (all []array) {
	for _, dtype := range []string{"|b1", "|i1", "|u1", "<i2", ">i2", "<i4", "<i8", "<u4", "<u8", "<f2", "<f4", ">f4", "<f8", "<c8", "|S5", "<U4", "<M8[ns]"} {
		zero := any(0)
		switch {
		case dtype[1] == 'b':
			zero = false
		case dtype[1] == 'f':
			zero = 0.0
		case strings.Contains("cSU", dtype[1:2]):
			zero = nil
		}
		name := strings.NewReplacer("|", "", "<", "", ">", "big-", "[", "-", "]", "").Replace(dtype)
		all = append(all, make2("type-"+name, older(dtype, nil, nil, zero), nil))
	}
	for name, compressor := range map[string]object{
		"zlib": {"id": "zlib", "level": 1}, "gzip": {"id": "gzip", "level": 1}, "bz2": {"id": "bz2", "level": 1},
		"zstd": {"id": "zstd", "level": 1}, "zstd-checksum": {"id": "zstd", "level": 1, "checksum": true}, "lz4": {"id": "lz4", "acceleration": 1},
		"blosc": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
	} {
		all = append(all, make2("codec-"+name, older("<i4", compressor, nil, 0), nil))
	}
	return append(all,
		make2("filter-delta", older("<i4", nil, []any{object{"id": "delta", "dtype": "<i4", "astype": "<i4"}}, 0), nil),
		make2("filter-shuffle", older("<i4", object{"id": "zlib", "level": 1}, []any{object{"id": "shuffle", "elementsize": 4}}, 0), nil),
		make2("order-f", older("<i4", nil, nil, 0, "order", "F"), nil),
		make2("keys-slash", older("<i4", nil, nil, 0, "dimension_separator", "/"), nil),
		make2("fill-null", older("<i4", nil, nil, nil), nil),
		make2("fill-nan", older("<f4", nil, nil, "NaN"), []byte{0, 0, 0xc0, 0x7f}),
		make2("type-text", older("|O", nil, []any{object{"id": "vlen-utf8"}}, ""), nil),
	)
}
