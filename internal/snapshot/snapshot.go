// SPDX-License-Identifier: Apache-2.0

// Package snapshot describes arrays by one version of their metadata document, and the
// changes that lead from one version to the next.
//
// An [Array] is immutable, except for the time of its last check. A reader that holds one
// sees a consistent grid, type and codec chain, regardless of concurrent changes.
package snapshot

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/pages"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Array is an array as one version of its document describes it. [Binding.Bind] makes it.
type Array struct {
	Version store.Version // of the document; zero if unknown
	Warned  bool          // the document has the mark of a warning; see [publish.Warned]
	Doc     *metadata.Array
	Grid    *grid.Grid
	Type    dtype.Type
	Fill    []byte // the fill value, as one element
	Engine  *engine.Array
	// Numbering is that of the elements: two states have the same one if elements have
	// the same indices in both.
	Numbering *Numbering
	// Copy is not nil if Doc is a copy in consolidated metadata, and the document of the
	// array was not read.
	Copy *Copy

	confirmed atomic.Int64                     // nanoseconds since 1970; see Confirm
	written   atomic.Int64                     // nanoseconds since 1970; see SetWritten
	selecting atomic.Pointer[selection.Target] // made by target on its first call
	lastMove  atomic.Pointer[string]           // see KnowMove
}

// KnowMove records the ID of the last rechunk that has dropped or inserted a range on the
// way to this document, "" for none. Its note, which a vacuum leaves, is then no evidence
// that one has happened since: in stores without locks the times of both do not tell.
func (s *Array) KnowMove(id string) { s.lastMove.Store(&id) }

// KnowsMove reports whether the last such rechunk is known to have this ID.
func (s *Array) KnowsMove(id string) bool {
	known := s.lastMove.Load()
	return known != nil && *known == id
}

// Inherit takes over the numbering of an older state, whose elements have the same
// indices, and what it knows about it.
func (s *Array) Inherit(o *Array) {
	s.Numbering = o.Numbering
	s.lastMove.Store(o.lastMove.Load())
}

// Numbering stands for the indices of the elements of an array. Its address is its
// identity. States keep it when the array grows, shrinks or gets other chunks. They get a
// new one when a range is dropped or inserted, because then elements have other indices.
type Numbering struct{ _ byte }

// Copy says when consolidated metadata with the copy of a document was written. The
// document may have been another one already.
type Copy struct {
	Written time.Time // by the clock of the store; zero if unknown
}

// DimensionNames returns the name of every axis; see [NamesOf].
func (s *Array) DimensionNames() []string { return NamesOf(s.Doc) }

// NamesOf returns the dimension name of every axis, "" for an axis without one. It
// returns nil if the document has no names.
func NamesOf(doc *metadata.Array) []string {
	if doc.DimensionNames == nil {
		return nil
	}
	names := make([]string, len(doc.DimensionNames))
	for i, n := range doc.DimensionNames {
		if n != nil {
			names[i] = *n
		}
	}
	return names
}

// spec returns the specification for codecs, without the number of axes.
func (s *Array) spec() codec.Spec { return codec.Spec{Type: s.Type, Fill: s.Fill} }

// clockSlack bounds the difference between the clocks of a store and of this machine,
// and the resolution of the store's times.
const clockSlack = 2 * time.Second

// Confirm records that the document was the current one at the given time. A chunk that
// was written before then belongs to this grid. A chunk that was written later may belong
// to another grid, because keys are positions in a grid and the grid may have changed.
func (s *Array) Confirm(at time.Time) { s.confirmed.Store(at.Add(-clockSlack).UnixNano()) }

// ConfirmAs copies the time of [Array.Confirm] from another description of the same grid.
func (s *Array) ConfirmAs(o *Array) { s.confirmed.Store(o.confirmed.Load()) }

// Since returns a time: chunks that were written earlier belong to this grid. It is
// 1970 if [Array.Confirm] was never called.
func (s *Array) Since() time.Time { return time.Unix(0, s.confirmed.Load()) }

// SetWritten records when the document was written, by the clock of the store.
func (s *Array) SetWritten(at time.Time) {
	if !at.IsZero() {
		s.written.Store(at.UnixNano())
	}
}

// CurrentAt returns a time when the document was the current one, by the clock of the
// store where that tells it. exact says that the store has only one clock: its times tell
// the order of two writes. Other times are early by a slack.
func (s *Array) CurrentAt(exact bool) time.Time {
	at := s.written.Load()
	if at == 0 {
		return s.Since()
	}
	return early(time.Unix(0, at), exact)
}

// At returns a time when the consolidated metadata was written, or just before, by the
// clock of the store, or 1970 if that does not tell. exact is that of [Array.CurrentAt].
func (c *Copy) At(exact bool) time.Time {
	if c.Written.IsZero() {
		return time.Unix(0, 0)
	}
	return early(c.Written, exact)
}

func early(at time.Time, exact bool) time.Time {
	if exact {
		return at
	}
	return at.Add(-clockSlack)
}

