// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// checkUnchanged checks that no value of the source has changed since it was copied. The
// caller holds the locks of all its nodes.
func (c *copier) checkUnchanged(ctx context.Context) error {
	now := &copier{Options: c.Options, src: c.src, from: c.from, at: c.at, seen: new(versions), whole: true}
	if err := now.survey(ctx); err != nil {
		return err
	}
	err := now.each(ctx, func(ctx context.Context, rel string) (int64, error) {
		info, err := store.Stat(ctx, c.from, c.at.MustKey(rel))
		if err == nil {
			now.seen.add(rel, info)
		}
		return info.Size, err
	})
	if err != nil {
		return err
	}
	// A difference means that something was written before the removal took its locks, or
	// without a lock.
	if !slices.Equal(now.documents, c.documents) || now.seen.sum != c.seen.sum {
		return fmt.Errorf("%w: it was changed while it was copied, and the copy may lack the change; the source stays; remove the copy and move it again", zarr.ErrConflict)
	}
	return nil
}
