package grid

import (
	"iter"
	"slices"
)

// stored says with what lengths the chunks of an axis are stored where those are not their edges. It is immutable.
// A nil *stored stands for the edges themselves.
type stored struct {
	trimmed bool   // the last chunk ends at the extent
	step    int64  // one length for every cell; 0 where they are listed
	edges   *edges // a length for each cell
}

// trimmed is the same for all axes.
var trimmed = &stored{trimmed: true}

// EncodedAs returns the cut with cells that are stored longer than they are: each decodes to the encoded length, and only
// its first elements, as many as its edge is long, belong to the array. With [Every] all cells are stored with one length,
// with [Edges] or [Runs] there is one for each cell. None may be shorter than the edge. In metadata these are the
// encoded_chunk_shapes that zarr-extensions pull request 75 proposes; few other programs know them yet.
func (c Cut) EncodedAs(encoded Cut) Cut {
	c.encoded = &encoded
	return c
}

// withEncoded returns the axis with cells that are stored as c says.
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
	if longest := a.longestEdge(Interval{0, a.Cells()}); c.step < max(1, longest, a.step) {
		return Axis{}, invalid("encoded length %d must be at least that of every edge, %d", c.step, max(1, longest, a.step))
	}
	if c.step != a.step {
		a.stored = &stored{step: c.step}
	}
	return a, nil
}

func (a Axis) withEncodedEdges(e *edges) (Axis, error) {
	if e.cells != a.Cells() {
		return Axis{}, invalid("%d encoded lengths for %d edges: there must be one for each", e.cells, a.Cells())
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	edge, same := Run{a.step, a.chunks}, true
	edges, encoded := walk{}, walk{parts: e.parts}
	if a.edges != nil {
		edge, edges.parts = Run{}, a.edges.parts
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
		n := min(edge.Count, length.Count)
		k, edge.Count, length.Count = k+n, edge.Count-n, length.Count-n
	}
	if !same {
		a.stored = &stored{edges: e}
	}
	return a, nil
}

// IsEncoded reports whether lengths are given that the cells are stored with, apart from their edges.
func (a Axis) IsEncoded() bool { return a.stored != nil && !a.stored.trimmed }

// Encoded yields the lengths that the cells are stored with, in elements, as runs of equal ones. They are the edges but where
// the axis says otherwise ([Cut.EncodedAs], [EveryTrimmed]).
func (a Axis) Encoded() iter.Seq[Run] {
	switch s := a.stored; {
	case s == nil:
		return a.Edges()
	case s.trimmed:
		return slices.Values(a.Sizes())
	case s.edges != nil:
		return Axis{edges: s.edges}.Edges()
	default:
		return Axis{step: s.step, chunks: a.Cells()}.Edges()
	}
}

// encoded returns the length that a cell is stored with.
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

// longest returns the largest length that the cells in the interval, which is not empty, are stored with.
func (s *stored) longest(a Axis, cells Interval) int64 {
	switch {
	case s.edges != nil:
		return s.edges.longest(cells)
	case s.trimmed:
		return min(a.step, a.extent-cells.Start*a.step)
	}
	return s.step
}

// behind returns the lengths with more cells behind the first ones, or fewer. What is new is stored with its own length,
// or with the one that all cells have in common where that is larger: the common one stays, and nothing has to be listed.
func (s *stored) behind(cells int64, more []Run) (*stored, error) {
	var longest int64
	for _, r := range more {
		longest = max(longest, r.Length)
	}
	if s.edges == nil && longest <= s.step {
		return s, nil
	}
	e, err := s.edges, error(nil)
	if e == nil {
		e, err = newEdges(ofRuns([]Run{{s.step, cells}}))
	}
	if err == nil {
		e, err = e.joined(ofRuns(more))
	}
	return &stored{edges: e}, err
}

// first returns the lengths of no more than the first cells of a list; without a cell there are none.
func (s *stored) first(cells int64) *stored {
	if s.edges == nil || s.edges.cells <= cells {
		return s
	}
	if cells == 0 {
		return nil
	}
	var kept []Run
	w := walk{parts: s.edges.parts}
	for cells > 0 {
		r, _ := w.next()
		r.Count = min(r.Count, cells)
		kept, cells = append(kept, r), cells-r.Count
	}
	e, _ := newEdges(ofRuns(kept)) // they are part of a list
	return &stored{edges: e}
}

// equal reports whether cells are stored with the same lengths.
func (s *stored) equal(o *stored) bool {
	if s == nil || o == nil || s.edges == nil || o.edges == nil {
		return s == o || s != nil && o != nil && *s == *o
	}
	return s.edges.equal(o.edges)
}
