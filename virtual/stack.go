// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
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
	b, err := inserted(a, 0, name)
	if err == nil {
		b.points = moved(a.points)
	}
	return b, err
}

// inserted returns an array with a new axis of one element before an axis. Its chunks are
// the same bytes, and have the same order.
func inserted(a *Array, at int, name string) (*Array, error) {
	var shape, chunk []int64
	var cuts []grid.Cut
	regular := true
	for i := range a.Grid.Rank() {
		axis := a.Grid.Axis(i)
		shape = append(shape, axis.Extent())
		edge, ok := oneEdge(axis)
		regular = regular && ok
		cuts, chunk = append(cuts, cutOf(axis)), append(chunk, edge)
	}
	shape, chunk, cuts = slices.Insert(shape, at, 1), slices.Insert(chunk, at, 1), slices.Insert(cuts, at, grid.Every(1))
	g, err := grid.New(shape, cuts...)
	if regular {
		g, err = grid.Regular(shape, chunk)
	}
	if err != nil {
		return nil, err
	}
	doc := *withGrid(a.Document, g)
	doc.DimensionNames = slices.Clone(a.Document.DimensionNames)
	for len(doc.DimensionNames) < a.Grid.Rank() {
		doc.DimensionNames = append(doc.DimensionNames, nil)
	}
	doc.DimensionNames = slices.Insert(doc.DimensionNames, at, &name)
	b := *a
	b.Document, b.Grid, b.Axis = &doc, g, 0
	if a.Axis != 0 {
		b.refs, b.inline = a.ordered(0).refs, a.ordered(0).inline
	}
	return &b, nil
}
