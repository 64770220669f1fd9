// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"context"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Earlier versions of this project could merge the last chunks of an array in place: the
// merged chunk got the key of the first one. What they have left is still understood:
// staged chunks are deleted, and the records lead to the grids before.

// merged is the directory, below that of the array, of the chunks that rechunks in
// place have staged.
const merged = own.Dir + "/merged"

// MergedDir returns the directory of the chunks that a rechunk in place has staged.
// Below it, they have the keys that chunks have below the array.
func (a Array) MergedDir(id string) store.Path {
	return a.Path.MustKey(merged + "/" + id + "/-").Dir()
}

// MergedRoot returns the directory that has those of all rechunks in place.
func (a Array) MergedRoot() store.Path { return a.Path.MustKey(merged + "/-").Dir() }

// RemoveMerged deletes the chunks that a rechunk in place has staged.
func (a Array) RemoveMerged(ctx context.Context, id string) error {
	dir := a.MergedDir(id)
	for e, err := range store.List(ctx, a.Store, dir, true) {
		if err == nil {
			err = store.Delete(ctx, a.Store, dir.MustKey(e.Name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasMerged reports whether the last chunk of the new grid along every axis is also one
// of the document now. The record of a rechunk in place may be one that was never
// published, and only the last chunk tells: the grid of before has a shorter one there,
// and more chunks behind it. If there is no chunk behind it, the array was cut there.
func (r *Record) hasMerged(now *metadata.Array) bool {
	to, err := GridOf(r.to)
	if err != nil {
		return false
	}
	is, err := GridOf(now)
	if err != nil {
		return false
	}
	for i := range to.Rank() {
		last := to.Axis(i).Cells() - 1
		if last < 0 || is.Axis(i).Cells() <= last+1 {
			continue
		}
		a, _ := to.Axis(i).Cell(last)
		if b, ok := is.Axis(i).Cell(last); !ok || a.Edge != b.Edge {
			return false
		}
	}
	return true
}
