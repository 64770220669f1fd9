package zarr

import (
	"bytes"
	"slices"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Array is a node that holds elements: a large block cut into chunks.
//
// An Array may be used from several goroutines at once, also while it grows: a call works
// on a state that was published, whole. Within this process writers of one chunk take
// turns, and a change of the extent waits for the writes that have begun. In several
// processes the last writer of a chunk wins; changes of the extent take turns with each
// other, and with writes to the chunks at the border.
type Array struct {
	node
	state atomic.Pointer[state]
}

// state is an array as one document describes it. All but the time for which it is
// confirmed never changes.
type state struct {
	version store.Version // of the document, zero where it is not known
	doc     *metadata.Array
	grid    *grid.Grid
	typ     dtype.Type
	fill    []byte
	engine  *engine.Array

	confirmed atomic.Int64                     // see confirm
	selecting atomic.Pointer[selection.Target] // see target
}

// newArray makes what a document of the given version describes.
func newArray(base node, doc *metadata.Array, version store.Version) (*Array, error) {
	a := &Array{node: base}
	s, err := a.bind(doc, version)
	if err != nil {
		return nil, err
	}
	a.state.Store(s)
	return a, nil
}

// bind resolves the extension points of a document and checks that they go together.
func (a *Array) bind(doc *metadata.Array, version store.Version) (*state, error) {
	return a.bindGrid(doc, nil, version)
}

// bindGrid is bind with the grid that the document describes, nil where that is still to
// be read.
func (a *Array) bindGrid(doc *metadata.Array, g *grid.Grid, version store.Version) (*state, error) {
	s := &state{doc: doc, grid: g, version: version}
	var err error
	if s.typ, err = dtype.Parse(doc.DataType.Name, doc.DataType.Configuration); err != nil {
		return nil, fault.At("/data_type", err)
	}
	if s.fill, err = s.typ.ParseFill(doc.FillValue); err != nil {
		return nil, fault.At("/fill_value", err)
	}
	if g == nil {
		how := grid.ParseOptions{EncodedShapes: a.options.Experimental.EncodedShapes}
		if s.grid, err = how.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration); err != nil {
			return nil, fault.At("/chunk_grid", err)
		}
	}
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return nil, fault.At("/chunk_key_encoding", err)
	}
	chain, err := a.chain(s)
	if err == nil {
		err = chain.CheckGrid(s.grid)
	}
	if err != nil {
		return nil, fault.At("/codecs", err)
	}
	spec := s.spec()
	s.engine = &engine.Array{
		Store: a.hierarchy.store, Path: a.path, Grid: s.grid, Keys: keys, Chain: chain, Fill: spec.Element(), Size: spec.Width(), Heap: spec.Heap(),
		Concurrency: a.options.Concurrency, Budget: a.options.Budget,
		MaxChunk: a.options.Limits.chunk(), KeepFill: a.options.StoreFill || doc.HasNullFill(),
		RequireChunks: a.options.RequireChunks,
		Gap:           a.options.Shards.Gap, Span: a.options.Shards.Span, Observer: a.hierarchy.observer,
	}
	return s, nil
}

// chain returns the codecs of a state: those that the array has, with what they have
// learned about its chunks, as long as nothing about them is different.
func (a *Array) chain(s *state) (*codec.Chain, error) {
	now := a.state.Load()
	if now != nil && now.typ == s.typ && bytes.Equal(now.fill, s.fill) && now.grid.Rank() == s.grid.Rank() &&
		slices.EqualFunc(now.doc.Codecs, s.doc.Codecs, metadata.Extension.Equal) {
		return now.engine.Chain, nil
	}
	return a.options.environment().NewChain(s.doc.Codecs, codec.Spec{Type: s.typ, Fill: s.fill, Rank: s.grid.Rank()})
}

// Shape returns the length of every axis in elements.
func (a *Array) Shape() []int64 { return a.state.Load().grid.Shape() }

// Rank returns the number of axes.
func (a *Array) Rank() int { return a.state.Load().grid.Rank() }

// Grid returns how the array is cut into chunks.
func (a *Array) Grid() *grid.Grid { return a.state.Load().grid }

// Type returns the data type of the elements.
func (a *Array) Type() dtype.Type { return a.state.Load().typ }

// FillValue returns the value of elements that were never written.
func (a *Array) FillValue() FillValue {
	s := a.state.Load()
	return fillValueOf(s.typ, s.fill, s.doc.HasNullFill())
}

// Attributes returns the user attributes as a JSON object, spelled as they are stored.
func (a *Array) Attributes() []byte { return bytes.Clone(a.state.Load().doc.Attributes) }

// Metadata returns the document that describes the array. It is not to be changed.
func (a *Array) Metadata() *metadata.Array { return a.state.Load().doc }

// DimensionNames returns the name of every axis, "" for an axis without one. It is nil
// where the array names none.
func (a *Array) DimensionNames() []string { return a.state.Load().names() }

func (s *state) names() []string { return dimensionNames(s.doc) }

// parse reads a document of this array; attributes is that of its attributes in format 2.
func (a *Array) parse(data, attributes []byte, version store.Version) (s *state, err error) {
	doc, err := a.parseDocument(data, attributes)
	if err != nil {
		return nil, err
	}
	s, err = a.bind(doc, version)
	return s, fault.InDocument(err)
}

// parseDocument reads what a document of this array says.
func (a *Array) parseDocument(data, attributes []byte) (*metadata.Array, error) {
	l := a.options.Limits.metadata()
	if a.isV2() {
		return metadata.ParseArrayV2(data, attributes, l)
	}
	return metadata.ParseArray(data, l)
}

// spec is what codecs have to know of the elements, but for the number of axes.
func (s *state) spec() codec.Spec { return codec.Spec{Type: s.typ, Fill: s.fill} }
