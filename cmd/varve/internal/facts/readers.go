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
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual"
)

// Readers are the programs besides Varve that can read an array, those that cannot, and
// those for which it is unknown.
type Readers struct {
	Known   []string `json:"readable_by"`
	Not     []string `json:"not_readable_by"`
	unknown []string
	asOf    string // month of the facts, such as 2026-11; "" for what does not age
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
	return Readers{Known: []string{}, Not: []string{"any other program (" + OnlyVarveText + ")"}}
}

// OnlyVarveText says what other programs can read in place of a manifest.
const OnlyVarveText = "varve materialize copies a manifest into a node that all can read, and varve virtualize -o NAME.json makes references for Python"

// ReadersOfFile are the readers of an array in a file of another format.
func ReadersOfFile() Readers {
	return Readers{Known: []string{"programs for the format of its file"}, Not: []string{}}
}

// IsManifest reports whether a location is in a manifest of references.
func IsManifest(location string) bool {
	return strings.Contains(strings.TrimRight(location, "/")+"/", virtual.Suffix+"/")
}

// readersOfDocument returns the programs that can read an array with a document stored in
// the given form. It names the oldest version of a program that can.
func readersOfDocument(doc *metadata.Array, stored form) Readers {
	r := Readers{Known: []string{}, Not: []string{}, asOf: verified}
	codecs, ok := codecNames(doc.Codecs)
	asked := inquiry{doc: doc, codecs: codecs, stored: stored, unnamed: doc.Unnamed()}
	asked.refusal, _ = cf.Refused(doc)
	for i := 0; i < len(programs); {
		name := programs[i].name
		best, text, older := untried, name, ""
		for ; i < len(programs) && programs[i].name == name; i++ {
			p := programs[i]
			is, condition := p.reads(&asked)
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
				if older != "" && doc.ChunkGrid.Name == "rectilinear" {
					r.Not = append(r.Not, p.name+" < "+p.since)
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
			r.Not = append(r.Not, text)
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
	does, refuses := slices.Contains(p.formats, format), knows(p.refuses, fmt.Sprint("format ", format), format)
	for _, c := range q.codecs {
		does, refuses = does && knows(p.codecs, c, format), refuses || knows(p.refuses, c, format)
	}
	does = does && knows(p.types, doc.DataType.Name, format)
	refuses = refuses || knows(p.refuses, doc.DataType.Name, format) || slices.Contains(doc.Shape, 0) && knows(p.refuses, "empty", format)
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

// knows reports whether a list has a name for arrays of a format.
func knows(list []string, name string, format int) bool {
	return slices.ContainsFunc(list, func(is string) bool {
		if only, rest, found := strings.Cut(is, ":"); found {
			if only != fmt.Sprint(format) {
				return false
			}
			is = rest
		}
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
		if json.Unmarshal(c.Configuration, &inner) != nil {
			return nil, false
		}
		below, err := argument.Codecs("[" + joined(append(inner.Codecs, inner.Index...)) + "]")
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

// joined joins JSON values with commas.
func joined(values []json.RawMessage) string {
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
	}{{"not", r.Not}, {"not known", r.unknown}} {
		if len(list.names) > 0 {
			text += "; " + list.what + ": " + strings.Join(list.names, ", ")
		}
	}
	if r.asOf != "" {
		text += "; as of " + r.asOf
	}
	return text
}
