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

// errUnguarded refuses to store chunks anew in another shape where nobody could tell the
// old from the new.
var errUnguarded = fmt.Errorf("%w: the index of these shards has no checksum, so that an old shard could be read as a shorter one; keep the edges as they are (grid.KeepEdges, no trim)", fault.ErrUnsupported)

// trimmed returns the chunks that both states have, in the next one with a shorter edge:
// at the end of an axis whose last edge is cut at the extent. No chunk is in two boxes.
func (s *Array) trimmed(next *Array) []grid.Box {
	var boxes []grid.Box
	if slices.Contains(s.Grid.Shape(), 0) {
		return nil // there was no chunk
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
		rest[i].Stop = is.Index
	}
	return boxes
}

// trim adds to a change that the chunks of the boxes are stored anew: put aside before
// the document is published, and moved to their places after it.
func (s *Array) trim(next *Array, boxes []grid.Box, change *publish.Change) {
	valid := s.Grid.Shape()
	for i, n := range next.Grid.Shape() {
		valid[i] = min(valid[i], n)
	}
	stage, reclaim := change.Stage, change.Reclaim
	change.Stage = func(ctx context.Context, b store.Batch) error {
		if stage != nil { // it may store chunks that were not stored
			if err := stage(ctx, b); err != nil {
				return err
			}
		}
		for _, cells := range boxes {
			for i, old := range grid.BoxOf(s.Grid.Chunks()) {
				cells[i] = cells[i].Intersect(old) // others are new, and have their shape already
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

// FetchAside moves the chunks that are put aside to their places, several at a time:
// until then other programs do not decode them. A fault of one does not keep it from the
// others: what stays aside is not what they expect under its key.
func (s *Array) FetchAside(ctx context.Context, b store.Batch) error {
	return stillAside(s.Engine.FetchAside(ctx, b))
}

// stillAside says what becomes of chunks that could not be moved to their places.
func stillAside(left int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (chunks that were cut, %d or more, are still put aside: Varve reads them, other programs do not decode them "+
		"until the array is opened for writing again, or with Options.Finish, which moves them)", err, left)
}

// TidyAside deletes what was put aside.
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
