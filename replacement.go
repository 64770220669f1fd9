package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
)

// errReplaced is the error of a write whose array is gone, or another one. It is not
// tried again: the values were meant for the array that was there.
var errReplaced = fmt.Errorf("%w: another program has removed or replaced the array meanwhile", ErrConflict)

// confirmStored makes sure that the chunks which were stored last belong to the array
// that was written to. A writer may be delayed for so long, by a slow disk or a signal,
// that another program has removed the array meanwhile, or created another one at its
// place. Nothing keeps that program away, since a plain write takes no lock. But it
// deletes the document before it deletes chunks: where the document is still there now,
// what was stored is removed with it later.
//
// That takes one small request for each write, none for each chunk. An array may have
// grown or shrunk.
//
// An array that was replaced by one of the same type, grid, keys, codecs and fill value
// is not told apart: nothing that a store knows stays with an array while it grows and
// gets attributes, and changes when it is created anew. The document is rewritten by all
// of these. The directory and its inode stay where an array is overwritten in place, and
// file systems give the inode of a removed directory to the next one at once; object
// stores have no directories.
func (a *Array) confirmStored(ctx context.Context, s *snapshot.Array, chunks grid.Box) error {
	first := make([]int64, len(chunks))
	if a.options.SingleWriter || !chunks.First(first) {
		return nil
	}
	now, err := a.fresh(ctx, s)
	if now == s && err == nil {
		return nil
	}
	key := s.Engine.Key(first)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: it is not there any more, and chunks may be left from %s on: delete what is left there", errReplaced, key)
	case err != nil:
		return fmt.Errorf("chunks are stored from %s on; whether the array is still there cannot be read: %w", key, err)
	}
	if changed := s.ChangedFor(now, chunks); changed != "" {
		return fmt.Errorf("%w: %s, and chunks from %s on may be of the old array: write them anew, or delete them", errReplaced, changed, key)
	}
	return nil
}
