// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
)

// nextDocument returns the document that an array gets for the present shape of the one
// that it follows, with its present keys.
func (f *follower) nextDocument(u *update) (*metadata.Array, error) {
	from, now := u.from, u.now
	if from.Type != now.Type || from.Grid.Rank() != now.Grid.Rank() {
		return nil, fmt.Errorf("%w: it has elements of %s and %d axes, and follows an array with %s and %d: remove it (zarr.Delete), and follow again",
			zarr.ErrInvalidArgument, now.Type, now.Grid.Rank(), from.Type, from.Grid.Rank())
	}
	asked := bare(f.source.request).(Rechunking)
	if same, err := u.made.askedFor(asked, from); err != nil || !same {
		return nil, errors.Join(err, fmt.Errorf("%w: it was made with other codecs: leave them out, or remove it (zarr.Delete) and follow again", zarr.ErrInvalidArgument))
	}
	cuts := make([]grid.Cut, from.Grid.Rank())
	for i := range cuts {
		a, err := followingAxis(now, i, u.window[i].Len(), asked.Chunks)
		if err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		cuts[i] = cutOf(a)
	}
	g, err := grid.New(u.window.Shape(), cuts...)
	if err != nil {
		return nil, err
	}
	doc := now.Document()
	if !g.Equal(now.Grid) {
		doc = doc.Resized(g.Shape(), snapshot.GridExtension(g, 0))
	}
	return u.followDescription(doc)
}

// followingAxis returns an axis with another extent. Chunks that are asked for may be
// those of a calendar, of which only the last one is longer than before.
func followingAxis(now *snapshot.Array, i int, extent int64, asked Cuts) (is grid.Axis, err error) {
	a := now.Grid.Axis(i)
	if extent >= a.Extent() {
		is, err = a.Grown(extent, now.Rounded(i, grid.AppendOne(), true))
	} else {
		is, err = a.Shrunk(extent, grid.KeepEdges)
	}
	if err != nil || i >= len(asked) {
		return is, err
	}
	want, err := grid.NewAxis(0, asked[i])
	if err != nil {
		return is, err
	}
	if want.Step() != a.Step() || !want.IsRegular() && !continues(a, want) {
		return is, fmt.Errorf("%w: it has other chunks: leave them out, or remove it (zarr.Delete) and follow again", zarr.ErrInvalidArgument)
	}
	if !want.IsRegular() && a.Covered() < extent && want.Covered() >= extent {
		return grid.NewAxis(extent, asked[i])
	}
	return is, nil
}

// continues reports whether listed chunks begin with those of an axis, except for the
// last one that both have.
func continues(a, want grid.Axis) bool {
	for k := range min(a.Cells(), want.Cells()) - 1 {
		was, _ := a.Cell(k)
		if is, ok := want.Cell(k); !ok || is.Edge != was.Edge {
			return false
		}
	}
	return true
}

// commonShape returns the smaller of two extents along every axis.
func commonShape(a, b *grid.Grid) []int64 {
	shape := a.Shape()
	for i := range shape {
		shape[i] = min(shape[i], b.Axis(i).Extent())
	}
	return shape
}
