// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// restoreLate restores chunks that re-griddings in place have made, and a writer of the
// grid before has overwritten. Such a writer restores them itself when it looks at the
// document again, unless it has crashed before. Then the chunk cannot be decoded, and
// what the re-gridding has kept is deleted when its grace is over.
func (v *vacuum) restoreLate(ctx context.Context, old *snapshot.Array, b store.Batch) error {
	for _, r := range v.chain {
		if !r.InPlace {
			continue
		}
		if err := v.restoreAfter(ctx, old, r, b); err != nil {
			return err
		}
	}
	return nil
}

// restoreAfter restores the chunks that one re-gridding has made.
func (v *vacuum) restoreAfter(ctx context.Context, old *snapshot.Array, r *lineage.Record, b store.Batch) error {
	before, err := v.Bind(r.Superseded(), nil)
	if err != nil {
		return err
	}
	dir := v.at.MergedDir(r.ID)
	for e, err := range store.List(ctx, v.at.Store, dir, true) {
		if err != nil {
			return err
		}
		index, ok := old.Engine.Keys.ParseKey(e.Name, old.Grid.Rank(), make([]int64, 0, old.Grid.Rank()))
		if !ok {
			continue // it is not ours
		}
		made, err := r.Made(old.Doc, index)
		if err != nil {
			return err
		}
		if !made || !isLate(ctx, before, old, index) {
			continue
		}
		key := old.Engine.Key(index)
		if v.dry {
			v.found.Notes = append(v.found.Notes, fmt.Sprintf("%s was overwritten by a writer that had opened the array before chunks were merged, and would be restored", key))
			continue
		}
		if err := old.Engine.Restore(ctx, index, dir.MustKey(e.Name), b); err != nil {
			return err
		}
		v.found.Notes = append(v.found.Notes, fmt.Sprintf("%s was overwritten by a writer that had opened the array before chunks were merged, and has the merged chunk again", key))
	}
	return nil
}

// isLate reports whether the stored chunk at an index is one of the grid before. A chunk
// that is damaged in another way stays as it is: what was kept is older than what may
// have been written since.
func isLate(ctx context.Context, before, now *snapshot.Array, index []int64) bool {
	if !grid.BoxOf(before.Grid.Chunks()).Contains(index) {
		return false
	}
	is, err := now.Engine.Check(ctx, index, true)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(is.Faults) == 0 {
		return false
	}
	was, err := before.Engine.Check(ctx, index, true)
	return err == nil && len(was.Faults) == 0
}
