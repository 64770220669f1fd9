// SPDX-License-Identifier: Apache-2.0

// Package facts collects and prints the output of varve info about an array.
package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
)

// Array is the description of an array in JSON. Unknown facts are null.
type Array struct {
	Path           string            `json:"path"`
	Kind           string            `json:"kind"`
	Format         int               `json:"zarr_format"`
	Shape          []int64           `json:"shape"`
	DataType       json.RawMessage   `json:"data_type"`
	FillValue      json.RawMessage   `json:"fill_value"`
	ChunkGrid      output.Late       `json:"chunk_grid"`
	KeyEncoding    json.RawMessage   `json:"chunk_key_encoding"`
	Codecs         []json.RawMessage `json:"codecs"`
	DimensionNames []*string         `json:"dimension_names"`
	Attributes     json.RawMessage   `json:"attributes"`
	IsRegular      *bool             `json:"is_regular"`
	GridShape      []int64           `json:"grid_shape"`
	GridCells      []int64           `json:"grid_cells"`
	WriteSizes     output.Sizes      `json:"write_chunk_sizes"`
	ReadSizes      output.Sizes      `json:"read_chunk_sizes"`
	Times          []string          `json:"times,omitempty"` // first and last time of a time coordinate
	Readers                          // null if unknown
	Notes          []string          `json:"notes"`
	Pending        *Pending          `json:"pending,omitempty"`
	*storedFacts

	Doc     *metadata.Array `json:"-"`
	Filled  bool            `json:"-"` // the fill value is a missing value
	grid    *grid.Grid
	inner   *grid.Grid // nil if chunks are not shards, or cannot be read in parts
	logical int64      // bytes, -1 if unknown
}

// storedFacts has the counts of the stored chunks.
type storedFacts struct {
	Chunks  *int64 `json:"chunks_stored"`
	Bytes   *int64 `json:"bytes_stored"`
	Logical *int64 `json:"bytes_logical"`
	// Free is what varve vacuum would free now, and Kept what it finds besides. They are
	// null if the store cannot be listed.
	Free *int64 `json:"bytes_to_free"`
	Kept *int64 `json:"bytes_to_keep"`

	// Statistics are what is known of the elements; absent if nothing is kept.
	Statistics *Holdings `json:"statistics,omitempty"`

	free string // both, in words
}

// Describe returns the facts in the document of an array.
func Describe(location string, doc *metadata.Array) *Array {
	f := &Array{
		Path: location, Kind: "array", Format: doc.Format(), Shape: doc.Shape,
		DataType: TypeJSON(doc.DataType), FillValue: doc.FillValue,
		ChunkGrid:      func() []byte { return doc.ChunkGrid.Append(nil) },
		KeyEncoding:    doc.ChunkKeyEncoding.Append(nil),
		DimensionNames: doc.DimensionNames, Attributes: AttributesOf(doc), Notes: []string{},
		Doc: doc, logical: -1,
	}
	if f.Shape == nil {
		f.Shape = []int64{}
	}
	// The parsed document has a default of the type in place of null.
	if doc.HasNullFill() {
		f.FillValue = json.RawMessage("null")
	}
	for _, c := range doc.Codecs {
		f.Codecs = append(f.Codecs, c.Append(nil))
	}
	return f
}

// TypeJSON returns a data type in the spelling of metadata: a plain name if it has no
// configuration.
func TypeJSON(e metadata.Extension) json.RawMessage {
	if e.Configuration == nil && !e.Optional {
		return strictjson.AppendQuote(nil, e.Name)
	}
	return e.Append(nil)
}

// AddGrid adds the facts of the chunk grid.
func (f *Array) AddGrid(g *grid.Grid) {
	regular := g.IsRegular()
	f.grid, f.IsRegular, f.GridShape, f.GridCells = g, &regular, g.Chunks(), g.Cells()
	f.WriteSizes, f.ReadSizes = output.SizesOf(g), output.SizesOf(g)
	for i := range g.Rank() {
		if a := g.Axis(i); !a.IsRegular() && a.Covered() > a.Extent() {
			f.Notes = append(f.Notes, declaredText(i, a))
		}
	}
	// Of shards, only inner chunks are read, and those with fill values are not stored.
	if !slices.ContainsFunc(f.Doc.Codecs, isSharding) {
		f.Notes = append(f.Notes, phrase.Padding(g, "varve rechunk --chunks")...)
	}
}

// unguarded is the note on an array without checksums.
const unguarded = "no codec has a checksum: damage that changes values would not be seen"

// AddGuard adds a note if no codec has a checksum, unless the array is in a zip archive,
// which has one of each member.
func (f *Array) AddGuard(a *zarr.Array) {
	if !archive.IsZip(a.Location().Store()) && !a.Core().State().Engine.Chain.HasChecksum() {
		f.Notes = append(f.Notes, unguarded)
	}
}

