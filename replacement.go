// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
)

// errReplaced is the conflict of a write whose array was removed or replaced meanwhile.
// It is not retried, because the values were meant for the old array.
var errReplaced = fmt.Errorf("%w: another program has removed or replaced the array meanwhile", ErrConflict)

// confirmStored checks after a write that the stored chunks belong to the array that was
// written to. A writer may be delayed, by a slow disk or a signal, until another process
// has removed the array or created another one in its place. A plain write takes no lock,
// so nothing excludes that process. But a removal deletes the document before it deletes
// chunks. If the document still exists now, a removal will delete these chunks too.
//
// The check costs one small request for each write, not for each chunk. It accepts an
// array that has grown or shrunk.
//
// It cannot recognize an array that was replaced by one with the same type, grid, keys,
// codecs and fill value. A store has no property that survives growth and new attributes
// but differs for a new array: all of them rewrite the document, overwriting in place
// keeps the directory and its inode, and file systems reuse inodes at once.
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
