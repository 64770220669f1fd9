// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/metadata"
)

// Readers are the programs besides Varve that can read an array, those that cannot, and
// those for which it is unknown.
type Readers struct {
	Known    []string `json:"readable_by"`
	Refusing []string `json:"not_readable_by"`
	unknown  []string
	asOf     string // month of the facts, such as 2026-11; "" for what does not age
}

// answer tells whether a program can read an array.
type answer int

const (
	untried answer = iota
	refusesIt
	readsIt
)

// ReadersOf returns the programs that can read an array as it is stored.
func ReadersOf(ctx context.Context, a *zarr.Array) Readers {
	return readersOfDocument(a.Metadata(), formOf(ctx, a))
}

// OnlyVarve are the readers of a manifest of references.
func OnlyVarve() Readers {
	return Readers{Known: []string{}, Refusing: []string{"any other program (" + OnlyVarveText + ")"}}
}

// OnlyVarveText says what other programs can read in place of a manifest.
const OnlyVarveText = "varve materialize copies a manifest into a node that all can read, and varve virtualize -o NAME.json makes references for Python, if all chunks of an array have one length"

// ReadersOfFile are the readers of an array in a file of another format.
func ReadersOfFile() Readers {
	return Readers{Known: []string{"programs for the format of its file"}, Refusing: []string{}}
}

// readersOfDocument returns the programs that can read an array with a document stored in
// the given form. It names the oldest version of a program that can.
func readersOfDocument(doc *metadata.Array, stored form) Readers {
	r := Readers{Known: []string{}, Refusing: []string{}, asOf: verified}
	codecs, ok := codecNames(doc.Codecs)
	asked := inquiry{doc: doc, codecs: codecs, stored: stored, unnamed: attributes.Unnamed(doc)}
	asked.refusal, _ = cf.Refused(doc)
	for i := 0; i < len(programs); {
		name := programs[i].name
		best, text, older := untried, name, ""
		for ; i < len(programs) && programs[i].name == name; i++ {
			p := programs[i]
			is, condition := p.reads(&asked)
			// A chain that cannot be parsed may have any codec.
			if !ok {
				is = untried
			}
			// Later versions read what this one reads. The oldest one is reported.
			if best == readsIt {
				continue
			}
			if best = is; is == readsIt {
				if p.needs != "" {
					condition = " (" + p.needs + ")" + condition
				}
				text = p.name + " ≥ " + p.since + condition
				// Rectilinear grids are the reason why people update, so the older
				// version is named.
				if older != "" && doc.ChunkGrid.Name == "rectilinear" {
					r.Refusing = append(r.Refusing, p.name+" < "+p.since)
				}
			} else if text = name; is == refusesIt {
				text += condition
			}
			older = p.since
		}
		switch best {
		case readsIt:
			r.Known = append(r.Known, text)
		case refusesIt:
			r.Refusing = append(r.Refusing, text)
		default:
			r.unknown = append(r.unknown, text)
		}
	}
	return r
}

// inquiry is an array whose readers are wanted. It has facts that need a look at all
// attributes, so that they are determined once.
type inquiry struct {
	doc     *metadata.Array
	codecs  []string // from codecNames
	stored  form
	unnamed string // why xarray finds no dimension names; "" if it does
	refusal string // why xarray does not open a group with it; "" if it does
}

// reads reports whether a program can read an array, with the condition or the reason.
func (p program) reads(q *inquiry) (is answer, condition string) {
	doc, format := q.doc, q.doc.Format()
	does, refuses := slices.Contains(p.formats, format), contains(p.refuses, fmt.Sprint("format ", format), format)
	for _, c := range q.codecs {
		does, refuses = does && contains(p.codecs, c, format), refuses || contains(p.refuses, c, format)
	}
	does = does && contains(p.types, doc.DataType.Name, format)
	refuses = refuses || contains(p.refuses, doc.DataType.Name, format) || slices.Contains(doc.Shape, 0) && contains(p.refuses, "empty", format)
	is, condition = p.readsGrid(doc.ChunkGrid)
	switch {
	case refuses || is == refusesIt:
		return refusesIt, ""
	case p.named && q.unnamed != "":
		return refusesIt, " (" + q.unnamed + ")"
	case p.named && q.refusal != "":
		return refusesIt, " (" + q.refusal + ")"
	case q.stored == odd && p.accepts == lenient:
		return refusesIt, " (until Varve rewrites the document)"
	case q.stored == reals && p.accepts == lenient:
		return refusesIt, " (integers are written as 2.0)"
	// What was not tried is neither promised nor denied.
	case q.stored > p.accepts || !does:
		return untried, ""
	}
	return is, condition
}

