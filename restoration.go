// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// orRegridded returns [errRegridded] if a write has failed because the array was
// re-gridded meanwhile: in place, or after a vacuum, a key then has a chunk of another
// shape. If the records do not tell that any more, it returns another conflict. The
// chunks of the box may have been stored before the write failed. Otherwise it returns
// failed.
func (a *Array) orRegridded(ctx context.Context, s *snapshot.Array, chunks grid.Box, failed error) error {
	if a.options.SingleWriter || !errors.Is(failed, ErrCorrupt) && !errors.Is(failed, ErrConflict) {
		return failed
	}
	first := make([]int64, len(chunks))
	now, err := a.look(ctx, s)
	if now == s || err != nil || !chunks.First(first) {
		return failed
	}
	err = a.confirmIn(ctx, s, now, chunks, nil)
	if errors.Is(err, errRegridded) {
		return err
	}
	deleted, lookErr := a.vacuumed(ctx, s)
	if deleted && lookErr == nil && errors.Is(err, ErrConflict) {
		return err
	}
	return failed
}

// restoreMerged restores chunks after a write of chunks for s, which a re-gridding in
// place has overtaken: the write may have replaced chunks of the new grid by chunks of
// the grid before. chain leads from s to now. The re-gridding has kept its chunks, and
// the caller writes its elements again.
//
// If an append has since given a key to another chunk, nothing has kept that one, and the
// error says so.
func (a *Array) restoreMerged(ctx context.Context, s, now *snapshot.Array, chain []*lineage.Record, chunks grid.Box) error {
	inPlace := func(r *lineage.Record) bool { return r.InPlace }
	// Under other keys, the write has done no harm.
	if s.Engine.Keys != now.Engine.Keys || !slices.ContainsFunc(chain, inPlace) {
		return nil
	}
	left := slices.Clone(chunks)
	for i, n := range now.Grid.Chunks() {
		left[i] = left[i].Intersect(grid.Interval{Stop: n})
	}
	return a.batch(ctx, func(ctx context.Context, b store.Batch) error {
		for index := range left.IndicesInto(make([]int64, len(left))) {
			if sameCell(s.Grid, now.Grid, index) {
				continue
			}
			if err := a.restoreChunk(ctx, now, chain, index, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// restoreChunk restores one chunk of now from the latest re-gridding that has made it.
func (a *Array) restoreChunk(ctx context.Context, now *snapshot.Array, chain []*lineage.Record, index []int64, b store.Batch) error {
	at := a.lineage()
	for _, r := range chain {
		made, err := r.Made(now.Doc, index)
		if err != nil {
			return err
		}
		if !r.InPlace || !made {
			continue
		}
		kept := at.MergedDir(r.ID).MustKey(string(now.Engine.Keys.AppendKey(nil, index)))
		err = now.Engine.Restore(ctx, index, kept, b)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// The re-gridding kept no chunk there, because all elements were fill values.
		// Or its grace is over, and a vacuum has deleted what it kept.
		if _, err := at.Chunks(ctx, r); err == nil {
			return now.Engine.Discard(ctx, index, b)
		}
		break
	}
	return fmt.Errorf("%w: the array was re-gridded in place before chunk %v was stored, and %s belonged to another chunk by then, which is lost: write its elements again",
		ErrCorrupt, index, now.Engine.Key(index))
}

// sameCell reports whether the chunks of two grids at an index have the same elements and
// the same stored shape.
func sameCell(a, b *grid.Grid, index []int64) bool {
	for i, k := range index {
		x, ok := a.Axis(i).Cell(k)
		y, also := b.Axis(i).Cell(k)
		if !ok || !also || x.Start != y.Start || x.Encoded != y.Encoded {
			return false
		}
	}
	return true
}
