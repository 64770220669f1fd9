package zarr

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

func (s *state) names() []string { return dimensionNames(s.doc) }

// dimensionNames returns the name of every axis, "" for an axis without one, and nil
// where a document names none.
func dimensionNames(doc *metadata.Array) []string {
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
func (s *state) spec() codec.Spec { return codec.Spec{Type: s.typ, Fill: s.fill} }

// clockSlack is how far the clocks of a store and of this machine may be apart, and how
// coarse a store's may be.
const clockSlack = 2 * time.Second

// confirm notes that the document which the state is of was the present one at a time:
// chunks that were written well before are cut as the state says. What a later one holds
// may belong elsewhere, since keys are positions in a grid that may have changed.
func (s *state) confirm(at time.Time) { s.confirmed.Store(at.Add(-clockSlack).UnixNano()) }

// since returns the time up to which written chunks are known to be cut as the state
// says.
func (s *state) since() time.Time { return time.Unix(0, s.confirmed.Load()) } // a state that nobody confirmed is of no time

// document returns the document of the state as it is written: with a chunk grid and
// codecs that are specified, whatever was read.
func (s *state) document() *metadata.Array {
	ext := s.doc.ChunkGrid
	switch {
	case len(s.grid.Notes()) > 0:
		ext = gridExtension(s.grid, 0)
	case len(s.engine.Chain.Repairs()) == 0:
		return s.doc
	}
	doc := s.doc.Resized(s.grid.Shape(), ext)
	doc.Codecs = s.engine.Chain.Specified(s.doc.Codecs)
	return doc
}

// gridExtension returns how the grid stands in a document, where that has been about so
// many bytes.
func gridExtension(g *grid.Grid, bytes int) metadata.Extension {
	return metadata.Extension{Name: g.Name(), Configuration: g.AppendConfiguration(make([]byte, 0, bytes+64))}
}

// sameEdges reports whether two grids, one of which has come of the other by growing or
// shrinking, are cut in the same way.
func sameEdges(a, b *grid.Grid) bool {
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

// changedFor returns what is different about an array for chunks that were stored for the
// state s, "" where they mean the same in the state now. A chunk that is not in the array
// any more, because it shrank, means nothing.
func (s *state) changedFor(now *state, chunks grid.Box) string {
	switch {
	case s.typ != now.typ:
		return fmt.Sprintf("its data type was %s and is %s", s.typ, now.typ)
	case s.grid.Rank() != now.grid.Rank():
		return fmt.Sprintf("it had %d axes and has %d", s.grid.Rank(), now.grid.Rank())
	case s.engine.Keys != now.engine.Keys:
		return "its chunks have other keys"
	case !slices.EqualFunc(s.doc.Codecs, now.doc.Codecs, metadata.Extension.Equal):
		return "its codecs are others"
	case !bytes.Equal(s.fill, now.fill):
		return "its fill value is another"
	}
	left := slices.Clone(chunks)
	for i, n := range now.grid.Chunks() {
		left[i].Stop = min(left[i].Stop, n)
		if left[i].Stop <= left[i].Start {
			return ""
		}
	}
	if !s.grid.SameCells(now.grid, left) {
		return "its chunks are cut in another way"
	}
	return ""
}

// grewTo reports whether the array has only grown from s to now as far as these chunks
// are concerned: each is still the same cell.
func (s *state) grewTo(now *state, chunks grid.Box) bool {
	for i, n := range now.grid.Shape() {
		if i >= s.grid.Rank() || n < s.grid.Axis(i).Extent() {
			return false
		}
	}
	return s.engine.Keys == now.engine.Keys && s.typ == now.typ && s.grid.SameCells(now.grid, chunks)
}

// readTo reads what is selected to its place. Where that is one piece of memory, it is
// all going to be filled.
func (s *state) readTo(ctx context.Context, r *selected, view strided.View, zeroed bool) (engine.Suspicion, error) {
	if data, whole := view.Bytes(); whole {
		pages.Large(data)
		defer pages.Usual(data)
	}
	return s.engine.Read(ctx, r.Resolved, view, engine.Reading{Zeroed: zeroed, Since: s.since()})
}