// Document returns the document for writing. Other spellings of the chunk grid and of
// codecs, which some programs write, are replaced by the specified ones.
func (s *Array) Document() *metadata.Array {
	ext := s.Doc.ChunkGrid
	switch {
	case len(s.Grid.Notes()) > 0:
		ext = GridExtension(s.Grid, 0)
	// Nothing was repaired, so the document is written as it was read.
	case len(s.Engine.Chain.Repairs()) == 0:
		return s.Doc
	}
	doc := s.Doc.Resized(s.Grid.Shape(), ext)
	doc.Codecs = s.Engine.Chain.Specified(s.Doc.Codecs)
	return doc
}

// GridExtension returns the chunk_grid member for a grid. bytes is the expected size of
// its configuration.
func GridExtension(g *grid.Grid, bytes int) metadata.Extension {
	return metadata.Extension{Name: g.Name(), Configuration: g.AppendConfiguration(make([]byte, 0, bytes+64))}
}

// SameEdges reports whether two grids have the same edges. One of them must result from
// the other by growing or shrinking.
func SameEdges(a, b *grid.Grid) bool {
	if a.Name() != b.Name() {
		return false
	}
	for i := range a.Rank() {
		x, y := a.Axis(i), b.Axis(i)
		// Growing only adds edges at the end and shrinking only removes or cuts them
		// there, so equal counts and sums mean equal lists.
		if x.Step() != y.Step() || !x.IsRegular() && (x.Cells() != y.Cells() || x.Covered() != y.Covered()) {
			return false
		}
		// Growing an axis without elements may replace its edges.
		if min(x.Extent(), y.Extent()) == 0 && !slices.Equal(slices.Collect(x.Edges()), slices.Collect(y.Edges())) {
			return false
		}
	}
	return true
}

// ChangedFor returns the reason why chunks that were stored for s have another meaning
// in now, or "" if they have the same meaning. It ignores chunks that the array no
// longer has because it shrank.
func (s *Array) ChangedFor(now *Array, chunks grid.Box) string {
	switch {
	case s.Type != now.Type:
		return fmt.Sprintf("its data type was %s and is %s", s.Type, now.Type)
	case s.Grid.Rank() != now.Grid.Rank():
		return fmt.Sprintf("it had %s and has %d", quantity.Count(s.Grid.Rank(), "axes"), now.Grid.Rank())
	case s.Engine.Keys != now.Engine.Keys:
		return "its chunks have other keys"
	case !bytes.Equal(s.Fill, now.Fill):
		return "it has another fill value"
	case !likeness.SameElements(s.Doc, now.Doc):
		return "it has other codecs"
	}
	// Chunks beyond the present grid were deleted when the array shrank.
	left := slices.Clone(chunks)
	for i, n := range now.Grid.Chunks() {
		// Or they were merged: their elements are in a chunk that has another index.
		if c, ok := s.Grid.Axis(i).Cell(n); ok && n < left[i].Stop && c.Start < now.Grid.Axis(i).Extent() {
			return "its chunks have other edges"
		}
		left[i].Stop = min(left[i].Stop, n)
		if left[i].Stop <= left[i].Start {
			return ""
		}
	}
	if !s.Grid.SameCells(now.Grid, left) {
		return "its chunks have other edges"
	}
	return ""
}

// GrewTo reports whether now results from s by growth alone, where these chunks are
// concerned: each of them is still the same cell.
func (s *Array) GrewTo(now *Array, chunks grid.Box) bool {
	for i, n := range now.Grid.Shape() {
		// An array with more axes is another array.
		if i >= s.Grid.Rank() || n < s.Grid.Axis(i).Extent() {
			return false
		}
	}
	return s.Engine.Keys == now.Engine.Keys && s.Type == now.Type && s.Grid.SameCells(now.Grid, chunks)
}

// ReadTo reads the selected elements into view. zeroed says that its memory is zero.
func (s *Array) ReadTo(ctx context.Context, r *Selected, view strided.View, zeroed bool) (engine.Suspicion, error) {
	// A contiguous view is filled completely, so large pages pay off.
	if data, whole := view.Bytes(); whole {
		pages.Large(data)
		defer pages.Usual(data)
	}
	return s.Engine.Read(ctx, r.Elements, view, engine.Reading{Zeroed: zeroed, Since: s.Since()})
}

// Binding turns documents of one array into states. It is used once.
type Binding struct {
	Engine  *engine.Array      // the fields that do not depend on the document
	Codecs  *codec.Environment // the codecs that the array may use
	Grids   grid.ParseOptions
	Limits  metadata.Limits
	Present *Array // nil for an array that was not bound before
	// Record, if not nil, returns what notes the chunks that are stored for a state.
	Record func(*Array) engine.Recorder
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
		if s.Grid, err = grid.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration, &b.Grids); err != nil {
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
	e.Fill, e.Size, e.Heap = coding.Element(spec), coding.Width(spec), coding.HeapOf(spec)
	// With a null fill value, readers disagree on missing chunks. So store every chunk.
	e.KeepFill = e.KeepFill || doc.HasNullFill()
	if b.Record != nil {
		e.Recorder = b.Record(s)
	}
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
		return nil, fmt.Errorf("%w: all chunks of an array of format 2 have one shape; convert it to format 3 first ("+remedy.Convert+")", fault.ErrUnsupported)
	}
	// Otherwise keep the stored spelling of the grid, which may differ from what this
	// package would write.
	if !SameEdges(g, s.Grid) {
		ext = GridExtension(g, len(ext.Configuration))
	}
	return b.Bind(doc.Resized(g.Shape(), ext), g, store.Version{})
}
