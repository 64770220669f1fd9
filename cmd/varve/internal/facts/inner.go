// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// AddInner adds the inner chunks of an array whose chunks are shards.
func (f *Array) AddInner(a *zarr.Array) {
	f.Notes = append(f.Notes, aroundShards(f.Doc.Codecs)...)
	n := a.Inner()
	if n == nil {
		return
	}
	g, err := n.Grid()
	f.addInnerGrid(g, err)
}

// addInnerGrid adds the grid of inner chunks, or a note if it is unknown. As in
// zarr-python, read_chunk_sizes has inner chunks only if there are no other codecs around
// the sharding codec.
func (f *Array) addInnerGrid(g *grid.Grid, err error) {
	alone := len(f.Doc.Codecs) == 1
	if alone {
		f.ReadSizes = nil
	}
	if err != nil {
		f.Notes = append(f.Notes, "the inner chunks are not known: "+failure.OneLine(err))
		return
	}
	f.inner = g
	if !alone {
		return
	}
	f.ReadSizes = output.SizesOf(g)
	for i, a := range f.ReadSizes {
		if a.Chunks() > 0 && !output.IsListed(a) {
			f.Notes = append(f.Notes, fmt.Sprintf("axis %d has too many inner chunks of different lengths to list them", i))
		}
	}
}

// aroundShards returns notes on what codecs before and after the sharding codec mean for
// reading one inner chunk.
func aroundShards(codecs []metadata.Extension) (notes []string) {
	at := slices.IndexFunc(codecs, isSharding)
	if at < 0 {
		return nil
	}
	names := func(list []metadata.Extension) (text string) {
		for i, e := range list {
			if i > 0 {
				text += ", "
			}
			text += e.Name
		}
		return text
	}
	if before := names(codecs[:at]); before != "" {
		notes = append(notes, before+" before the sharding codec: some programs, such as zarr-python, read and write only whole shards then")
	}
	if behind := names(codecs[at+1:]); behind != "" {
		notes = append(notes, behind+" after the sharding codec encodes whole shards: reading or writing one inner chunk takes the whole shard")
	}
	return notes
}

// addCodecs adds a chain of codecs, and below it the chains for inner chunks and for the
// index.
func (s *Sheet) addCodecs(label, indent string, codecs []metadata.Extension, more string) {
	nested := make([]*nestedCodecs, len(codecs))
	shown := slices.Clone(codecs)
	for i, e := range codecs {
		if nested[i] = parseNested(e); nested[i] != nil {
			shown[i].Configuration = nested[i].rest
		}
	}
	s.Add(indent+label, extensionsText(shown)+more)
	for _, n := range nested {
		if n != nil {
			s.addCodecs("inner", indent+"  ", n.inner, "")
			s.addCodecs("index", indent+"  ", n.index, "; at the "+n.location)
		}
	}
}

// nestedCodecs are the chains within a sharding codec.
type nestedCodecs struct {
	inner, index []metadata.Extension
	location     string
	rest         []byte // the configuration without the chains
}

// parseNested parses the chains inside a codec. It returns nil if there are none or they
// cannot be parsed.
func parseNested(e metadata.Extension) *nestedCodecs {
	v, err := strictjson.Parse(e.Configuration, strictjson.Limits{})
	if !isSharding(e) || err != nil || v.Kind() != strictjson.Object {
		return nil
	}
	n := &nestedCodecs{location: "end"}
	var rest []string
	for name, value := range v.Members() {
		switch name {
		case "codecs":
			n.inner, err = argument.Codecs(string(value.Raw()))
		case "index_codecs":
			n.index, err = argument.Codecs(string(value.Raw()))
		case "index_location":
			n.location, err = value.Str()
		default:
			rest = append(rest, string(output.Text(name))+":"+string(value.Raw()))
		}
		if err != nil {
			return nil
		}
	}
	n.rest = []byte("{" + strings.Join(rest, ",") + "}")
	return n
}

// InnerText returns the shape of inner chunks in short: 8 × 8, or lengths if they differ.
func InnerText(g *grid.Grid) string {
	steps := make([]int64, g.Rank())
	for i := range steps {
		if steps[i] = g.Axis(i).Step(); steps[i] == 0 {
			return phrase.Chunks(g)
		}
	}
	return phrase.Shape(steps)
}
