// Package snapshot has arrays as one version of their document describes them, and the
// changes that lead from one to the next.
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
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/pages"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// Array is an array as one document describes it. All but the time for which it is
// confirmed never changes.
type Array struct {
	Version store.Version // of the document, zero where it is not known
	Doc     *metadata.Array
	Grid    *grid.Grid
	Type    dtype.Type
	Fill    []byte
	Engine  *engine.Array

	Confirmed atomic.Int64                     // see confirm
	selecting atomic.Pointer[selection.Target] // see target
}

// DimensionNames returns the name of every axis; see [NamesOf].
func (s *Array) DimensionNames() []string { return NamesOf(s.Doc) }

// NamesOf returns the name of every axis, "" for an axis without one, and nil
// where a document names none.
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

// spec is what codecs have to know of the elements, but for the number of axes.
func (s *Array) spec() codec.Spec { return codec.Spec{Type: s.Type, Fill: s.Fill} }

// clockSlack is how far the clocks of a store and of this machine may be apart, and how
// coarse a store's may be.
const clockSlack = 2 * time.Second

// Confirm notes that the document which the state is of was the present one at a time:
// chunks that were written well before are cut as the state says. What a later one holds
// may belong elsewhere, since keys are positions in a grid that may have changed.
func (s *Array) Confirm(at time.Time) { s.Confirmed.Store(at.Add(-clockSlack).UnixNano()) }

// Since returns the time up to which written chunks are known to be cut as the state
// says.
func (s *Array) Since() time.Time { return time.Unix(0, s.Confirmed.Load()) } // a state that nobody confirmed is of no time

// Document returns the document of the state as it is written: with a chunk grid and
// codecs that are specified, whatever was read.
func (s *Array) Document() *metadata.Array {
	ext := s.Doc.ChunkGrid
	switch {
	case len(s.Grid.Notes()) > 0:
		ext = GridExtension(s.Grid, 0)
	case len(s.Engine.Chain.Repairs()) == 0:
		return s.Doc
	}
	doc := s.Doc.Resized(s.Grid.Shape(), ext)
	doc.Codecs = s.Engine.Chain.Specified(s.Doc.Codecs)
	return doc
}

// GridExtension returns how the grid stands in a document, where that has been about so
// many bytes.
func GridExtension(g *grid.Grid, bytes int) metadata.Extension {
	return metadata.Extension{Name: g.Name(), Configuration: g.AppendConfiguration(make([]byte, 0, bytes+64))}
}

// SameEdges reports whether two grids, one of which has come of the other by growing or
// shrinking, are cut in the same way.
func SameEdges(a, b *grid.Grid) bool {
	if a.Name() != b.Name() {
		return false
	}
	for i := range a.Rank() {
		x, y := a.Axis(i), b.Axis(i)
		if x.Step() != y.Step() || !x.IsRegular() && (x.Cells() != y.Cells() || x.Covered() != y.Covered()) {
			return false
		}
		// The edges of an axis without elements may be others when it grows.
		if min(x.Extent(), y.Extent()) == 0 && !slices.Equal(slices.Collect(x.Edges()), slices.Collect(y.Edges())) {
			return false
		}
	}
	return true
}

// ChangedFor returns what is different about an array for chunks that were stored for the
// state s, "" where they mean the same in the state now. A chunk that is not in the array
// any more, because it shrank, means nothing.
func (s *Array) ChangedFor(now *Array, chunks grid.Box) string {
	switch {
	case s.Type != now.Type:
		return fmt.Sprintf("its data type was %s and is %s", s.Type, now.Type)
	case s.Grid.Rank() != now.Grid.Rank():
		return fmt.Sprintf("it had %d axes and has %d", s.Grid.Rank(), now.Grid.Rank())
	case s.Engine.Keys != now.Engine.Keys:
		return "its chunks have other keys"
	case !slices.EqualFunc(s.Doc.Codecs, now.Doc.Codecs, metadata.Extension.Equal):
		return "its codecs are others"
	case !bytes.Equal(s.Fill, now.Fill):
		return "its fill value is another"
	}
	left := slices.Clone(chunks)
	for i, n := range now.Grid.Chunks() {
		left[i].Stop = min(left[i].Stop, n)
		if left[i].Stop <= left[i].Start {
			return ""
		}
	}
	if !s.Grid.SameCells(now.Grid, left) {
		return "its chunks are cut in another way"
	}
	return ""
}

// GrewTo reports whether the array has only grown from s to now as far as these chunks
// are concerned: each is still the same cell.
func (s *Array) GrewTo(now *Array, chunks grid.Box) bool {
	for i, n := range now.Grid.Shape() {
		if i >= s.Grid.Rank() || n < s.Grid.Axis(i).Extent() {
			return false
		}
	}
	return s.Engine.Keys == now.Engine.Keys && s.Type == now.Type && s.Grid.SameCells(now.Grid, chunks)
}

// ReadTo reads what is selected to its place. Where that is one piece of memory, it is
// all going to be filled.
func (s *Array) ReadTo(ctx context.Context, r *Selected, view strided.View, zeroed bool) (engine.Suspicion, error) {
	if data, whole := view.Bytes(); whole {
		pages.Large(data)
		defer pages.Usual(data)
	}
	return s.Engine.Read(ctx, r.Resolved, view, engine.Reading{Zeroed: zeroed, Since: s.Since()})
}
