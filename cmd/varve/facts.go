package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/file"
)

// arrayFacts is an array as programs read it. What is not known is null.
type arrayFacts struct {
	Path           string            `json:"path"`
	Kind           string            `json:"kind"`
	Format         int               `json:"zarr_format"`
	Shape          []int64           `json:"shape"`
	DataType       json.RawMessage   `json:"data_type"`
	FillValue      json.RawMessage   `json:"fill_value"`
	ChunkGrid      json.RawMessage   `json:"chunk_grid"`
	KeyEncoding    json.RawMessage   `json:"chunk_key_encoding"`
	Codecs         []json.RawMessage `json:"codecs"`
	DimensionNames []*string         `json:"dimension_names"`
	Attributes     json.RawMessage   `json:"attributes"`
	IsRegular      *bool             `json:"is_regular"`
	GridShape      []int64           `json:"grid_shape"`
	GridCells      []int64           `json:"grid_cells"`
	WriteSizes     [][][2]int64      `json:"write_chunk_sizes"`
	ReadSizes      [][][2]int64      `json:"read_chunk_sizes"`
	Notes          []string          `json:"notes"`
	*storedFacts

	doc     *metadata.Array
	grid    *grid.Grid
	logical int64 // bytes, -1 where they are not known
}

// storedFacts is what counting the stored chunks gives.
type storedFacts struct {
	Chunks  int64  `json:"chunks_stored"`
	Bytes   int64  `json:"bytes_stored"`
	Logical *int64 `json:"bytes_logical"`
}

// describe returns what the document of an array says.
func describe(location string, doc *metadata.Array) *arrayFacts {
	f := &arrayFacts{
		Path: location, Kind: "array", Format: 3, Shape: doc.Shape,
		DataType: typeJSON(doc.DataType), FillValue: doc.FillValue,
		ChunkGrid: doc.ChunkGrid.Append(nil), KeyEncoding: doc.ChunkKeyEncoding.Append(nil),
		DimensionNames: doc.DimensionNames, Attributes: attributesOf(doc), Notes: []string{},
		doc: doc, logical: -1,
	}
	if f.Shape == nil {
		f.Shape = []int64{}
	}
	for _, c := range doc.Codecs {
		f.Codecs = append(f.Codecs, c.Append(nil))
	}
	return f
}

// typeJSON returns a data type as metadata spells it: a plain name where there is nothing else to say.
func typeJSON(e metadata.Extension) json.RawMessage {
	if e.Configuration == nil && !e.Optional {
		return json.RawMessage(fmt.Sprintf("%q", e.Name))
	}
	return e.Append(nil)
}

func (f *arrayFacts) addGrid(g *grid.Grid) {
	regular := g.IsRegular()
	f.grid, f.IsRegular, f.GridShape, f.GridCells = g, &regular, g.Chunks(), g.Cells()
	f.WriteSizes = runPairs(g.Sizes())
	f.ReadSizes = f.WriteSizes
	for i := range g.Rank() {
		if a := g.Axis(i); a.Cells() > a.Chunks() {
			f.Notes = append(f.Notes, fmt.Sprintf("axis %d has %s cells beyond the extent", i, count(a.Cells()-a.Chunks())))
		}
	}
}

// tryGrid adds the chunk grid of a document if it is one that is known.
func (f *arrayFacts) tryGrid(doc *metadata.Array) {
	if g, err := grid.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration); err == nil {
		f.addGrid(g)
	}
}

func (f *arrayFacts) addSize(a *zarr.Array) {
	n, ok := checked.Product(a.Shape()...)
	if ok {
		n, ok = checked.Mul(n, int64(a.Type().Size()))
	}
	if ok {
		f.logical = n
	}
}

// addStored counts the stored chunks.
func (f *arrayFacts) addStored(cmd *cobra.Command, a *zarr.Array) error {
	s := new(storedFacts)
	if f.logical >= 0 {
		s.Logical = &f.logical
	}
	for index, err := range a.StoredChunks(cmd.Context()) {
		if err != nil {
			return err
		}
		info, err := a.ChunkInfo(cmd.Context(), index)
		if err != nil {
			return err
		}
		s.Chunks++
		s.Bytes += info.Size
	}
	f.storedFacts = s
	return nil
}

// readDocument reads the document of an array at a location, also one that asks for more than this program knows.
// It is nil where nothing can be said of one.
func readDocument(ctx context.Context, location string) *metadata.Array {
	s, err := file.Open(localPath(location), &file.Options{ReadOnly: true})
	if err != nil {
		return nil
	}
	defer s.Close()
	data, _, err := s.Get(ctx, store.MustKey("zarr.json"), store.Request{Limit: 64 << 20}, nil)
	if err != nil {
		return nil
	}
	node, _ := metadata.Parse(data, metadata.Limits{}) // why it cannot be opened is known already
	doc, _ := node.(*metadata.Array)
	return doc
}