// declaredText tells how far the listed chunks of an axis reach beyond its extent.
// Appends fill them first.
func declaredText(axis int, a grid.Axis) string {
	text := fmt.Sprintf("axis %d: its chunks end at element %s, %s beyond the extent", axis, phrase.Count(a.Covered()), phrase.Count(a.Covered()-a.Extent()))
	if whole := a.Cells() - a.Chunks(); whole > 0 {
		text += fmt.Sprintf(", %s of them completely", phrase.Count(whole))
	}
	return text + "; appends fill them first"
}

// AddDocument adds the known facts of an array that cannot be opened, and names the
// unknown parts.
func (f *Array) AddDocument(d *Document) {
	f.Notes = append(f.Notes, d.unknown...)
	if d.Grid != nil {
		f.Notes = append(f.Notes, d.Grid.Notes()...)
		f.AddGrid(d.Grid)
	}
	// Without the codecs it is unknown whether parts of a chunk can be read alone.
	if !d.decoded {
		f.ReadSizes = nil
	}
	if d.Inner != nil {
		f.addInnerGrid(d.Inner, nil)
	}
	if !d.dtype.IsZero() {
		f.AddSize(d.dtype)
	}
}

// AddSize adds the size of all elements in bytes, unless it overflows.
func (f *Array) AddSize(t dtype.Type) {
	n, ok := checked.Product(f.Shape...)
	if ok = ok && !t.Variable(); ok {
		n, ok = checked.Mul(n, int64(t.Size()))
	}
	if ok {
		f.logical = n
	}
}

// uncounted returns the counts before the first chunk.
func (f *Array) uncounted() *storedFacts {
	s := new(storedFacts)
	if f.logical >= 0 {
		s.Logical = &f.logical
	}
	return s
}

// add counts a chunk.
func (s *storedFacts) add(size int64) {
	*s.Chunks++
	*s.Bytes += size
}

// CountDocument counts the stored chunks of an array that cannot be opened, if its grid
// and keys are known.
func (f *Array) CountDocument(cmd *cobra.Command, d *Document) error {
	f.storedFacts = f.uncounted()
	if !d.Counted {
		return nil
	}
	f.Chunks, f.Bytes = new(int64), new(int64)
	return d.Stored(cmd.Context(), func(_ []int64, size int64) { f.storedFacts.add(size) })
}

// AddStored counts the stored chunks.
func (f *Array) AddStored(cmd *cobra.Command, a *zarr.Array) error {
	s := f.uncounted()
	s.Chunks, s.Bytes = new(int64), new(int64)
	for index, err := range a.StoredChunks(cmd.Context()) {
		if err != nil {
			return err
		}
		// Listings of some stores have no sizes.
		info, err := a.ChunkInfo(cmd.Context(), index)
		if err != nil {
			return err
		}
		s.add(info.Size)
	}
	f.storedFacts = s
	var err error
	if s.Statistics, err = KeptHoldings(cmd.Context(), a); err != nil {
		return err
	}
	return s.addFree(cmd.Context(), a)
}

// addFree adds what a vacuum would free.
func (s *storedFacts) addFree(ctx context.Context, a *zarr.Array) error {
	r, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{DryRun: true})
	// A store that cannot be listed, such as a web server, leaves both counts null.
	if errors.Is(err, zarr.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Free, s.Kept = new(r.Freed()), new(int64)
	var parts []string
	if *s.Free > 0 {
		parts = append(parts, phrase.Bytes(*s.Free))
	}
	for _, i := range r.Items {
		if i.Kept == "" {
			continue
		}
		*s.Kept += i.Bytes
		text := phrase.Bytes(i.Bytes) + ": " + i.Kept
		switch {
		case i.Unexplained:
			text = phrase.Bytes(i.Bytes) + " unexplained, which stay: " + i.Kept
		case !i.Due.IsZero():
			text = phrase.Bytes(i.Bytes) + " from " + i.Due.Format("2006-01-02 15:04") + " on"
		}
		parts = append(parts, text)
	}
	s.free = strings.Join(parts, ", ")
	return nil
}

// AttributesOf returns the attributes of a document, or {} if it has none.
func AttributesOf(doc *metadata.Array) json.RawMessage {
	if len(doc.Attributes) == 0 {
		return json.RawMessage("{}")
	}
	return doc.Attributes
}

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
	// With a codec around the shards, a part of a chunk cannot be decoded alone.
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
			shown[i].Configuration = nested[i].configuration
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
	inner, index  []metadata.Extension
	location      string
	configuration []byte // the configuration without the chains
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
	n.configuration = []byte("{" + strings.Join(rest, ",") + "}")
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

// GridJSON returns a grid in the form of metadata.
func GridJSON(g *grid.Grid) []byte {
	text := strictjson.AppendQuote([]byte(`{"name":`), g.Name())
	return append(g.AppendConfiguration(append(text, `,"configuration":`...)), '}')
}

// ChunkCount returns the number of chunks along each axis: 1 chunk, 3 × 4 chunks.
func ChunkCount(g *grid.Grid) string {
	if n, ok := g.NumChunks(); ok && g.Rank() < 2 {
		return phrase.Plural(n, "chunk")
	}
	return phrase.Shape(g.Chunks()) + " chunks"
}
