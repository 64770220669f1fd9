// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"iter"

	"varve.dev/zarr/internal/quantity"
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
// be empty. step and extent are those of the axis.
func (s *stored) longest(step, extent int64, cells Interval) int64 {
	switch {
	case s.edges != nil:
		return s.edges.longest(cells)
	case s.trimmed:
		// Only the last chunk is shorter, so the first one in the interval is the
		// longest.
		return min(step, extent-cells.Start*step)
	}
	return s.step
}

// extended returns the encoded lengths of an axis with the given number of cells after it
// gains more. If all cells share a length that no new edge exceeds, the new cells share
// it too and nothing has to be listed. Otherwise the new cells are stored with the length
// of their edge.
func (s *stored) extended(cells int64, more []Run) (*stored, error) {
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

// list returns the listed encoded lengths, or nil if there is no list.
func (s *stored) list() *edges {
	if s == nil {
		return nil
	}
	return s.edges
}

// untrimmed returns the encoded lengths of an axis without chunks, which has none to
// trim.
func (s *stored) untrimmed() *stored {
	if s == trimmed {
		return nil
	}
	return s
}

// withEncodedEdges returns the axis with one encoded length per cell. If all of them
// equal the edges, the axis does not keep them.
func (a Axis) withEncodedEdges(e *edges) (Axis, error) {
	if e.cells != a.Cells() {
		return Axis{}, invalid("%s for %s: there must be one for each", quantity.Count(e.cells, "encoded lengths"), quantity.Count(a.Cells(), "edges"))
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	// Walk both lists side by side. edge and length are the rest of the current runs.
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
