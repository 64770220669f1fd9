// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"iter"
	"slices"
	"strconv"
)

// AppendConfiguration appends the configuration of the grid as JSON, in the form that
// metadata has. A regular axis is a bare integer. A list of edges has runs
// [length, count] where a length repeats, as zarr-python writes it. An axis without edges
// ([Edges]) is the run [1, 1]. Encoded lengths are written if an axis has them.
//
// A grid of inner chunks ([Grid.Divided]) is not meant for metadata. Its lists may be too
// long to write ([Axis.NumRuns]).
func (g *Grid) AppendConfiguration(dst []byte) []byte {
	// The other grids have one shape for all chunks, in the member chunk_shape.
	if g.name != RectilinearName {
		return append(appendShapes(append(dst, `{"chunk_shape": `...), g.axes, Axis.appendShape), '}')
	}
	dst = appendShapes(append(dst, `{"kind": "inline", "chunk_shapes": `...), g.axes, Axis.appendShape)
	if slices.ContainsFunc(g.axes, Axis.IsEncoded) {
		dst = appendShapes(append(dst, `, "encoded_chunk_shapes": `...), g.axes, Axis.appendEncoded)
	}
	return append(dst, '}')
}

// AppendListed is like [Grid.AppendConfiguration] but writes every axis of a rectilinear
// grid as a list. Some programs, such as Icechunk 2.2, refuse bare integers there. A list
// has as many edges as the axis has chunks, and at least one, so the axis no longer
// follows the extent ([Grid.Unlocked]). An axis whose edges would overflow int64 stays a
// bare integer.
func (g *Grid) AppendListed(dst []byte) []byte {
	if g.name != RectilinearName {
		return g.AppendConfiguration(dst)
	}
	listed := *g
	listed.axes = slices.Clone(g.axes)
	for i, a := range g.axes {
		// Edges whose sum overflows cannot be listed: keep the integer.
		if u, err := a.Unlocked(); err == nil {
			listed.axes[i] = u
		}
	}
	return listed.AppendConfiguration(dst)
}

// appendShapes appends a list with one entry per axis.
func appendShapes(dst []byte, axes []Axis, entry func(Axis, []byte) []byte) []byte {
	dst = append(dst, '[')
	for i, a := range axes {
		dst = entry(a, separate(dst, i))
	}
	return append(dst, ']')
}

// appendShape appends the edges of an axis, or its step if it is regular.
func (a Axis) appendShape(dst []byte) []byte {
	if a.IsRegular() {
		// The specification has a bare integer for a length that repeats without end.
		return strconv.AppendInt(dst, a.step, 10)
	}
	if a.edges.cells == 0 {
		// zarr-python refuses an empty list.
		return append(dst, placeholder...)
	}
	return a.appendRuns(dst, a.Edges())
}

// appendEncoded appends the encoded lengths of an axis. One integer stands for all cells.
func (a Axis) appendEncoded(dst []byte) []byte {
	switch {
	case a.stored == nil:
		return a.appendShape(dst)
	case a.stored.edges == nil:
		return strconv.AppendInt(dst, a.stored.step, 10)
	}
	return a.appendRuns(dst, a.Encoded())
}

// growingRuns is the most runs whose text is appended without knowing its length. For
// more, the length is computed first: text that grows as it is appended takes up to twice
// its memory.
const growingRuns = 1 << 12

// appendRuns appends a list of edges and of pairs [length, count].
func (a Axis) appendRuns(dst []byte, runs iter.Seq[Run]) []byte {
	if a.NumRuns() > growingRuns {
		dst = slices.Grow(dst, textLength(runs))
	}
	dst = append(dst, '[')
	first := len(dst)
	for r := range runs {
		dst = appendEdges(separate(dst, len(dst)-first), r)
	}
	return append(dst, ']')
}

// textLength returns the number of bytes that appendRuns appends.
func textLength(runs iter.Seq[Run]) int {
	n, between := len("[]"), 0
	var text []byte
	for r := range runs {
		text = appendEdges(text[:0], r)
		n, between = n+len(text)+between, len(", ")
	}
	return n
}

func appendEdges(dst []byte, r Run) []byte {
	if r.Count == 1 {
		return strconv.AppendInt(dst, r.Length, 10)
	}
	dst = strconv.AppendInt(append(dst, '['), r.Length, 10)
	dst = strconv.AppendInt(append(dst, ", "...), r.Count, 10)
	return append(dst, ']')
}

func separate(dst []byte, before int) []byte {
	if before > 0 {
		dst = append(dst, ", "...)
	}
	return dst
}
