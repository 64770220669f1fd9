// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"

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
