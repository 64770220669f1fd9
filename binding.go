package zarr

import (
	"bytes"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// binding turns documents of one array into states. It is used once.
type binding struct {
	engine  *engine.Array      // what does not depend on the document: place and options
	codecs  *codec.Environment // the codecs that the array may use
	grids   grid.ParseOptions
	limits  metadata.Limits
	present *state // nil for an array that was not bound before
}

// bind resolves the extension points of a document and checks that they agree. g is the
// grid of the document, or nil to parse it.
func (b *binding) bind(doc *metadata.Array, g *grid.Grid, version store.Version) (*state, error) {
	s := &state{doc: doc, grid: g, version: version, engine: b.engine}
	var err error
	if s.typ, err = dtype.Parse(doc.DataType.Name, doc.DataType.Configuration); err != nil {
		return nil, fault.At("/data_type", err)
	}
	if s.fill, err = s.typ.ParseFill(doc.FillValue); err != nil {
		return nil, fault.At("/fill_value", err)
	}
	if g == nil {
		if s.grid, err = b.grids.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration); err != nil {
			return nil, fault.At("/chunk_grid", err)
		}
	}
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return nil, fault.At("/chunk_key_encoding", err)
	}
	chain, err := b.chain(s)
	if err == nil {
		err = chain.CheckGrid(s.grid)
	}
	if err != nil {
		return nil, fault.At("/codecs", err)
	}
	spec, e := s.spec(), s.engine
	e.Grid, e.Keys, e.Chain = s.grid, keys, chain
	e.Fill, e.Size, e.Heap = spec.Element(), spec.Width(), spec.Heap()
	// A null fill value promises nothing about missing chunks, so every chunk is stored.
	e.KeepFill = e.KeepFill || doc.HasNullFill()
	return s, nil
}

// chain returns the codec chain of a state. While nothing about the codecs changes, it is
// that of the present state, which has learned the indexes of shards.
func (b *binding) chain(s *state) (*codec.Chain, error) {
	now := b.present
	if now != nil && now.typ == s.typ && bytes.Equal(now.fill, s.fill) && now.grid.Rank() == s.grid.Rank() &&
		slices.EqualFunc(now.doc.Codecs, s.doc.Codecs, metadata.Extension.Equal) {
		return now.engine.Chain, nil
	}
	return b.codecs.NewChain(s.doc.Codecs, codec.Spec{Type: s.typ, Fill: s.fill, Rank: s.grid.Rank()})
}

// resized binds the document of s with another grid.
func (b *binding) resized(s *state, g *grid.Grid) (*state, error) {
	doc := s.document()
	ext := doc.ChunkGrid
	if doc.Format() == 2 && g.Name() != "regular" {
		return nil, fmt.Errorf("%w: an array of format 2 has chunks of one length an axis; convert it to format 3 first (rewrite.Convert)", fault.ErrUnsupported)
	}
	if !sameEdges(g, s.grid) {
		ext = gridExtension(g, len(ext.Configuration))
	}
	return b.bind(doc.Resized(g.Shape(), ext), g, store.Version{})
}
