// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Binding turns documents of one array into states. It is used once.
type Binding struct {
	Engine  *engine.Array      // the fields that do not depend on the document
	Codecs  *codec.Environment // the codecs that the array may use
	Grids   grid.ParseOptions
	Limits  metadata.Limits
	Present *Array // nil for an array that was not bound before
}

// Bind resolves the extension points of a document and checks that they agree. g is the
// grid of the document, or nil to parse it.
func (b *Binding) Bind(doc *metadata.Array, g *grid.Grid, version store.Version) (*Array, error) {
	s := &Array{Doc: doc, Grid: g, Version: version, Engine: b.Engine}
	var err error
	if s.Type, err = dtype.Parse(doc.DataType.Name, doc.DataType.Configuration); err != nil {
		return nil, fault.At("/data_type", err)
	}
	if s.Fill, err = s.Type.ParseFill(doc.FillValue); err != nil {
		return nil, fault.At("/fill_value", err)
	}
	if g == nil {
		if s.Grid, err = b.Grids.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration); err != nil {
			return nil, fault.At("/chunk_grid", err)
		}
	}
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return nil, fault.At("/chunk_key_encoding", err)
	}
	chain, err := b.chain(s)
	if err == nil {
		err = chain.CheckGrid(s.Grid)
	}
	if err != nil {
		return nil, fault.At("/codecs", err)
	}
	// The engine belongs to this Binding alone, which is used once, so it may be
	// completed here.
	spec, e := s.spec(), s.Engine
	e.Grid, e.Keys, e.Chain = s.Grid, keys, chain
	e.Fill, e.Size, e.Heap = spec.Element(), spec.Width(), spec.Heap()
	// With a null fill value, readers disagree on missing chunks. So store every chunk.
	e.KeepFill = e.KeepFill || doc.HasNullFill()
	return s, nil
}

// chain returns the codec chain of a state. It reuses the chain of the present state,
// which caches shard indexes, as long as nothing changes that codecs depend on.
func (b *Binding) chain(s *Array) (*coding.Chain, error) {
	now := b.Present
	if now != nil && now.Type == s.Type && bytes.Equal(now.Fill, s.Fill) && now.Grid.Rank() == s.Grid.Rank() &&
		slices.EqualFunc(now.Doc.Codecs, s.Doc.Codecs, metadata.Extension.Equal) {
		// Fill values are compared as bytes, because NaN differs from itself.
		return now.Engine.Chain, nil
	}
	return coding.NewChain(b.Codecs, s.Doc.Codecs, codec.Spec{Type: s.Type, Fill: s.Fill, Rank: s.Grid.Rank()})
}

// Resized binds the document of s with another grid.
func (b *Binding) Resized(s *Array, g *grid.Grid) (*Array, error) {
	doc := s.Document()
	ext := doc.ChunkGrid
	if doc.Format() == 2 && g.Name() != "regular" {
		return nil, fmt.Errorf("%w: all chunks of an array of format 2 have one shape; convert it to format 3 first (rewrite.Convert)", fault.ErrUnsupported)
	}
	// Otherwise keep the stored spelling of the grid, which may differ from what this
	// package would write.
	if !SameEdges(g, s.Grid) {
		ext = GridExtension(g, len(ext.Configuration))
	}
	return b.Bind(doc.Resized(g.Shape(), ext), g, store.Version{})
}
