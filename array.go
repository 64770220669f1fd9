package zarr

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
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
	state atomic.Pointer[snapshot.Array]
}

// newArray makes what a document of the given version describes.
func newArray(base node, doc *metadata.Array, version store.Version) (*Array, error) {
	a := &Array{node: base}
	s, err := a.binding().Bind(doc, nil, version)
	if err != nil {
		return nil, err
	}
	a.state.Store(s)
	return a, nil
}

// binding returns what turns a document of the array into a state.
func (a *Array) binding() *snapshot.Binding {
	o := &a.options
	return &snapshot.Binding{
		Engine: &engine.Array{
			Store: a.hierarchy.store, Path: a.path, Concurrency: o.Concurrency, Budget: o.Budget,
			MaxChunk: o.Limits.chunk(), KeepFill: o.StoreFill, RequireChunks: o.RequireChunks,
			Gap: o.Shards.Gap, Span: o.Shards.Span, Observer: a.hierarchy.observer,
		},
		Codecs: o.environment(), Grids: grid.ParseOptions{EncodedShapes: o.Experimental.EncodedShapes},
		Limits: o.Limits.metadata(), Present: a.state.Load(),
	}
}

// Shape returns the length of every axis in elements.
func (a *Array) Shape() []int64 { return a.state.Load().Grid.Shape() }

// Rank returns the number of axes.
func (a *Array) Rank() int { return a.state.Load().Grid.Rank() }

// Grid returns how the array is cut into chunks.
func (a *Array) Grid() *grid.Grid { return a.state.Load().Grid }

// Type returns the data type of the elements.
func (a *Array) Type() dtype.Type { return a.state.Load().Type }

// FillValue returns the value of elements that were never written.
func (a *Array) FillValue() FillValue {
	s := a.state.Load()
	return fillValueOf(s.Type, s.Fill, s.Doc.HasNullFill())
}

// Attributes returns the user attributes as a JSON object, spelled as they are stored.
func (a *Array) Attributes() []byte { return bytes.Clone(a.state.Load().Doc.Attributes) }

// Metadata returns the document that describes the array. It is not to be changed.
func (a *Array) Metadata() *metadata.Array { return a.state.Load().Doc }

// String describes the array in one line: data type, shape, chunks and location.
func (a *Array) String() string {
	s := a.state.Load()
	return fmt.Sprintf("%s %s at %s", s.Type, s.Grid, a.Location())
}

// DimensionNames returns the name of every axis, "" for an axis without one. It is nil
// where the array names none.
func (a *Array) DimensionNames() []string { return a.state.Load().DimensionNames() }

// parse reads a document of this array; attributes is that of its attributes in format 2.
func (a *Array) parse(data, attributes []byte, version store.Version) (*snapshot.Array, error) {
	doc, err := a.parseDocument(data, attributes)
	if err != nil {
		return nil, err
	}
	s, err := a.binding().Bind(doc, nil, version)
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
