package grid

import (
	"iter"
)

// stored describes the encoded lengths of an axis if they are not its edges. It is
// immutable. A nil *stored stands for the edges.
type stored struct {
	trimmed bool   // the last chunk ends at the extent
	step    int64  // encoded length of every cell; 0 if lengths are listed
	edges   *edges // one encoded length per cell
}

// trimmed is shared by all trimmed axes, so that pointers can be compared.
var trimmed = &stored{trimmed: true}

// EncodedAs returns the cut with cells that are stored longer than their edges. Each cell
// decodes to its encoded length. Only its first elements, as many as its edge is long,
// belong to the array. [Every] stores all cells with one length, [Edges] and [Runs] give
// a length for each cell. No encoded length may be shorter than its edge.
//
// In metadata these lengths are the encoded_chunk_shapes that zarr-extensions pull
// request 75 proposes. Few other programs read them.
func (c Cut) EncodedAs(encoded Cut) Cut {
	c.encoded = &encoded
	return c
}

// withEncoded returns the axis with the encoded lengths that c lists.
func (a Axis) withEncoded(c Cut) (Axis, error) {
	switch {
	case c.err != nil:
		return Axis{}, c.err
	case a.IsTrimmed():
		return Axis{}, invalid("a trimmed axis takes no encoded lengths: they are those of its chunks")
	case c.encoded != nil || c.trimmed:
		return Axis{}, invalid("encoded lengths are Every, Edges or Runs, and have none themselves")
	case c.edges != nil:
		return a.withEncodedEdges(c.edges)
	}
	// The step counts even if a regular axis has no cell yet.
	if longest := a.longestEdge(Interval{0, a.Cells()}); c.step < max(1, longest, a.step) {
		return Axis{}, invalid("encoded length %d must be at least that of every edge, %d", c.step, max(1, longest, a.step))
	}
	if c.step != a.step {
		a.stored = &stored{step: c.step}
	}
	return a, nil
}

// withEncodedEdges returns the axis with one encoded length per cell. If all of them
// equal the edges, the axis does not keep them.
func (a Axis) withEncodedEdges(e *edges) (Axis, error) {
	if e.cells != a.Cells() {
		return Axis{}, invalid("%d encoded lengths for %d edges: there must be one for each", e.cells, a.Cells())
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	// Walk both lists side by side. edge and length are what is left of the current runs.
	edge, same := Run{a.step, a.chunks}, true
	edges, encoded := walk{}, walk{stretches: e.stretches}
	if a.edges != nil {
		edge, edges.stretches = Run{}, a.edges.stretches
	}
	var length Run
	for k := int64(0); k < e.cells; {
		if edge.Count == 0 {
			edge, _ = edges.next()
		}
		if length.Count == 0 {
			length, _ = encoded.next()
		}
		if length.Length < edge.Length {
			return Axis{}, invalid("cell %d has the encoded length %d and an edge of %d: it must be at least as long", k, length.Length, edge.Length)
		}
		same = same && length.Length == edge.Length
		// Skip the cells that both runs have in common.
		n := min(edge.Count, length.Count)
		k, edge.Count, length.Count = k+n, edge.Count-n, length.Count-n
	}
	// Encoded lengths that equal the edges are not kept.
	if !same {
		a.stored = &stored{edges: e}
	}
	return a, nil
}

// IsEncoded reports whether the axis has encoded lengths besides its edges. A trimmed
// axis has none.
func (a Axis) IsEncoded() bool { return a.stored != nil && !a.stored.trimmed }

// Encoded yields the encoded lengths of the cells, in elements, as runs of equal lengths.
// They are the edges unless the axis has encoded lengths ([Cut.EncodedAs]) or is trimmed
// ([EveryTrimmed]).
func (a Axis) Encoded() iter.Seq[Run] {
	switch s := a.stored; {
	case s == nil:
		return a.Edges()
	case s.trimmed:
		return a.Logical()
	case s.edges != nil:
		return Axis{edges: s.edges}.Edges()
	default:
		return Axis{step: s.step, chunks: a.Cells()}.Edges()
	}
}

// encoded returns the encoded length of a cell.
func (s *stored) encoded(c Cell) int64 {
	switch {
	case s.trimmed:
		return c.Logical
	case s.edges != nil:
		_, length := s.edges.at(c.Index)
		return length
	}
	return s.step
}

// longest returns the largest encoded length of the cells in the interval, which must not
// be empty.
func (s *stored) longest(a Axis, cells Interval) int64 {
	switch {
	case s.edges != nil:
		return s.edges.longest(cells)
	case s.trimmed:
		// Only the last chunk is shorter, so the first one in the interval is the
		// longest.
		return min(a.step, a.extent-cells.Start*a.step)
	}
	return s.step
}

// behind returns the encoded lengths of an axis with the given number of cells after it
// gains more. If all cells share a length that no new edge exceeds, the new cells share
// it too and nothing has to be listed. Otherwise the new cells are stored with the length
// of their edge.
func (s *stored) behind(cells int64, more []Run) (*stored, error) {
	var longest int64
	for _, r := range more {
		longest = max(longest, r.Length)
	}
	if s.edges == nil && longest <= s.step {
		return s, nil
	}
	e, err := s.edges, error(nil)
	// The shared length is now listed, once for each of the old cells.
	if e == nil {
		e = noEdges
		if cells > 0 {
			e, err = newEdges(ofRuns([]Run{{s.step, cells}}))
		}
	}
	if err == nil {
		e, err = e.joined(ofRuns(more))
	}
	return &stored{edges: e}, err
}

// first returns the encoded lengths of the first cells. It returns nil if no cell is left
// of a list.
func (s *stored) first(cells int64) *stored {
	if s.edges == nil || s.edges.cells <= cells {
		return s
	}
	if cells == 0 {
		return nil
	}
	var kept []Run
	w := walk{stretches: s.edges.stretches}
	for cells > 0 {
		r, _ := w.next()
		r.Count = min(r.Count, cells)
		kept, cells = append(kept, r), cells-r.Count
	}
	e, _ := newEdges(ofRuns(kept)) // a prefix of a valid list
	return &stored{edges: e}
}

// equal reports whether s and o give the same encoded lengths.
func (s *stored) equal(o *stored) bool {
	if s == nil || o == nil || s.edges == nil || o.edges == nil {
		return s == o || s != nil && o != nil && *s == *o
	}
	return s.edges.equal(o.edges)
}