// readsGrid reports whether a program can read arrays with a grid.
func (p program) readsGrid(grid metadata.Extension) (is answer, condition string) {
	switch {
	case grid.Name == "regular", slices.Contains(p.grids, grid.Name):
		return readsIt, ""
	case grid.Name != "rectilinear":
		return untried, ""
	// Encoded lengths beside the edges are a proposal. Other programs ignore them and
	// misread the chunks.
	case p.irregular == "", bytes.Contains(grid.Configuration, []byte("encoded_chunk_shapes")):
		return refusesIt, ""
	}
	return readsIt, strings.TrimRight(p.irregular, " ")
}

// contains reports whether a list has a name for arrays of a format.
func contains(list []string, name string, format int) bool {
	return slices.ContainsFunc(list, func(is string) bool {
		if only, rest, found := strings.Cut(is, ":"); found {
			if only != fmt.Sprint(format) {
				return false
			}
			is = rest
		}
		// zstd* stands for zstd and for zstd/checksum.
		prefix, several := strings.CutSuffix(is, "*")
		return is == name || several && strings.HasPrefix(name, prefix)
	})
}

// codecNames returns the names of all codecs of a chain and of the chains inside shards.
// A zstd with checksums adds "zstd/checksum", a shard whose index is at the start
// "sharding_indexed/start", a shard inside a shard "sharding_indexed/nested". ok is false
// if a codec cannot be parsed.
func codecNames(chain []metadata.Extension) (names []string, ok bool) {
	for _, c := range chain {
		names = append(names, c.Name)
		if c.Name == "zstd" {
			if sum, _, _ := metadata.Attribute(c.Configuration, "checksum"); string(sum) == "true" {
				names = append(names, "zstd/checksum")
			}
		}
		if c.Name != "sharding_indexed" {
			continue
		}
		var inner struct {
			Codecs   []json.RawMessage `json:"codecs"`
			Index    []json.RawMessage `json:"index_codecs"`
			Location string            `json:"index_location"`
			Shape    []int64           `json:"chunk_shape"` // lists of lengths are only proposed
		}
		// Shards whose inner chunks have lists of lengths end here, too: no program is
		// known to read them.
		if json.Unmarshal(c.Configuration, &inner) != nil {
			return nil, false
		}
		below, err := argument.Codecs("[" + joinJSON(append(inner.Codecs, inner.Index...)) + "]")
		if err != nil {
			return nil, false
		}
		more, ok := codecNames(below)
		if !ok {
			return nil, false
		}
		// Some programs need the index at the end, or read no nested shards.
		if inner.Location == "start" {
			names = append(names, "sharding_indexed/start")
		}
		if slices.Contains(more, "sharding_indexed") {
			names = append(names, "sharding_indexed/nested")
		}
		names = append(names, more...)
	}
	return names, true
}

// joinJSON joins JSON values with commas.
func joinJSON(values []json.RawMessage) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ",")
}

// Text returns the programs on one line.
func (r Readers) Text() string {
	text := strings.Join(append([]string{"Varve"}, r.Known...), ", ")
	for _, list := range []struct {
		what  string
		names []string
	}{{"not", r.Refusing}, {"not known", r.unknown}} {
		if len(list.names) > 0 {
			text += "; " + list.what + ": " + strings.Join(list.names, ", ")
		}
	}
	if r.asOf != "" {
		text += "; as of " + r.asOf
	}
	return text
}

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
