package grid

import (
	"iter"
	"slices"
	"strconv"
)

// AppendConfiguration appends the configuration of the grid as it stands in metadata: bare integers stay bare, and
// a list is written with runs [length, count] where that has fewer items (zarr-python's spelling). Encoded lengths are written
// where an axis has them. The lists of a grid of inner chunks ([Grid.Divided]), which is not for metadata, can be endless ([Axis.NumRuns]).
func (g *Grid) AppendConfiguration(dst []byte) []byte {
	if g.name != RectilinearName {
		return append(appendShapes(append(dst, `{"chunk_shape": `...), g.axes, Axis.appendShape), '}')
	}
	dst = appendShapes(append(dst, `{"kind": "inline", "chunk_shapes": `...), g.axes, Axis.appendShape)
	if slices.ContainsFunc(g.axes, Axis.IsEncoded) {
		dst = appendShapes(append(dst, `, "encoded_chunk_shapes": `...), g.axes, Axis.appendEncoded)
	}
	return append(dst, '}')
}

// AppendListed is [Grid.AppendConfiguration] for programs that refuse bare integers in a rectilinear grid, as Icechunk 2.2 does:
// every axis is written as a list, with as many edges as it has chunks and at least one. Such an axis does not follow the
// extent any more ([Grid.Unlocked]). An axis whose edges would sum to more than 64 bits stays a bare integer.
func (g *Grid) AppendListed(dst []byte) []byte {
	if g.name != RectilinearName {
		return g.AppendConfiguration(dst)
	}
	listed := *g
	listed.axes = slices.Clone(g.axes)
	for i, a := range g.axes {
		if u, err := a.Unlocked(); err == nil {
			listed.axes[i] = u
		}
	}
	return listed.AppendConfiguration(dst)
}

// appendShapes appends a list with an entry an axis.
func appendShapes(dst []byte, axes []Axis, entry func(Axis, []byte) []byte) []byte {
	dst = append(dst, '[')
	for i, a := range axes {
		dst = entry(a, separate(dst, i))
	}
	return append(dst, ']')
}

// appendShape appends how an axis is cut.
func (a Axis) appendShape(dst []byte) []byte {
	if a.IsRegular() {
		return strconv.AppendInt(dst, a.step, 10)
	}
	return appendRuns(dst, a.Edges())
}

// appendEncoded appends with what lengths the cells of an axis are stored. A bare integer stands for all cells.
func (a Axis) appendEncoded(dst []byte) []byte {
	switch {
	case a.stored == nil:
		return a.appendShape(dst)
	case a.stored.edges == nil:
		return strconv.AppendInt(dst, a.stored.step, 10)
	}
	return appendRuns(dst, a.Encoded())
}

func appendRuns(dst []byte, runs iter.Seq[Run]) []byte {
	dst = append(dst, '[')
	first := len(dst)
	for r := range runs {
		dst = appendEdges(separate(dst, len(dst)-first), r)
	}
	return append(dst, ']')
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
