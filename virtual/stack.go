// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// stacked returns an array with a new first axis of one element. Its chunks are the same
// bytes.
func stacked(a *Array, name string) (*Array, error) {
	for _, c := range a.Document.Codecs {
		// These depend on the number of axes.
		if c.Name == "transpose" || c.Name == "sharding_indexed" || c.Name == "reshape" {
			return nil, fmt.Errorf("an array with the codec %s cannot be stacked", c.Name)
		}
	}
	shape, cuts := []int64{1}, []grid.Cut{grid.Every(1)}
	regular, chunk := true, []int64{1}
	for i := range a.Grid.Rank() {
		axis := a.Grid.Axis(i)
		shape = append(shape, axis.Extent())
		edge, ok := oneEdge(axis)
		regular = regular && ok
		cuts, chunk = append(cuts, cutOf(axis)), append(chunk, edge)
	}
	g, err := grid.New(shape, cuts...)
	if regular {
		g, err = grid.Regular(shape, chunk)
	}
	if err != nil {
		return nil, err
	}
	doc := *withGrid(a.Document, g)
	doc.DimensionNames = append([]*string{&name}, a.Document.DimensionNames...)
	for len(doc.DimensionNames) < len(shape) {
		doc.DimensionNames = append(doc.DimensionNames, nil)
	}
	b := *a
	b.Document, b.Grid, b.Axis = &doc, g, 0
	if a.Axis != 0 {
		b.refs, b.inline = a.ordered(0).refs, a.ordered(0).inline
	}
	return &b, nil
}

// trims reports whether the padding of the last chunks can be cut off: chunks are not
// compressed, and the axis is the first one. Then the elements of the array come first in
// each chunk.
func (n *joined) trims() bool { return n.along == 0 && plain(n.Document) }

// trim cuts off the padding of the last chunks: it makes the references shorter.
func (n *joined) trim() {
	axis := n.axes[len(n.axes)-1]
	last, _ := axis.Cell(axis.Chunks() - 1)
	plane := 1
	for i, c := range n.Grid.Chunks() {
		if i != n.along {
			plane *= int(c)
		}
	}
	for i := n.refs.len() - plane; i < n.refs.len(); i++ {
		if r := n.refs.at(i); r.source != 0 {
			r.length = r.length / uint64(last.Encoded) * uint64(last.Logical)
			n.refs.set(i, r)
		}
		at := n.stored() + int64(i)
		if data, ok := n.inline[at]; ok {
			n.inline[at] = data[:int64(len(data))/last.Encoded*last.Logical]
		}
	}
	n.axes[len(n.axes)-1] = trimmed(axis)
}

// trimmed returns an axis whose last edge ends with it.
func trimmed(axis grid.Axis) grid.Axis {
	cut, err := grid.NewAxis(axis.Extent(), grid.Runs(axis.Sizes()...))
	if err != nil {
		return axis // impossible: these are the lengths of its chunks
	}
	return cut
}

// plain reports whether chunks are stored as the bytes of their elements.
func plain(doc *metadata.Array) bool { return len(doc.Codecs) == 1 && doc.Codecs[0].Name == "bytes" }
