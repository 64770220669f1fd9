// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/comparison"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// mostSuspects bounds the chunks of the array that is followed whose elements are
// compared.
const mostSuspects = 1 << 24

// findChanges finds the boxes of elements that have changed since the origin was noted,
// within the shape that the array had then and still has.
//
// A chunk whose version has changed need not have other elements: an append may have
// filled it up, and a re-gridding stores all elements again. So sums of elements are
// compared. Where the origin has none, it is computed from the array that follows.
func (u *update) findChanges(ctx context.Context) error {
	suspects, err := u.suspects()
	if err != nil || len(suspects) == 0 {
		return err
	}
	g, err := u.made.grid.Shrunk(commonShape(u.made.grid, u.from.Grid))
	if err != nil {
		return err
	}
	chunks := grid.BoxOf(g.Chunks())
	suspects = slices.DeleteFunc(suspects, func(index []int64) bool { return !chunks.Contains(index) })
	is, err := comparison.ChunkSums(ctx, u.f.source.Compared, g, suspects, u.now.Fill)
	if err != nil {
		return againIf(err)
	}
	was, err := u.sumsBefore(ctx, g, suspects)
	if err != nil {
		return againIf(err)
	}
	for i, index := range suspects {
		if is[i] != was[i] {
			c, _ := g.Chunk(index)
			u.changed = append(u.changed, c.Box())
		}
	}
	return nil
}

// errChanged is the error of an update whose arrays have changed meanwhile. It is an
// errAgain: they are compared again. Nothing else may try the update again, which would
// fail for ever.
var errChanged error = changedMeanwhile{}

type changedMeanwhile struct{}

func (changedMeanwhile) Error() string { return errAgain.Error() }

// Is reports whether target is errAgain or [zarr.ErrConflict].
func (changedMeanwhile) Is(target error) bool {
	return target == errAgain || target == zarr.ErrConflict
}

// Final implements [publish.Final].
func (changedMeanwhile) Final() {}

// againIf turns a conflict into errChanged.
func againIf(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return errChanged
	}
	return err
}

// suspects returns the indices, in the grid of the origin, of chunks that may have other
// elements now.
func (u *update) suspects() ([][]int64, error) {
	var list [][]int64
	if !u.sameChunks() {
		all, ok := u.made.grid.NumChunks()
		if !ok || all > mostSuspects {
			return nil, fmt.Errorf("%w: the array was re-gridded, and more than %d chunks would be compared: remove the one that follows (zarr.Delete), and follow again",
				zarr.ErrLimit, mostSuspects)
		}
		for n := range all {
			list = append(list, u.made.index(n))
		}
		return list, nil
	}
	for _, c := range u.made.chunks {
		if index := u.made.index(c.number); u.sources.Digest(index) != c.version {
			list = append(list, index)
		}
	}
	was := grid.BoxOf(u.made.grid.Chunks())
	for index := range u.sources.All() {
		if was.Contains(index) && u.made.find(numberOf(u.made.grid, index)) == nil {
			list = append(list, slices.Clone(index))
		}
	}
	if len(list) > mostSuspects {
		return nil, fmt.Errorf("%w: more than %d chunks have changed: remove the array that follows (zarr.Delete), and follow again", zarr.ErrLimit, mostSuspects)
	}
	return list, nil
}

// sameChunks reports whether chunk keys of the array that is followed have the meaning
// that they had.
func (u *update) sameChunks() bool {
	if !lineage.Alike(u.made.doc, u.from.Doc) {
		return false
	}
	both := u.made.grid.Chunks()
	for i := range both {
		both[i] = min(both[i], u.from.Grid.Axis(i).Chunks())
	}
	return u.made.grid.SameCells(u.from.Grid, grid.BoxOf(both))
}

// sumsBefore returns the sums of chunks of a grid as they were.
func (u *update) sumsBefore(ctx context.Context, g *grid.Grid, indices [][]int64) ([]residue.Number, error) {
	sums := make([]residue.Number, len(indices))
	var unknown [][]int64
	var places []int
	for i, index := range indices {
		c := u.made.find(numberOf(u.made.grid, index))
		// A sum of more elements than are compared is of no use.
		is, _ := g.Chunk(index)
		was, _ := u.made.grid.Chunk(index)
		if c != nil && c.summed && slices.Equal(is.Logical, was.Logical) {
			sums[i] = residue.FromBytes(c.sum)
			continue
		}
		unknown, places = append(unknown, index), append(places, i)
	}
	computed, err := comparison.ChunkSums(ctx, u.f.Compared, g, unknown, u.now.Fill)
	for i, at := range places {
		if err == nil {
			sums[at] = computed[i]
		}
	}
	return sums, err
}

// nextOrigin returns the origin of a document. Sums are computed of chunks that have
// another version than before, so that later ones can be compared even if the codecs of
// the array that follows do not keep elements exactly.
func (u *update) nextOrigin(ctx context.Context) (*origin, error) {
	o, err := newOrigin(u.made.Source, u.from, u.sources, u.next.Doc, u.f.Node.Limits)
	if err != nil {
		return nil, err
	}
	same := u.sameChunks()
	var unknown [][]int64
	var places []int
	for i := range o.chunks {
		index := o.index(o.chunks[i].number)
		if same && u.carried(&o.chunks[i], index) {
			continue
		}
		unknown, places = append(unknown, index), append(places, i)
	}
	sums, err := comparison.ChunkSums(ctx, u.f.source.Compared, u.from.Grid, unknown, u.now.Fill)
	if err != nil {
		return nil, againIf(err)
	}
	for i, at := range places {
		o.chunks[at].sum, o.chunks[at].summed = sums[i].Bytes(), true
	}
	return o, nil
}

// carried reports whether a chunk has the version and the elements that it had, and takes
// over its sum.
func (u *update) carried(c *originChunk, index []int64) bool {
	is, _ := u.from.Grid.Chunk(index)
	was, ok := u.made.grid.Chunk(index)
	if !ok || !slices.Equal(is.Logical, was.Logical) {
		return false
	}
	before := u.made.find(numberOf(u.made.grid, index))
	if before == nil || before.version != c.version {
		return false
	}
	c.sum, c.summed = before.sum, before.summed
	return true
}

// confirm returns errChanged unless the array that is followed still has the elements
// that were read. All of them were read after one listing and before another one, and had
// the same versions in both: so they are those of one moment.
func (u *update) confirm(ctx context.Context) error {
	now, err := u.f.source.Fresh(ctx)
	if err != nil {
		return err
	}
	if now.Version != u.from.Version {
		return errChanged
	}
	listed, err := staging.List(ctx, now)
	if err != nil {
		return err
	}
	if !listed.Equal(u.sources) {
		return errChanged
	}
	return nil
}
