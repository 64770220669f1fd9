// SPDX-License-Identifier: Apache-2.0

package grid

import "iter"

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
