// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
)

// recut returns a grid with other edges along some axes.
func recut(g *grid.Grid, axes map[int]grid.Axis) (*grid.Grid, error) {
	cuts := make([]grid.Cut, g.Rank())
	for i := range cuts {
		a := g.Axis(i)
		if other, ok := axes[i]; ok {
			a = other
		}
		cuts[i] = cutOf(a)
	}
	return grid.New(g.Shape(), cuts...)
}

// recutTo returns the document of the array with another grid.
func recutTo(s *snapshot.Array, g *grid.Grid) (*metadata.Array, error) {
	doc := s.Document()
	for i := range s.Grid.Rank() {
		if s.Grid.Axis(i).IsEncoded() {
			return nil, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: chunks that are stored longer than their edges are not rechunked", zarr.ErrUnsupported)}
		}
	}
	if doc.Format() == 2 && !g.IsRegular() {
		return nil, fmt.Errorf("%w: all chunks of an array of format 2 have one shape; convert it to format 3 first (rewrite.Convert)", zarr.ErrUnsupported)
	}
	return doc.Recut(g.Shape(), snapshot.GridExtension(g, 0))
}

// cutOf returns the cut that makes an axis.
func cutOf(a grid.Axis) grid.Cut {
	if a.IsRegular() {
		return grid.Every(a.Step())
	}
	var runs []grid.Run
	for r := range a.Edges() {
		runs = append(runs, r)
	}
	return grid.Runs(runs...)
}
