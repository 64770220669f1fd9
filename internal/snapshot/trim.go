// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// errUnguarded is the error of trimming shards whose index has no checksum. A reader
// could not distinguish a shard in its old shape from one in its new shape.
var errUnguarded = fmt.Errorf("%w: the index of these shards has no checksum, so readers could decode an old shard in its new, shorter shape; keep the edges (grid.KeepEdges, no trim)", fault.ErrUnsupported)

// trimmed returns the chunks that both s and next have, but next with a shorter edge:
// those at the end of an axis whose last edge is cut at the extent. The boxes do not
// overlap.
func (s *Array) trimmed(next *Array) []grid.Box {
	var boxes []grid.Box
	if slices.Contains(s.Grid.Shape(), 0) {
		return nil // there are no chunks
	}
	rest := grid.BoxOf(next.Grid.Chunks())
	for i := range rest {
		a := next.Grid.Axis(i)
		is, ok := a.Cell(a.Chunks() - 1)
		was, had := s.Grid.Axis(i).Cell(is.Index)
		if !ok || !had || was.Encoded == is.Encoded {
			continue
		}
		cells := append(grid.Box(nil), rest...)
		cells[i].Start = is.Index
		boxes = append(boxes, cells)
		// A chunk at the end of two axes belongs to the box of the first one.
		rest[i].Stop = is.Index
	}
	return boxes
}

// trim adds to a change the steps for the chunks of the boxes, whose shape changes but
// not their keys. They are set aside in the new shape before the document is published,
// and moved to their keys after that. A reader whose chunk does not decode looks for
// one that is set aside.
func (s *Array) trim(next *Array, boxes []grid.Box, change *publish.Change) {
	valid := s.Grid.Shape()
	for i, n := range next.Grid.Shape() {
		valid[i] = min(valid[i], n)
	}
	stage, reclaim := change.Stage, change.Reclaim
	change.Stage = func(ctx context.Context, b store.Batch) error {
		// First the change itself: it may store chunks that are then set aside.
		if stage != nil {
			if err := stage(ctx, b); err != nil {
				return err
			}
		}
		for _, cells := range boxes {
			for i, old := range grid.BoxOf(s.Grid.Chunks()) {
				cells[i] = cells[i].Intersect(old) // new chunks have the new shape already
			}
			if err := s.Engine.PutAside(ctx, next.Engine, cells, valid, b); err != nil {
				return err
			}
		}
		return nil
	}
	change.Reclaim = func(ctx context.Context, b store.Batch) error {
		if err := next.FetchAside(ctx, b); err != nil || reclaim == nil {
			return err
		}
		return reclaim(ctx, b)
	}
	change.Tidy = next.TidyAside
}

// FetchAside moves the chunks that are set aside to their keys, several at a time. Until
// then other programs cannot decode them, so one failure does not stop the rest.
func (s *Array) FetchAside(ctx context.Context, b store.Batch) error {
	return stillAside(s.Engine.FetchAside(ctx, b))
}

// stillAside adds to an error a note about the chunks that could not be moved.
func stillAside(left int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (chunks that were cut or replaced, %d or more, are still set aside: Varve reads them, other programs cannot decode them "+
		"until the array is opened for writing again, or with Options.Finish, which moves them)", err, left)
}

// TidyAside deletes the chunks that are set aside.
func (s *Array) TidyAside(ctx context.Context, b store.Batch) error {
	for c, err := range s.Engine.Aside(ctx) {
		if err == nil {
			err = b.Delete(ctx, c.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
